"""config.yaml as a file: its form, who may read and change it, whose it is, and who else decides about it."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination, FactMissing, config_owner
from canon_ops.doctor.repair import MakePrivate
from canon_ops.errors import CanonOpsError
from canon_ops.files.atomic import BrokenLink
from canon_ops.hermes.managed_scope import managed_scope
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.settings.telling import is_telling

__all__ = ["CHECKS"]


def _tabs(examination: Examination) -> Finding:
    return _of_form(examination, "config.tabs", "No tab stands where YAML wants spaces.")


def _documents(examination: Examination) -> Finding:
    return _of_form(examination, "config.documents", "config.yaml holds one document.")


def _of_form(examination: Examination, check_id: str, fine: str) -> Finding:
    try:
        examination.config.examine()
    except CanonOpsError as exc:
        owner = config_owner(exc)
        if owner == check_id:
            return from_error(Status.ERROR, exc)
        raise FactMissing(owner) from exc
    return Finding(Status.OK, fine)


def _managed(examination: Examination) -> Answer:
    found = []
    home, scope = examination.home, managed_scope(examination.home)
    if home.managed_by is not None:
        found.append(
            Finding(
                Status.INFO,
                f"{home.path} is managed by {home.managed_by}; its files are not edited here.",
                Fix(f"change settings in the configuration of {home.managed_by}"),
                Place(str(home.path)),
            )
        )
    if scope is not None and (scope.leaves or scope.variables):
        names = sorted([*(".".join(leaf) for leaf in scope.leaves), *scope.variables])
        found.append(
            Finding(
                Status.INFO,
                f"The administrator decides about {', '.join(names)}, in {scope.folder}.",
                Fix(f"ask whoever maintains {scope.folder}"),
                Place(str(scope.folder)),
                {"names": names},
            )
        )
    return tuple(found) or Finding(Status.OK, "Nobody else decides about this home's settings.")


def _mode(examination: Examination) -> Finding:
    file = examination.home.config_file
    mode = _mode_of(file)
    if mode is None:
        return Finding(Status.OK, "There is no config.yaml that others could read.")
    at, name = Place(str(file)), shlex.quote(str(file))
    private = Fix(f"chmod 600 {name}", MakePrivate(file))
    if mode & 0o044 and any(_secrets(examination.config().tree)):
        return Finding(Status.ERROR, f"{file} has mode {mode:04o}: others can read the keys in it.", private, at)
    if mode & 0o022:
        message = f"{file} has mode {mode:04o}: others can change it, and with it what the agent may do."
        return Finding(Status.ERROR, message, Fix(f"chmod go-w {name}", MakePrivate(file, writing_only=True)), at)
    return Finding(Status.OK, f"config.yaml has mode {mode:04o}.", at=at)


def _mode_of(file: Path) -> int | None:
    try:
        return stat.S_IMODE(file.stat().st_mode)
    except OSError:
        return None


def _secrets(tree: object, name: str = "") -> Iterator[str]:
    """The names of what is secret and written out; a reference to a variable is no secret."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _secrets(value, str(key))
    elif isinstance(tree, list):
        for item in tree:
            yield from _secrets(item, name)
    elif isinstance(tree, str) and tree and "${" not in tree and is_telling(name):
        yield name


def _owner(examination: Examination) -> Answer:
    home, owner_of = examination.home, examination.owner_of
    whose = owner_of(home.path)
    found = []
    for file in (home.config_file, home.env_file):
        if file.exists() and whose is not None and owner_of(file) != whose:
            found.append(
                Finding(
                    Status.WARNING,
                    f"{file} belongs to uid {owner_of(file)}, its home to uid {whose}: the gateway may not read it.",
                    Fix(f"chown {whose} {shlex.quote(str(file))}"),
                    Place(str(file)),
                    {"file": owner_of(file), "home": whose},
                )
            )
    for folder in (home.path / ".canon-ops", *(home.path / "plugins" / name for name in PLATFORMS)):
        strangers = [] if whose is None else [each for each in _state_of(folder) if owner_of(each) != whose]
        if strangers:
            message = f"{strangers[0]} belongs to uid {owner_of(strangers[0])}, the home to uid {whose}"
            more = f" (and {len(strangers) - 1} more)" if len(strangers) > 1 else ""
            found.append(
                Finding(
                    Status.WARNING,
                    f"{message}{more}: a command ran as another user, and the gateway may be locked out.",
                    Fix(f"chown -R {whose} {shlex.quote(str(folder))}"),
                    Place(str(folder)),
                    {"file": owner_of(strangers[0]), "home": whose},
                )
            )
    if not found and whose is not None and whose != os.geteuid():
        message = f"{home.path} belongs to uid {whose}, and this command runs as uid {os.geteuid()}."
        return Finding(Status.INFO, message, at=Place(str(home.path)))
    return tuple(found) or Finding(Status.OK, "The home and its files belong to one user.")


