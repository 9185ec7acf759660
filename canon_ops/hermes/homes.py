"""Which Hermes home a command acts on: the same answer that the ``hermes`` command would give.

The rule, in the order in which it is tried (Hermes host, 2.1 and 2.2)::

    --hermes-home DIR            DIR is the home; nothing else is looked at
    --profile NAME               <root>/profiles/NAME, or the root itself for "default"
    HERMES_HOME below profiles/  that folder, even when it does not exist
    <root>/active_profile        the sticky choice of `hermes profile use`, unless a supervisor's marker forbids it
    HERMES_HOME                  that folder
    otherwise                    ~/.hermes

The root holds ``profiles/`` and ``active_profile``: ``~/.hermes`` when HERMES_HOME is unset or lies below it, the
grandparent of a ``…/profiles/<name>`` elsewhere, else HERMES_HOME itself. Texts of the environment are taken as
Hermes takes them: no ``~`` is expanded in HERMES_HOME, and blanks around it matter for the root but not for the home.

Everything that starts a Hermes process passes the answer on (:meth:`HermesHome.environ`,
:meth:`HermesHome.arguments`), so that a sticky choice cannot lead the child elsewhere. The tests run the real
``hermes config path`` beside this module.
"""

from __future__ import annotations

import errno
import os
import pwd
import shlex
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from canon_ops.errors import NotFoundError, OutsideError, UsageError
from canon_ops.hermes.aiming import aimed
from canon_ops.lean import dataclass, late_pattern

__all__ = [
    "BadProfileName",
    "HermesHome",
    "HomeChoice",
    "HomeInACircle",
    "UnknownProfile",
    "administrator_folder",
    "resolve_home",
    "user_home",
]

_PROFILE_NAME = late_pattern(r"[a-z0-9][a-z0-9_-]{0,63}")
_RESERVED = frozenset({"hermes", "test", "tmp", "root", "sudo"})  # "default" is reserved too: it names the root
_DEFAULT = "default"
_STICKY_FILE = "active_profile"
_SUPERVISED_MARKERS = ("HERMES_SUPERVISED_CHILD", "HERMES_S6_SUPERVISED_CHILD")  # any text counts
_OTHER_SUPERVISOR = "HERMES_GATEWAY_EXTERNAL_SUPERVISOR"  # counts when it says yes
_YES = frozenset({"1", "true", "yes", "on"})
_MANAGED_YES = frozenset({"", "1", "true", "yes"})  # only the NixOS module ever wrote these
_MANAGED_NAMES = {"nix": "NixOS", "nixos": "NixOS", "brew": "Homebrew", "homebrew": "Homebrew"}


class BadProfileName(UsageError):
    """The name can never be a Hermes profile."""

    code = "hermes_profile_name"


class UnknownProfile(NotFoundError):
    """No such Hermes profile; Hermes itself refuses to start with it."""

    code = "hermes_profile_missing"


class HomeInACircle(OutsideError):
    """The folder that was chosen is a symbolic link that leads back to itself, so no home can be there."""

    code = "hermes_home_circle"


class HomeChoice(Enum):
    """Why this home and no other; the value completes the sentence "the home was chosen by …"."""

    HOME_OPTION = "--hermes-home"
    PROFILE_OPTION = "--profile"
    PROFILE_ENVIRONMENT = "HERMES_HOME, which is a profile's folder"
    STICKY = "the sticky profile (hermes profile use)"
    ENVIRONMENT = "HERMES_HOME"
    DEFAULT = "Hermes' default"


