"""Whether a command may work with the home that was chosen: a mistyped one answers like one in which all is well.

An inbox of a home that is not there holds nothing, and so does the one of a volume that is not mounted. So a command
that looks at a home, or changes one, needs it to be there, and to be one: a folder that somebody named holds at least
one name that Hermes or this tool puts into a home. Those that Hermes chooses by itself are not looked into, because
nobody typed them (docs/decisions/0075-a-home-has-to-be-there.md).

The decision is :func:`refusal`, without the disk; :func:`look_at` is the look that it needs.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from enum import Enum

from canon_ops.errors import OutsideError
from canon_ops.hermes.homes import HermesHome, HomeChoice

__all__ = ["HomeForeign", "HomeMissing", "HomeNeed", "HomeSeen", "is_home", "look_at", "refusal"]

# What a Hermes, or this tool, puts into a home; one of them is enough (Hermes host, 2.4).
_NAMES = frozenset(
    {
        ".canon-ops", ".env", ".managed", ".op.env", "SOUL.md", "active_profile", "auth.json", "channel_directory.json",
        "config.yaml", "cron", "gateway.lock", "gateway.pid", "gateway_state.json", "hermes-agent", "hooks", "logs",
        "memories", "pairing", "plugins", "profiles", "sessions", "skills", "state.db",
    }
)  # fmt: skip
_TYPED = frozenset({HomeChoice.HOME_OPTION, HomeChoice.ENVIRONMENT})


class HomeMissing(OutsideError):
    """The home that was chosen is no folder, or that of a profile that was deleted."""

    code = "hermes_home_missing"


class HomeForeign(OutsideError):
    """The folder that was named as the home holds nothing of a Hermes: another one is meant, or it is not mounted."""

    code = "hermes_home_foreign"


class HomeNeed(Enum):
    """What a command needs of the home that it is called with."""

    THERE = "it tells what is in the home"
    NAMED = "it changes the home, and may begin the one that Hermes uses where nobody named one"
    ANY = "it makes the home, or does not look into it"


class HomeSeen(Enum):
    """What lies where the home should be."""

    NOTHING = "no folder"
    DELETED = "the folder of a profile that Hermes deleted, made again by something that knew nothing of that"
    FOREIGN = "a folder with nothing of a Hermes in it"
    HOME = "a home, or a folder that this user may not look into"


def is_home(names: Iterable[str]) -> bool:
    """Whether a folder with these names in it is a Hermes home."""
    return any(name in _NAMES for name in names)


def look_at(home: HermesHome) -> HomeSeen:
    """One look at the disk; whoever cannot look into the folder is told so by what reads its files."""
    try:
        if home.path.parent.name == "profiles" and home.path.with_name(".deleted").joinpath(home.path.name).exists():
            return HomeSeen.DELETED
        with os.scandir(home.path) as entries:
            return HomeSeen.HOME if is_home(entry.name for entry in entries) else HomeSeen.FOREIGN
    except (FileNotFoundError, NotADirectoryError):
        return HomeSeen.NOTHING
    except OSError:
        return HomeSeen.HOME


def refusal(home: HermesHome, seen: HomeSeen, need: HomeNeed) -> OutsideError | None:
    """Why a command with this need cannot work here, or None."""
    if need is HomeNeed.ANY or seen is HomeSeen.HOME:
        return None
    if seen is HomeSeen.DELETED:
        what = f"{home.path} is the folder of a Hermes profile that was deleted; it was chosen by {home.how.value}"
        make = f"make the profile anew: hermes profile create {shlex.quote(home.path.name)}"
        fix = f"name another: --hermes-home DIR, or {make}"
        return HomeMissing(what, fix=fix, file=str(home.path))
    if need is HomeNeed.NAMED and home.how is HomeChoice.DEFAULT:
        return None
    make = f"or make one there: {home.command('setup')}"
    if seen is HomeSeen.NOTHING:
        what = f"There is no Hermes home {home.path}; it was chosen by {home.how.value}"
        return HomeMissing(what, fix=f"name another: --hermes-home DIR, {make}", file=str(home.path))
    if home.how not in _TYPED:
        return None
    what = f"{home.path} is no Hermes home: nothing of Hermes is in it, and it was chosen by {home.how.value}"
    return HomeForeign(what, fix=f"name another: --hermes-home DIR, {make}", file=str(home.path))
