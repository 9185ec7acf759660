"""Where keys are that should not be there: copies, files that others can read, and places that nobody meant as a store.

The audit knows the keys of this machine (both platforms, every Hermes profile, agents.json, the process environment)
and looks for each of them elsewhere: in config.yaml, in backups beside the files, in shell histories and start-up
files, in the gateways' logs. It opens nothing for writing, quotes no key, and asks the keyring only about references.

Source: command-line contract, creds; cases BR-12, BR-56, N-15.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from canon_ops.errors import CanonOpsError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.hermes.home_list import homes_beside
from canon_ops.hermes.homes import HermesHome, user_home
from canon_ops.hermes.keys import KNOWN_KEYS, KeyFile
from canon_ops.hermes.surroundings import canon_paths_from_disk, read_optional
from canon_ops.keyring.access import Keyring, KeyringProblem
from canon_ops.settings.dotenv import read_dotenv
from canon_ops.settings.paths import CanonPaths
from canon_ops.settings.profiles import AgentsFile, KeyReference

__all__ = ["AuditFinding", "Severity", "audit_credentials"]

_VARIABLES = ("CANON_API_KEY", "BORGEE_API_KEY")
_REFERENCE = "BORGEE_API_KEY_REF"
_SHORTEST = 12  # a shorter text is no key of either platform, and would be found everywhere
_LOOKED_AT_BYTES = 8_000_000  # of each history and log, from its end
_SHELL_FILES = (
    ".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history", ".psql_history",
    ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv", ".config/fish/config.fish",
)  # fmt: skip

_SECRET_PATHS = tuple(
    name for key in KNOWN_KEYS if key.secret and key.file is KeyFile.CONFIG for name in (key.name, *key.aliases)
)


class Severity(Enum):
    """How bad it is; the words are those of the doctor."""

    ERROR = "error"
    WARNING = "warning"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One thing that is not as it should be.

    Attributes:
        id: ``creds.copies``, ``creds.mode``, ``creds.owner``, ``creds.misplaced``, ``creds.leaked``,
            ``creds.keyring``, ``creds.unreadable``.
        fix: a command to paste, or what to do.
    """

    id: str
    status: Severity
    message: str
    file: Path | None
    line: int | None
    fix: str | None


@dataclass(frozen=True, slots=True)
class _Copy:
    """A key at a place; ``key`` is the bare text and never leaves this module."""

    key: str
    words: str
    file: Path | None
    line: int | None
    is_store: bool
    drop: str


def audit_credentials(home: HermesHome, environ: Mapping[str, str], keyring: Keyring) -> tuple[AuditFinding, ...]:
    """Everything that is found, errors first. A file that cannot be read is a finding, too."""
    paths = canon_paths_from_disk(home.path, environ)
    homes = homes_beside(home, environ)
    trouble: list[AuditFinding] = []
    copies = [*_in_process(environ), *_in_agents(paths, trouble)]
    for each in homes:
        copies += [*_in_dotenv(each, trouble), *_in_config(each, trouble)]
    keys = {copy.key for copy in copies if len(copy.key) >= _SHORTEST}
    found = [
        *trouble,
        *_copied(copies),
        *_misplaced(copies),
        *_open_files(paths, homes, copies),
        *_leaked(keys, _other_files(paths, homes, user_home(environ))),
        *_references(paths, homes, keyring),
    ]
    order = [Severity.ERROR, Severity.WARNING, Severity.UNKNOWN]
    return tuple(sorted(found, key=lambda finding: order.index(finding.status)))


# -- where keys are meant to be ---------------------------------------------------------------------------------------


def _in_process(environ: Mapping[str, str]) -> Iterator[_Copy]:
    for name in _VARIABLES:
        if value := environ.get(name, "").strip():
            words = f"{name} in the process environment"
            yield _Copy(value, words, None, None, True, f"unset {name} where it is exported")


