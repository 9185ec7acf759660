"""The values of each kind, read from this machine: what a cold answer costs.

Each reader names the files that it looks at before it reads them, so that the answer can be kept until one of them
changes. What cannot be read has no values; a completion never complains.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from canon_ops.cli.completion.cache import fingerprint
from canon_ops.cli.completion.kinds import Kind
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.homes import HermesHome, resolve_home, user_home
from canon_ops.settings.paths import CanonPaths

__all__ = ["Looking", "values_of"]

Value = tuple[str, str]
_MOST_PATHS = 5_000  # aliases may make a small file endless, and nobody picks from more


class Looking:
    """One home, and every file that was looked at on the way to an answer.

    Args:
        environ: the process environment.
        profile, hermes_home: what the command line says so far.

    Attributes:
        seen: a fingerprint of each file, taken before it was read.
    """

    def __init__(self, environ: Mapping[str, str], profile: str | None, hermes_home: str | None) -> None:
        self.environ = environ
        self.seen: dict[str, str] = {}
        root = Path(environ.get("HERMES_HOME") or user_home(environ) / ".hermes")
        for folder in (root, root.parent.parent if root.parent.name == "profiles" else user_home(environ) / ".hermes"):
            self.sees(folder / "active_profile", folder / "profiles")
        self.home: HermesHome = resolve_home(environ, profile=profile or None, hermes_home=hermes_home or None)
        self.sees(self.home.env_file)

    def sees(self, *files: Path) -> None:
        """Remember that the answer depends on these; call it before they are read."""
        for path in map(str, files):
            self.seen.setdefault(path, fingerprint(path))

    def canon_paths(self) -> CanonPaths:
        """Where Canon's files are."""
        from canon_ops.hermes.surroundings import canon_paths_from_disk

        paths = canon_paths_from_disk(self.home.path, self.environ)
        self.sees(paths.agents_file)
        return paths


def values_of(kind: Kind, looking: Looking) -> list[Value]:
    """Candidates with their sentences, in a useful order."""
    found: dict[str, str] = {}
    with contextlib.suppress(CanonOpsError, OSError, ValueError):
        for value, words in _READERS[kind](looking):
            if value and value.isprintable():
                found.setdefault(value, words if words.isprintable() else "")
    return list(found.items())


def _hermes_profiles(looking: Looking) -> Iterator[Value]:
    from canon_ops.hermes.home_list import homes_beside

    looking.sees(looking.home.root / "profiles")
    for home in homes_beside(looking.home, looking.environ):
        if home.profile_name != "custom":
            yield home.profile_name, "in use" if home.path == looking.home.path else ""


def _agents(looking: Looking) -> Iterator[tuple[str, str | None, str, str | None]]:
    from canon_ops.settings.profiles import AgentsFile

    file = looking.canon_paths().agents_file
    for profile in AgentsFile.parse(file.read_bytes(), file=str(file)).for_hermes():
        yield profile.name, profile.agent_id, profile.agent_name or "", profile.environment_id


def _canon_profiles(looking: Looking) -> Iterator[Value]:
    for name, agent_id, agent_name, environment in _agents(looking):
        yield name, ", ".join(part for part in (agent_name or agent_id, environment) if part)


def _agent_ids(looking: Looking) -> Iterator[Value]:
    for name, agent_id, agent_name, _ in _agents(looking):
        yield agent_id or "", agent_name or name


def _registrations(looking: Looking) -> Iterator[Value]:
    from canon_ops.settings.pending import PendingFile

    file = looking.canon_paths().pending_file
    looking.sees(file)
    for name in PendingFile.parse(file.read_bytes(), file=str(file)).for_hermes():
        yield name, "not finished"


def _config_keys(looking: Looking) -> Iterator[Value]:
    """What the file has, then what is known and the file lacks."""
    from canon_ops.hermes.keys import KNOWN_KEYS, KeyFile, find_key

    file = looking.home.config_file
    looking.sees(file)
    for path in islice(_paths_in(file), _MOST_PATHS):
        known = find_key(path, KeyFile.CONFIG)
        yield path, known.help if known else ""
    for key in KNOWN_KEYS:
        if key.file is KeyFile.CONFIG:
            yield key.name, key.help


def _paths_in(file: Path) -> Iterator[str]:
    import yaml

    from canon_ops.files.yaml_path import format_path

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    def below(value: Any, path: tuple[str | int, ...]) -> Iterator[str]:
        if path:
            yield format_path(path)
        if isinstance(value, dict):
            for key, child in value.items():
                if isinstance(key, str):
                    yield from below(child, (*path, key))

    try:
        yield from below(yaml.load(file.read_bytes(), loader), ())  # noqa: S506 - both loaders are safe ones
    except (OSError, yaml.YAMLError, RecursionError, CanonOpsError):
        return


def _variables(looking: Looking) -> Iterator[Value]:
    from canon_ops.hermes.keys import KNOWN_KEYS, KeyFile, find_key
    from canon_ops.settings.dotenv import read_dotenv

    with contextlib.suppress(OSError, CanonOpsError):
        for entry in read_dotenv(looking.home.env_file.read_bytes()):
            known = find_key(entry.name, KeyFile.DOTENV)
            yield entry.name, known.help if known else ""
    for key in KNOWN_KEYS:
        if key.file is KeyFile.DOTENV:
            yield key.name, key.help


def _history_ids(looking: Looking) -> Iterator[Value]:
    from canon_ops.files.history import History

    for folder in (looking.home.path, looking.canon_paths().home):
        history = History(folder)
        looking.sees(history.folder)
        for record in history.records():
            yield record.id, record.label


_READERS: Mapping[Kind, Callable[[Looking], Iterator[Value]]] = {
    Kind.HERMES_PROFILE: _hermes_profiles,
    Kind.CANON_PROFILE: _canon_profiles,
    Kind.AGENT_ID: _agent_ids,
    Kind.REGISTRATION: _registrations,
    Kind.CONFIG_KEY: _config_keys,
    Kind.VARIABLE: _variables,
    Kind.HISTORY_ID: _history_ids,
}
