"""Reading from disk what settings are resolved from: one function for the command line and for the plugin.

The settings room is pure; this is the corridor to it. The process environment is handed in, everything else is read
from the Hermes home and from Canon's own folder. Nothing is created or written.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from canon_ops.files.reading import read_optional
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.homes import administrator_folder, user_home
from canon_ops.hermes.managed_scope import managed_variables
from canon_ops.lean import field_names, replace
from canon_ops.runtime.file_names import named_path
from canon_ops.settings.paths import CanonPaths
from canon_ops.settings.surroundings import Surroundings

__all__ = ["canon_paths_from_disk", "pinned_variables", "read_optional", "surroundings_from_disk"]


def surroundings_from_disk(
    hermes_home: Path, environ: Mapping[str, str], *, platform: Mapping[str, object] | None = None
) -> Surroundings:
    """What ``resolve`` and its friends of canon_ops.settings need, for one Hermes home.

    Args:
        hermes_home: the home's folder.
        environ: the process environment. A gateway has laid ``.env`` over it already; the answer is the same.
        platform: the ``platforms.canon`` block when the host has parsed it already; read from config.yaml otherwise.

    Raises:
        ConfigSyntaxError: config.yaml is there and Hermes cannot read it.
        UnreadableDotenv: ``.env`` is in an encoding that nobody reads.
        NotAFile, BrokenLink, DiskError: a file is there and cannot be opened.
    """
    config_file, env_file = hermes_home / "config.yaml", hermes_home / ".env"
    managed, managed_file = pinned_variables(environ)
    block = read_config(config_file).platform("canon") if platform is None else platform
    without_agents = Surroundings(
        environ=environ,
        dotenv=read_optional(env_file),
        platform=block,
        managed=managed,
        dotenv_file=str(env_file),
        config_file=str(config_file),
        managed_file=managed_file,
    )
    paths = _canon_paths(without_agents.gateway_environ, user_home(environ))
    return replace(without_agents, agents=read_optional(paths.agents_file), agents_file=str(paths.agents_file))


def pinned_variables(environ: Mapping[str, str]) -> tuple[Mapping[str, str], str]:
    """The administrator's variables and their file; nothing on most machines."""
    folder = administrator_folder(environ)
    return (managed_variables(folder), str(folder / ".env")) if folder else ({}, "")


def canon_paths_from_disk(hermes_home: Path, environ: Mapping[str, str]) -> CanonPaths:
    """Where Canon's files are for this home: ``.env`` may move them.

    Raises:
        UnreadableDotenv, NotAFile, BrokenLink, DiskError: as above.
    """
    env_file = hermes_home / ".env"
    managed, _ = pinned_variables(environ)
    merged = Surroundings(
        environ=environ, dotenv=read_optional(env_file), managed=managed, dotenv_file=str(env_file)
    ).gateway_environ
    return _canon_paths(merged, user_home(environ))


def _canon_paths(environ: Mapping[str, str], home: Path) -> CanonPaths:
    """Where Canon's files are, as this process names files."""
    paths = CanonPaths.from_environ(environ, home)
    return CanonPaths(**{name: Path(named_path(str(getattr(paths, name)))) for name in field_names(CanonPaths)})
