"""Removing a key from this machine: out of its file, out of the keyring, out of the history.

A Canon profile keeps its agent and its environment, so that ``setup canon`` asks for the same agent again; with
``whole`` the entry goes as well. The key stays valid until Canon forgets it, which only its owner can bring about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from canon_ops.errors import CanonOpsError
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.transaction import Transaction, edit_files
from canon_ops.hermes.surroundings import canon_paths_from_disk, read_optional, surroundings_from_disk
from canon_ops.keyring.access import Keyring, KeyringProblem
from canon_ops.operate.canon_profiles import NoSuchProfile, profile_in_use
from canon_ops.operate.edit_config import refuse_managed
from canon_ops.operate.forget_key import forget_key, taken_out
from canon_ops.operate.home_identity import masked_diff
from canon_ops.operate.move_key import profile_meant
from canon_ops.operate.profile_key import KeyMissing
from canon_ops.operate.prompts import Prompts
from canon_ops.operate.writing import Writing, Written, edit_agents, require_consent
from canon_ops.settings.borgee_key import BORGEE_KEY, BORGEE_REFERENCE
from canon_ops.settings.credentials import direct_key, load_profiles
from canon_ops.settings.dotenv import read_dotenv
from canon_ops.settings.profiles import AgentsFile, KeyReference
from canon_ops.settings.provenance import Source
from canon_ops.settings.secret import Secret

__all__ = ["KeyRemoved", "remove_borgee_key", "remove_canon_key"]

_DIRECT = ("CANON_API_KEY", "CANON_ENVIRONMENT_ID", "CANON_BASE_URL", "CANON_STREAM_URL", "CANON_RTDB_URL",
           "CANON_FIREBASE_API_KEY")  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeyRemoved:
    """What was removed, or would be.

    Attributes:
        canon_profile: whose key; None for a key set directly, and for Borgee's.
        places: where it was, in words.
        forgotten: history entries that held it and are gone.
        left_behind: why it is still somewhere; None when it is not.
    """

    platform: Literal["canon", "borgee"]
    canon_profile: str | None
    places: tuple[str, ...]
    written: Written
    forgotten: tuple[str, ...] = ()
    left_behind: str | None = None


def remove_canon_key(
    writing: Writing, name: str | None, keyring: Keyring, prompts: Prompts, *, whole: bool = False
) -> KeyRemoved:
    """Remove a profile's key, or the direct key of the home when it has one and no profile is named.

    Raises:
        NoSuchProfile, ForeignProfile, NotAProfilesKey, KeyMissing: there is nothing to remove.
        KeyringProblem: no file has it, and the keyring may: it was asked, since an earlier run left its entry.
        ConsentMissing: nobody agreed.
        ManagedHome, DamagedFile, LockTimeout, ChangedUnderUs, DiskError: nothing was written.
    """
    surroundings = surroundings_from_disk(writing.home.path, writing.environ)
    key = direct_key(surroundings)
    if name is None and key is not None and isinstance(key.value, Secret) and profile_in_use(surroundings) is None:
        if key.origin.source is not Source.DOTENV:
            raise KeyMissing(f"{key.origin.describe()} is not edited here", fix=key.origin.to_drop())
        return _remove_lines(writing, "canon", _DIRECT, keyring, prompts)
    paths = canon_paths_from_disk(writing.home.path, writing.environ)
    try:
        profile = profile_meant(writing, name)
    except NoSuchProfile:
        if name and (left := _of_profile(paths.home, name).finish(writing, keyring, prompts)) is not None:
            return left
        raise
    reference = profile.api_key_ref
    if profile.api_key is None and reference is None and not whole:
        if (left := _of_profile(paths.home, profile.name).finish(writing, keyring, prompts)) is not None:
            return left
        raise KeyMissing(f"The Canon profile {profile.name} has no key", fix="canon-ops profile list")
    places = [f"{profile.name}.apiKey in {paths.agents_file}"] if profile.api_key else []
    places += [f"{reference.text} in the keyring"] if reference else []
    what = "The whole Canon profile" if whole else "The key of the Canon profile"
    if not writing.dry_run:
        require_consent(prompts, f"{what} {profile.name} is removed ({', '.join(places) or 'no key'}). Go on?")

    def edit(agents: AgentsFile) -> AgentsFile:
        if profile.name not in agents.entries:
            return agents
        return (
            agents.without(profile.name)
            if whole
            else agents.with_fields(profile.name, {"apiKey": None, "apiKeyRef": None})
        )

    removed = KeyRemoved("canon", profile.name, tuple(places), edit_agents(writing, edit))
    if writing.dry_run:
        return removed
    removed = _out_of_keyring(removed, keyring, reference, shared=_is_shared(writing, reference))
    return _out_of_history(writing, paths.home, removed, [profile.api_key] if profile.api_key else [])


def remove_borgee_key(writing: Writing, keyring: Keyring, prompts: Prompts) -> KeyRemoved:
    """Remove the home's Borgee key, or the reference to it and what it refers to.

    Raises:
        KeyMissing: ``.env`` has neither.
        ConsentMissing: nobody agreed.
        ManagedHome, LockTimeout, ChangedUnderUs, DiskError: nothing was written.
    """
    surroundings = surroundings_from_disk(writing.home.path, writing.environ)
    lines = read_dotenv(surroundings.dotenv or b"", file=surroundings.dotenv_file)
    told = [entry.value or "" for entry in lines if entry.name == BORGEE_REFERENCE]
    removed = _remove_lines(writing, "borgee", (BORGEE_KEY, BORGEE_REFERENCE), keyring, prompts)
    if writing.dry_run:
        return removed
    return _out_of_keyring(removed, keyring, KeyReference.parse(told[-1]) if told else None)


def _remove_lines(
    writing: Writing, platform: Literal["canon", "borgee"], names: tuple[str, ...], keyring: Keyring, prompts: Prompts
) -> KeyRemoved:
    """Take the lines out of the home's ``.env``; the first name is the key's."""
    home, file = writing.home, writing.home.env_file
    data = read_optional(file) or b""
    lines = [entry for entry in read_dotenv(data, file=str(file)) if entry.name in names]
    if not lines:
        if (left := _of_lines(home.path, platform, names).finish(writing, keyring, prompts)) is not None:
            return left
        raise KeyMissing(f"{file} has no {names[0]}", fix="canon-ops creds list", file=str(file))
    places = tuple(f"{entry.name} in {file}, line {entry.line}" for entry in lines)
    if not writing.dry_run:
        require_consent(prompts, f"{', '.join(places)} will be removed. Go on?")

    def once(transaction: Transaction) -> Written:
        writing.expect(transaction, file)
        document = DotenvDocument.parse(transaction.read(file) or b"", str(file))
        for name in names:
            document = document.remove(name)
        transaction.stage(file, document.data, private=True)
        changes = transaction.changes()
        return Written(tuple(each.path for each in changes), masked_diff(changes), transaction.commit())

    written = edit_files(once, lambda: writing.transaction(home.path, refuse=lambda _path: refuse_managed(home)))
    removed = KeyRemoved(platform, None, places, written)
    keys = [Secret(entry.value) for entry in lines if entry.name == names[0] and entry.value]
    return removed if writing.dry_run else _out_of_history(writing, home.path, removed, keys)


def _out_of_keyring(
    removed: KeyRemoved, keyring: Keyring, reference: KeyReference | None, *, shared: bool = False
) -> KeyRemoved:
    if reference is None:
        return removed
    if shared:
        return replace(removed, left_behind=f"The keyring keeps {reference.text}: another Canon profile refers to it.")
    try:
        keyring.delete(reference)
    except KeyringProblem as exc:
        return replace(removed, left_behind=f"The keyring still has {reference.text}: {exc.what}")
    return removed


def _out_of_history(writing: Writing, folder: Path, removed: KeyRemoved, keys: Sequence[Secret]) -> KeyRemoved:
    gone: list[str] = []
    try:
        for key in keys:
            gone += forget_key(writing, folder, key)
    except (CanonOpsError, OSError) as exc:
        left_behind = f"The history below {folder} still has the key: {exc}"
        return replace(removed, forgotten=tuple(gone), left_behind=left_behind)
    written = removed.written
    if written.history_id in gone:
        written = replace(written, history_id=None)
    return replace(removed, written=written, forgotten=tuple(gone))


@dataclass(frozen=True, slots=True)
class _Unfinished:
    """A removal that was killed, or that met a keyring which could not be used: what may be left of it, and where.

    Attributes:
        folder: the home whose history tells of it.
        keys_in, references_in: the key, and the reference to one, in a text of a file.
    """

    folder: Path
    platform: Literal["canon", "borgee"]
    name: str | None
    keys_in: Callable[[Path, bytes], Collection[Secret]]
    references_in: Callable[[Path, bytes], Collection[KeyReference]]

    def finish(self, writing: Writing, keyring: Keyring, prompts: Prompts) -> KeyRemoved | None:
        """Take the rest out of keyring and history; None when there is no rest.

        Raises:
            ConsentMissing: nobody agreed that an entry goes to which no file refers any more.
            KeyringProblem: it may have such an entry, and cannot be asked.
        """
        keys = taken_out(self.folder, writing.label, self.keys_in)
        places = [f"the history below {self.folder}"] if keys else []
        trouble: KeyringProblem | None = None
        for reference in taken_out(self.folder, writing.label, self.references_in):
            if self.platform == "canon" and _is_shared(writing, reference):
                continue
            try:
                if keyring.find(reference) is None:
                    continue
                if not writing.dry_run:
                    require_consent(prompts, f"An earlier removal left {reference.text} in the keyring. Remove it?")
                    keyring.delete(reference)
                places.append(f"{reference.text} in the keyring")
            except KeyringProblem as exc:
                trouble = type(exc)(f"The keyring may still have {reference.text}: {exc.what}", fix=exc.fix)
        if not places:
            if trouble is not None:
                raise trouble
            return None
        removed = KeyRemoved(
            self.platform, self.name, tuple(places), Written(), left_behind=trouble.what if trouble else None
        )
        return removed if writing.dry_run else _out_of_history(writing, self.folder, removed, keys)


def _of_profile(folder: Path, name: str) -> _Unfinished:
    return _Unfinished(folder, "canon", name, _profile_key(name), _profile_reference(name))


def _of_lines(folder: Path, platform: Literal["canon", "borgee"], names: Collection[str]) -> _Unfinished:
    """``names`` of the variables, the first is the key's."""

    def references_in(file: Path, data: bytes) -> Collection[KeyReference]:
        if BORGEE_REFERENCE not in names or file.suffix == ".json":
            return []
        told = [entry.value or "" for entry in read_dotenv(data, file=str(file)) if entry.name == BORGEE_REFERENCE]
        return [reference for text in told if (reference := KeyReference.parse(text)) is not None]

    return _Unfinished(folder, platform, None, _variable(next(iter(names))), references_in)


