"""What both platforms rely on of Hermes alike, and how their tables write a row about the adapter's base class."""

from __future__ import annotations

from typing import Final

from canon_ops.hermes.contract import Need, Use

__all__ = ["BASE", "TOOLS_ASKED_ANEW", "called", "overridden"]

BASE: Final = "gateway.platforms.base:BasePlatformAdapter"

_TOOLS_STAY_AWAY: Final = "a tool that Hermes found unusable stays away from sessions for a while, or until a restart"

TOOLS_ASKED_ANEW: Final[tuple[Need, ...]] = tuple(
    Need(path, Use.CALL, "a tool is offered from when it can be used", without=_TOOLS_STAY_AWAY)
    for path in ("tools.registry:invalidate_check_fn_cache", "model_tools:_clear_tool_defs_cache")
)
"""What is called when our tools can do something else than before: all of them, in this order."""


def called(member: str, why: str, arguments: int = 0, *keywords: str, is_async: bool = False) -> Need:
    """A member of the base class that ours calls."""
    return Need(f"{BASE}.{member}", Use.CALL, why, arguments, keywords, is_async)


def overridden(member: str, why: str, *keywords: str, is_async: bool = True) -> Need:
    """A member of the base class that is called through ours, which takes those keywords."""
    return Need(f"{BASE}.{member}", Use.OVERRIDE, why, keywords=keywords, is_async=is_async)