def _state_of(folder: Path) -> Iterator[Path]:
    """A folder of ours and what is in it, two floors deep; what may not be entered is left out, and so is a link."""
    if folder.is_symlink() or not folder.is_dir():
        return
    yield folder
    for pattern in ("*", "*/*"):
        with suppress(OSError):
            yield from (each for each in sorted(folder.glob(pattern)) if not each.is_symlink())


def _symlink(examination: Examination) -> Finding:
    file = examination.home.config_file
    if not file.is_symlink():
        return Finding(Status.OK, "config.yaml is a file of the home itself.")
    at = Place(str(file))
    try:
        examination.config.examine()
    except BrokenLink as exc:
        return from_error(Status.ERROR, exc)
    except CanonOpsError:  # what stands at its end is config.parse's
        pass
    real = file.resolve()
    message = f"config.yaml is a symbolic link; what is edited is {real}."
    return Finding(Status.INFO, message, at=at, data={"real": str(real)})


CHECKS = (
    Check(
        "config.tabs",
        "Tabs",
        "Is config.yaml indented by spaces alone?",
        _tabs,
        about=About(
            "An editor put a tab where spaces were meant.",
            "Hermes cannot read the file and goes on with its defaults.",
            "Replace the tab in the line that the finding names by two spaces.",
            ("config.yaml",),
        ),
    ),
    Check(
        "config.documents",
        "Documents",
        "Does config.yaml hold one document?",
        _documents,
        about=About(
            "A line --- begins a second document, often after two files were joined.",
            "Hermes reads neither, and goes on with its defaults.",
            "Remove the line --- and join the two by hand.",
            ("config.yaml",),
        ),
    ),
    Check(
        "config.managed",
        "Managed",
        "Does nobody else decide about these settings?",
        _managed,
        about=About(
            "A package manager owns the home, or an administrator's folder pins some values.",
            "What is edited here would be refused, overwritten, or counts for nothing.",
            "Change the setting where it is decided: in the system's configuration, or in the administrator's folder.",
            ("HERMES_MANAGED", "HERMES_MANAGED_DIR", ".managed", "/etc/hermes"),
        ),
    ),
    Check(
        "config.mode",
        "Mode",
        "Is config.yaml safe from others?",
        _mode,
        about=About(
            "The file was written by a program or under a umask that lets everybody in.",
            "Who can read it has the keys in it; who can change it decides what the agent may do.",
            "chmod 600 config.yaml, or chmod go-w where a group is meant to read it.",
            ("config.yaml",),
        ),
    ),
    Check(
        "config.owner",
        "Owner",
        "Do the home's files belong to whom the home belongs?",
        _owner,
        about=About(
            "A command ran as root, in a container or with sudo, and left a file that is root's.",
            "The gateway runs as another user and cannot read the file; it starts with defaults or without keys.",
            "Give the file back: chown USER FILE.",
            ("config.yaml", ".env"),
        ),
    ),
    Check(
        "config.symlink",
        "Link",
        "Does the link in config.yaml's place lead somewhere?",
        _symlink,
        about=About(
            "The file lives in a repository of dotfiles, and the link to it broke when something was moved.",
            "Hermes takes a link that leads nowhere for a missing file and runs on defaults.",
            "Look where the link leads (ls -l) and set it anew (ln -sf).",
            ("config.yaml",),
        ),
    ),
)