def _profile_key(name: str) -> Callable[[Path, bytes], Collection[Secret]]:
    def keys_in(file: Path, data: bytes) -> Collection[Secret]:
        profile = AgentsFile.parse(data or None, file=str(file)).profile(name) if file.suffix == ".json" else None
        return [profile.api_key] if profile is not None and profile.api_key else []

    return keys_in


def _profile_reference(name: str) -> Callable[[Path, bytes], Collection[KeyReference]]:
    def references_in(file: Path, data: bytes) -> Collection[KeyReference]:
        profile = AgentsFile.parse(data or None, file=str(file)).profile(name) if file.suffix == ".json" else None
        return [profile.api_key_ref] if profile is not None and profile.api_key_ref else []

    return references_in


def _variable(name: str) -> Callable[[Path, bytes], Collection[Secret]]:
    def keys_in(file: Path, data: bytes) -> Collection[Secret]:
        entries = read_dotenv(data, file=str(file)) if file.suffix != ".json" else []
        return [Secret(entry.value) for entry in entries if entry.name == name and entry.value]

    return keys_in


def _is_shared(writing: Writing, reference: KeyReference | None) -> bool:
    """Whether a profile still refers to the entry, now that this one does not."""
    agents = load_profiles(surroundings_from_disk(writing.home.path, writing.environ)).agents
    return reference is not None and any(other.api_key_ref == reference for other in agents.for_hermes())