@dataclass(frozen=True, slots=True)
class HermesHome:
    """One Hermes home.

    Attributes:
        path: absolute folder; it may not exist yet.
        root: absolute folder that holds ``profiles/`` and the sticky choice.
        profile_name: ``default`` for the root, the profile's name, or ``custom`` for any other folder.
        how: which rule chose it.
        managed_by: the package manager that owns the home and refuses edits, or None.
        redirected: a bare ``hermes`` that is told this home would follow the sticky choice away from it.
        administrator: the folder whose values win over this home's, or None; see canon_ops.hermes.managed_scope.
    """

    path: Path
    root: Path
    profile_name: str
    how: HomeChoice
    managed_by: str | None = None
    redirected: bool = False
    administrator: Path | None = None

    @property
    def config_file(self) -> Path:
        return self.path / "config.yaml"

    @property
    def env_file(self) -> Path:
        return self.path / ".env"

    @property
    def gateway_state_file(self) -> Path:
        """What its gateway says of itself."""
        return self.path / "gateway_state.json"

    @property
    def is_managed(self) -> bool:
        return self.managed_by is not None

    def environ(self, base: Mapping[str, str]) -> dict[str, str]:
        """``base`` for a Hermes process of this home."""
        return {**base, "HERMES_HOME": str(self.path)}

    def arguments(self) -> tuple[str, ...]:
        """Arguments that a ``hermes`` of this home needs before its subcommand.

        The profile flag appears only where it is needed: Hermes tells its gateways apart by the flag on their
        command lines, and takes one that carries any for another profile's.
        """
        return ("--profile", _DEFAULT) if self.redirected and self.profile_name == _DEFAULT else ()

    def command(self, words: str) -> str:
        """``words`` as a ``hermes`` command to paste, aimed at this profile or home."""
        if self.how is HomeChoice.HOME_OPTION or self.profile_name == "custom":
            return " ".join([f"HERMES_HOME={shlex.quote(str(self.path))} hermes", *self.arguments(), words])
        if self.profile_name != _DEFAULT or self.redirected:
            return f"hermes --profile {self.profile_name} {words}"
        return f"hermes {words}"

    def own_command(self, words: str) -> str:
        """``words`` as a ``canon-ops`` command to paste, aimed at this home as the present call was."""
        match self.how:
            case HomeChoice.HOME_OPTION:
                return f"canon-ops {words} --hermes-home {shlex.quote(str(self.path))}"
            case HomeChoice.PROFILE_OPTION:
                return f"canon-ops {words} --profile {self.profile_name}"
            case _:
                return f"canon-ops {words}"

    def aim(self, fix: str | None) -> str | None:
        """A cure that was written by who knew of no home, aimed at this one as the present call was."""
        by_home = self.path if self.how is HomeChoice.HOME_OPTION else None
        by_profile = self.profile_name if self.how is HomeChoice.PROFILE_OPTION else None
        return aimed(fix, profile=by_profile, hermes_home=by_home)


def resolve_home(
    environ: Mapping[str, str], *, profile: str | None = None, hermes_home: str | Path | None = None
) -> HermesHome:
    """Say which home the ``hermes`` command would use here.

    Args:
        environ: the process environment; HOME, HERMES_HOME, HERMES_MANAGED, SUDO_USER, the supervisors' markers count.
        profile: what ``--profile`` said; it beats everything except ``hermes_home``.
        hermes_home: what ``--hermes-home`` said; ``profile`` is then looked up below its root.

    Raises:
        BadProfileName: ``profile`` or the sticky file holds a name that no profile may have.
        UnknownProfile: there is no such profile.
        HomeInACircle: the way to the home leads nowhere.
    """
    if hermes_home is not None:
        environ = {**environ, "HERMES_HOME": str(Path(hermes_home).expanduser())}
    native = user_home(environ) / ".hermes"
    told = environ.get("HERMES_HOME", "")
    root = _root(native, told)

    if profile is not None:
        how = HomeChoice.PROFILE_OPTION if hermes_home is None else HomeChoice.HOME_OPTION
        return _found(_profile_folder(profile, root, environ), root, how, environ)
    if hermes_home is not None:
        return _found(Path(told), root, HomeChoice.HOME_OPTION, environ)
    if told and Path(told).parent.name == "profiles":
        return _found(Path(told.strip()), root, HomeChoice.PROFILE_ENVIRONMENT, environ)
    if not _is_supervised(environ) and (sticky := _sticky(root)):
        return _found(_profile_folder(sticky, root, environ, from_file=True), root, HomeChoice.STICKY, environ)
    if told.strip():
        return _found(Path(told.strip()), root, HomeChoice.ENVIRONMENT, environ)
    return _found(native, root, HomeChoice.DEFAULT, environ)


def _is_supervised(environ: Mapping[str, str]) -> bool:
    """A supervisor started this gateway or one of our parents, and its home is fixed (Hermes host, 2.2).

    Hermes 0.21 set the rule; earlier ones obey the S6 marker alone, but nothing of theirs writes the others into a
    process that follows the sticky choice (decision record 0081). systemd's INVOCATION_ID counts for Hermes' own
    ``gateway`` commands only: every descendant of a service inherits it.
    """
    return any(environ.get(name) for name in _SUPERVISED_MARKERS) or (
        environ.get(_OTHER_SUPERVISOR, "").strip().lower() in _YES
    )