def _in_agents(paths: CanonPaths, trouble: list[AuditFinding]) -> Iterator[_Copy]:
    try:
        agents = AgentsFile.parse(read_optional(paths.agents_file), file=str(paths.agents_file))
    except CanonOpsError as exc:
        trouble.append(_unreadable(exc, paths.agents_file))
        return
    for name in agents.names:
        key = agents.entries[name].get("apiKey")
        if isinstance(key, str) and key.strip():
            words = f"the Canon profile {name} in {paths.agents_file}"
            drop = f"canon-ops creds remove --canon-profile {shlex.quote(name)}"
            yield _Copy(key.strip(), words, paths.agents_file, None, True, drop)


def _in_dotenv(home: HermesHome, trouble: list[AuditFinding]) -> Iterator[_Copy]:
    try:
        entries = read_dotenv(read_optional(home.env_file) or b"", file=str(home.env_file))
    except CanonOpsError as exc:
        trouble.append(_unreadable(exc, home.env_file))
        return
    for entry in entries:
        if entry.name in _VARIABLES and entry.value and entry.value.strip():
            words = f"{entry.name} in {home.env_file}, line {entry.line}"
            is_effective = entry.overridden_by is None
            drop = home.own_command(f"env unset {entry.name}" if is_effective else "env lint --fix")
            yield _Copy(entry.value.strip(), words, home.env_file, entry.line, True, drop)


def _in_config(home: HermesHome, trouble: list[AuditFinding]) -> Iterator[_Copy]:
    try:
        data = read_optional(home.config_file)
        document = ConfigDocument.parse(data or b"", str(home.config_file))
        names = [
            name for key in KNOWN_KEYS if key.secret and key.file is KeyFile.CONFIG for name in (key.name, *key.aliases)
        ]
        found = {name: document.find(tuple(name.split("."))) for name in names}
    except CanonOpsError as exc:
        trouble.append(_unreadable(exc, home.config_file))
        return
    for name, place in found.items():
        if place is not None and isinstance(place.value, str) and place.value.strip() and "${" not in place.value:
            words = f"{name} in {home.config_file}, line {place.line}"
            drop = home.own_command(f"config unset {name}")
            yield _Copy(place.value.strip(), words, home.config_file, place.line, False, drop)


def _unreadable(error: CanonOpsError, file: Path) -> AuditFinding:
    return AuditFinding("creds.unreadable", Severity.UNKNOWN, error.what, file, error.line, error.fix)


# -- what is wrong with them ------------------------------------------------------------------------------------------


def _copied(copies: Iterable[_Copy]) -> Iterator[AuditFinding]:
    by_key: dict[str, list[_Copy]] = {}
    for copy in copies:
        by_key.setdefault(copy.key, []).append(copy)
    for same in by_key.values():
        if len(same) > 1:
            first, *others = sorted(same, key=lambda copy: not copy.is_store)
            places = ", ".join(copy.words for copy in others)
            message = f"One key stands {len(same)} times: {first.words}, and again: {places}."
            yield AuditFinding(
                "creds.copies", Severity.WARNING, message, others[0].file, others[0].line, others[0].drop
            )


def _misplaced(copies: Sequence[_Copy]) -> Iterator[AuditFinding]:
    stored = {copy.key for copy in copies if copy.is_store}
    for copy in copies:
        if not copy.is_store:
            message = f"A key stands in {copy.words}; configurations are shown, copied and committed."
            fix = copy.drop if copy.key in stored else f"canon-ops setup canon   # then: {copy.drop}"
            yield AuditFinding("creds.misplaced", Severity.ERROR, message, copy.file, copy.line, fix)


def _open_files(paths: CanonPaths, homes: Iterable[HermesHome], copies: Iterable[_Copy]) -> Iterator[AuditFinding]:
    """Files with secrets that somebody else may read or owns; the folder, where others could replace them."""
    files = {copy.file for copy in copies if copy.file is not None}
    files |= {paths.agents_file, paths.pending_file, *(home.env_file for home in homes)}
    for file in sorted(files):
        try:
            status, folder = file.stat(), file.parent.stat()
        except OSError:
            continue
        name = shlex.quote(str(file))
        if status.st_mode & 0o077:
            message = f"{file} has mode {status.st_mode & 0o777:04o}: others can read the keys in it."
            yield AuditFinding("creds.mode", Severity.ERROR, message, file, None, f"chmod 600 {name}")
        if folder.st_mode & 0o022 and not folder.st_mode & 0o1000:
            mode = f"{folder.st_mode & 0o777:04o}"
            message = f"{file.parent} has mode {mode}: others can put a file in the place of {file.name}."
            fix = f"chmod go-w {shlex.quote(str(file.parent))}"
            yield AuditFinding("creds.mode", Severity.ERROR, message, file.parent, None, fix)
        if status.st_uid != folder.st_uid:
            message = (
                f"{file} belongs to uid {status.st_uid}, its folder to uid {folder.st_uid}; one of them cannot read it."
            )
            fix = f"chown {folder.st_uid} {name}"
            yield AuditFinding("creds.owner", Severity.WARNING, message, file, None, fix)


