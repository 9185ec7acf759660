"""Canon profiles from one machine to another: a file with what identifies them, and keys only when that was asked for.

Without keys the other machine reconnects: the profile says which agent on which environment is meant. With keys the
file is as good as the keys themselves, so it is 0600 and never stdout. Fields that we do not know are not exported,
for they may be secret. Keyring references mean nothing elsewhere and never travel.

Source: command-line contract, profile.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from canon_ops.errors import NotFoundError, RefusedError, UsageError
from canon_ops.files.atomic import replace_file
from canon_ops.files.transaction import ChangedUnderUs
from canon_ops.hermes.surroundings import canon_paths_from_disk, read_optional, surroundings_from_disk
from canon_ops.keyring.access import Keyring
from canon_ops.operate.canon_profiles import named_profile
from canon_ops.operate.profile_key import key_of_profile
from canon_ops.operate.writing import Writing, Written, edit_agents
from canon_ops.settings.credentials import Profiles, load_profiles
from canon_ops.settings.environments import BINDING_FIELDS
from canon_ops.settings.problems import DamagedFile, ForeignProfile
from canon_ops.settings.profiles import CLIENT_TYPE, AgentProfile, AgentsFile
from canon_ops.settings.records import client_type_of, parse_records

__all__ = ["Exported", "Imported", "export_profiles", "import_profiles"]

FORMAT = "canon-ops.profiles/1"
_WHAT = "exported Canon profiles"

_TRAVELLING = ("agentId", "agentName", "clientType", "registeredAt", *BINDING_FIELDS.values())
_KEY, _REFERENCE = "apiKey", "apiKeyRef"


class FileExists(RefusedError):
    """There is a file of that name already."""

    code: ClassVar[str] = "file_exists"


class ProfileTaken(RefusedError):
    """A profile of that name is here already, and it is another one."""

    code: ClassVar[str] = "profile_taken"


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote, or would write.

    Attributes:
        file: None when the document goes to stdout.
        document: the whole text; None when it holds keys.
    """

    file: Path | None
    profiles: tuple[str, ...]
    with_secrets: bool
    document: str | None


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, or would do.

    Attributes:
        added, replaced, unchanged: names of profiles.
        keyless: those that need ``setup canon`` before they can be used.
    """

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: tuple[str, ...]
    keyless: tuple[str, ...]
    written: Written


def export_profiles(
    writing: Writing,
    names: Sequence[str],
    keyring: Keyring,
    *,
    to: Path | None,
    with_secrets: bool = False,
    replace: bool = False,
) -> Exported:
    """Write profiles into a private file, or hand out the document.

    Args:
        names: which; all of ours when there is none.
        to: the file; None hands the document back, which is refused for keys.

    Raises:
        NoSuchProfile, ForeignProfile: a name is not there, or not ours.
        FileExists: there is a file of that name, or it is one of those that are in use here.
        KeyMissing, KeyringEntryMissing, KeyringProblem: a key that was asked for cannot be had.
    """
    if with_secrets and to is None:
        raise UsageError("Keys go into a file only.", fix="--output FILE --include-secrets")
    profiles = load_profiles(surroundings_from_disk(writing.home.path, writing.environ))
    chosen = [_ours(profiles, name) for name in names] or list(profiles.agents.for_hermes())
    entries = {profile.name: _travelling(profile, keyring if with_secrets else None) for profile in chosen}
    text = json.dumps({"format": FORMAT, "profiles": entries}, indent=2, sort_keys=True) + "\n"
    if to is not None:
        _write(writing, to, text, replace=replace, private=with_secrets)
    return Exported(to, tuple(entries), with_secrets, None if with_secrets else text)


def import_profiles(writing: Writing, file: Path, names: Sequence[str], *, replace: bool = False) -> Imported:
    """Take profiles out of an exported file, or out of another agents.json.

    Args:
        names: which; all of ours when there is none.
        replace: let them take the place of other profiles of the same names.

    Raises:
        NotFoundError: there is no such file.
        DamagedFile: the file is neither, or a profile in it could never be used.
        NoSuchProfile, ForeignProfile, ProfileTaken.
        LockTimeout, ChangedUnderUs, DiskError: nothing was written.
    """
    offered = _read(file)
    wanted = {name: _offered(offered, name, file) for name in names} or {
        name: entry for name, entry in offered.items() if client_type_of(entry) in (None, CLIENT_TYPE)
    }
    for name, entry in wanted.items():
        _refuse_unusable(name, entry.get(_KEY), file)
    done: dict[str, list[str]] = {}

    def take(agents: AgentsFile) -> AgentsFile:
        done.update(added=[], replaced=[], unchanged=[])
        for name, entry in wanted.items():
            kind, merged = _merged(agents, name, entry, replace=replace)
            done[kind].append(name)
            agents = AgentsFile(agents.file, {**agents.entries, name: merged})
        done["keyless"] = [name for name in wanted if _KEY in _read_profile(agents, name).missing()]
        return agents

    written = edit_agents(writing, take)
    lists = {kind: tuple(found) for kind, found in done.items()}
    return Imported(lists["added"], lists["replaced"], lists["unchanged"], lists["keyless"], written)


def _merged(
    agents: AgentsFile, name: str, entry: Mapping[str, object], *, replace: bool
) -> tuple[str, Mapping[str, object]]:
    here = agents.profile(name)
    if here is None:
        return "added", entry
    if not here.is_for_hermes:
        raise ForeignProfile(name, str(here.client_type), agents.file)
    if all(here.fields.get(field) == value for field, value in entry.items()):
        return "unchanged", here.fields
    is_same_agent = here.agent_id == entry.get("agentId") and here.environment_id == entry.get("environmentId")
    if not replace:
        raise ProfileTaken(
            f"{agents.file} has another Canon profile {name}" + (" of the same agent" if is_same_agent else ""),
            fix="add --replace, or leave it out by naming the others",
            file=agents.file,
        )
    if _KEY not in entry and is_same_agent:  # the key that is here is still this agent's
        kept = {field: here.fields[field] for field in (_KEY, _REFERENCE) if field in here.fields}
        return "replaced", {**entry, **kept}
    return "replaced", entry


def _ours(profiles: Profiles, name: str) -> AgentProfile:
    profile = named_profile(profiles, name)
    if not profile.is_for_hermes:
        raise ForeignProfile(name, str(profile.client_type), profiles.agents.file)
    return profile


def _travelling(profile: AgentProfile, keyring: Keyring | None) -> dict[str, object]:
    entry = {field: profile.fields[field] for field in _TRAVELLING if isinstance(profile.fields.get(field), str)}
    return entry if keyring is None else {**entry, _KEY: key_of_profile(profile, keyring).reveal()}


def _write(writing: Writing, file: Path, text: str, *, replace: bool, private: bool) -> None:
    _refuse_what_is_in_use(writing, file)
    before = read_optional(file)
    for expected, sha256 in writing.expected:
        if expected not in (None, file) or sha256 != hashlib.sha256(before or b"").hexdigest():
            raise ChangedUnderUs(
                f"{file} is not the file that was expected",
                fix=f"look at it again, then give its present digest: sha256sum {file}",
                file=str(file),
            )
    if before is not None and not replace and before != text.encode():
        raise FileExists(f"{file} exists already", fix="give another name, or add --replace", file=str(file))
    if private and before is not None and file.stat().st_mode & 0o077:  # a file that is replaced keeps its mode
        raise FileExists(f"{file} is readable by others", fix=f"chmod 600 {shlex.quote(str(file))}", file=str(file))
    if not writing.dry_run:
        replace_file(file, text.encode(), mode=0o600)


def _refuse_what_is_in_use(writing: Writing, file: Path) -> None:
    """An export in the place of agents.json would take every key along; ``--replace`` does not mean that."""
    agents = canon_paths_from_disk(writing.home.path, writing.environ).agents_file
    if file.resolve() in {each.resolve() for each in (agents, writing.home.config_file, writing.home.env_file)}:
        raise FileExists(f"{file} is in use here", fix="give another name", file=str(file))


def _refuse_unusable(name: str, key: object, file: Path) -> None:
    """Refuse a name that nobody can type and a key that no header can carry."""
    why = ""
    if not name.strip():
        why = f"{file} has a profile with an empty name"
    elif _has_control(name):
        why = f"{file} has a profile whose name has control characters: {name!r}"
    elif key is not None and not isinstance(key, str):
        why = f"{_KEY} of the profile {name} in {file} is no text"
    elif key is not None and _has_control(key):
        why = f"{_KEY} of the profile {name} in {file} has a line break or a control character"
    if why:
        raise DamagedFile(_WHAT, str(file), why)


def _has_control(text: str) -> bool:
    return any(unicodedata.category(character) == "Cc" for character in text)


def _read(file: Path) -> dict[str, dict[str, object]]:
    data = read_optional(file)
    if data is None:
        raise NotFoundError(f"There is no file {file}", fix=f"ls -l {shlex.quote(str(file.parent))}", file=str(file))
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        root = None
    if isinstance(root, dict) and "format" in root:
        if root["format"] != FORMAT:
            raise DamagedFile(
                _WHAT, str(file), f"{file} has the format {root['format']!r}; this version reads {FORMAT}"
            )
        data = json.dumps(root.get("profiles")).encode()
    entries = parse_records(data, what=_WHAT, file=str(file))
    return {name: {key: value for key, value in entry.items() if key != _REFERENCE} for name, entry in entries.items()}


def _offered(offered: Mapping[str, dict[str, object]], name: str, file: Path) -> dict[str, object]:
    if name not in offered:
        known = ", ".join(sorted(offered)) or "none"
        raise UsageError(f"{file} has no Canon profile {name}; it has {known}", fix="give one of those names")
    if client_type_of(offered[name]) not in (None, CLIENT_TYPE):
        raise ForeignProfile(name, str(client_type_of(offered[name])), str(file))
    return offered[name]


def _read_profile(agents: AgentsFile, name: str) -> AgentProfile:
    profile = agents.profile(name)
    assert profile is not None  # noqa: S101 - it was put there a line above
    return profile