def user_home(environ: Mapping[str, str]) -> Path:
    """``~`` as Python finds it: HOME, else the user database."""
    return Path(environ["HOME"]) if "HOME" in environ else Path(pwd.getpwuid(os.getuid()).pw_dir)


def _root(native: Path, told: str) -> Path:
    if not told:
        return native
    home = Path(told)
    if _real(home).is_relative_to(_real(native)):
        return native
    return home.parent.parent if home.parent.name == "profiles" else home


def _real(path: Path) -> Path:
    """``path`` without links."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            told = f"{path} is a symbolic link that leads in a circle"
            raise HomeInACircle(told, fix=f"ls -l {shlex.quote(str(path))}", file=str(path)) from error
    return Path(os.path.realpath(path))


def _sticky(root: Path) -> str | None:
    """The sticky profile, or None; a damaged file counts as absent, as it does for Hermes."""
    try:
        name = (root / _STICKY_FILE).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return name if name and name != _DEFAULT else None


def _profile_folder(text: str, root: Path, environ: Mapping[str, str], *, from_file: bool = False) -> Path:
    name = text.strip().lower()
    where = f"{root / _STICKY_FILE} names the Hermes profile" if from_file else "The Hermes profile"
    if name == _DEFAULT:
        return root
    if not _PROFILE_NAME.fullmatch(name) or name in _RESERVED:
        reason = (
            "is reserved by Hermes" if name in _RESERVED else "is not a profile name (a-z, 0-9, _ and -, 64 at most)"
        )
        raise BadProfileName(
            f"{where} {text!r}, which {reason}." if from_file else f"{where} name {text!r} {reason}.",
            fix="hermes profile list",
        )
    folder = root / "profiles" / name
    deleted = root / "profiles" / ".deleted" / name  # 0.21 and later: a stray mkdir does not bring a profile back
    if folder.is_dir() and not deleted.exists():
        return folder
    if (invoker := _sudo_profile(name, environ)) is not None:
        return invoker
    raise UnknownProfile(
        f"{where} {name!r}, which does not exist." if from_file else f"{where} {name!r} does not exist below {root}.",
        fix="hermes -p default profile use default" if from_file else f"hermes profile create {name}",
    )


def _sudo_profile(name: str, environ: Mapping[str, str]) -> Path | None:
    """The profile of the person who called sudo: Hermes looks there when root has none of that name."""
    person = environ.get("SUDO_USER", "").strip()
    if os.geteuid() != 0 or not person or person == "root":
        return None
    try:
        folder = Path(pwd.getpwnam(person).pw_dir) / ".hermes" / "profiles" / name
        return folder if folder.is_dir() else None
    except (KeyError, OSError):
        return None


def _found(home: Path, root: Path, how: HomeChoice, environ: Mapping[str, str]) -> HermesHome:
    name = _profile_name(home, root)
    return HermesHome(
        path=home.absolute(),  # not resolve(): a home may be a symbolic link, and the name counts
        root=root.absolute(),
        profile_name=name,
        how=how,
        managed_by=_managed_by(home, environ),
        redirected=home.parent.name != "profiles" and _sticky(root) is not None,
        administrator=administrator_folder(environ),
    )


def administrator_folder(environ: Mapping[str, str]) -> Path | None:
    """The administrator's folder (Hermes host, 2.6, second kind); None where there is none."""
    folder = Path(environ.get("HERMES_MANAGED_DIR", "").strip() or "/etc/hermes")
    return folder if folder.is_dir() else None


def _profile_name(home: Path, root: Path) -> str:
    resolved, profiles = _real(home), _real(root / "profiles")
    if resolved == _real(root):
        return _DEFAULT
    if resolved.parent == profiles and _PROFILE_NAME.fullmatch(resolved.name):
        return resolved.name
    return "custom"


def _managed_by(home: Path, environ: Mapping[str, str]) -> str | None:
    """Who locks this home for writing (Hermes host, 2.6, first kind)."""
    told = environ.get("HERMES_MANAGED", "").strip()
    if not told:
        marker = home / ".managed"
        if not marker.exists():
            return None
        try:
            told = marker.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            told = ""
    return "NixOS" if told.lower() in _MANAGED_YES else _MANAGED_NAMES.get(told.lower(), told)