def _other_files(paths: CanonPaths, homes: Iterable[HermesHome], user: Path) -> Iterator[Path]:
    """Backups beside the stores, and what shells and gateways write."""
    stores = {paths.agents_file, paths.pending_file}
    for home in homes:
        stores |= {home.env_file, home.config_file}
        yield from sorted(home.path.glob("logs/*.log*"))
    for folder in sorted({store.parent for store in stores}):
        names = tuple(store.name.lstrip(".") for store in stores if store.parent == folder)
        beside = [file for file in _files_in(folder) if file not in stores]
        yield from (file for file in beside if file.name.lstrip(".").startswith(names))
    yield from (user / name for name in _SHELL_FILES)


def _files_in(folder: Path) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if file.is_file())
    except OSError:
        return []


def _leaked(keys: Iterable[str], files: Iterable[Path]) -> Iterator[AuditFinding]:
    needles = [key.encode() for key in keys]
    for file in dict.fromkeys(files):
        line = _line_with(file, needles)
        if line is not None:
            name = shlex.quote(str(file))
            message = f"{file} holds a key that is in use."
            fix = f"remove the key from {name}; where others could read it, register again: canon-ops setup canon"
            yield AuditFinding("creds.leaked", Severity.ERROR, message, file, line or None, fix)


def _line_with(file: Path, needles: list[bytes]) -> int | None:
    """The line of the first key in a file; 0 when the file is too long to count, None when there is none."""
    if not file.is_file():  # a pipe would wait for a writer
        return None
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            stream.seek(max(0, size - _LOOKED_AT_BYTES))
            text = stream.read(_LOOKED_AT_BYTES)
    except OSError:
        return None
    places = [place for needle in needles if (place := text.find(needle)) >= 0]
    if not places:
        return None
    return text.count(b"\n", 0, min(places)) + 1 if size <= _LOOKED_AT_BYTES else 0


def _references(paths: CanonPaths, homes: Iterable[HermesHome], keyring: Keyring) -> Iterator[AuditFinding]:
    """References to the keyring that lead nowhere, or that cannot be followed now."""
    for reference, words, file in _all_references(paths, homes):
        try:
            if keyring.find(reference) is None:
                message = f"{words} refers to {reference.text}, which the keyring does not have."
                yield AuditFinding("creds.keyring", Severity.ERROR, message, file, None, "canon-ops setup canon")
        except KeyringProblem as exc:
            message = f"{words} refers to {reference.text}, and the keyring cannot be asked: {exc.what}"
            yield AuditFinding("creds.keyring", Severity.UNKNOWN, message, file, None, exc.fix)


def _all_references(paths: CanonPaths, homes: Iterable[HermesHome]) -> Iterator[tuple[KeyReference, str, Path]]:
    try:
        agents = AgentsFile.parse(read_optional(paths.agents_file), file=str(paths.agents_file))
        for profile in agents.for_hermes():
            if profile.api_key_ref is not None:
                yield profile.api_key_ref, f"The Canon profile {profile.name}", paths.agents_file
        for home in homes:
            values = {e.name: e.value or "" for e in read_dotenv(read_optional(home.env_file) or b"")}
            if (reference := KeyReference.parse(values.get(_REFERENCE, ""))) is not None:
                yield reference, f"{_REFERENCE} of {home.env_file}", home.env_file
    except CanonOpsError:
        return  # told as unreadable already
