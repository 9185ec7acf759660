"""What a plugin relies on of a Hermes, as data, and what a given Hermes does differently.

The plugin interface of Hermes ends before a chat platform does, so a platform reaches for classes, members and
arguments that no version promises. Each is a :class:`Need`. The host's own interpreter describes what it has
(host_child.py, ``describe``) as :class:`Described`, and :func:`compare` says what is missing or other. Nothing here
imports a host; a description can come from any Hermes on the machine, also from one that we refuse.

How much a difference matters is decided by the need: one with a stand-in (``without``) degrades in a way that is
written down, one without breaks the platform, and an argument of a call into ours that ours does not take wants a look.

Source: decisions H3; Canon adapter Appendix D; Hermes host, 12.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

__all__ = ["Described", "Difference", "Effect", "Need", "Parameter", "Use", "compare", "worst"]


class Use(Enum):
    """What the plugin does with a symbol."""

    VALUE = "reads it"
    CALL = "calls it"
    OVERRIDE = "is called through it"
    ATTRIBUTE = "reads it of an object"


class Effect(Enum):
    """What a difference means, the worst first."""

    BREAKS = "breaks"  # the platform cannot work, or not for long
    UNSEEN = "unseen"  # the host may hand over something that ours does not take
    DEGRADES = "degrades"  # something of ours stands in


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that the plugin relies on.

    Attributes:
        path: ``module:name`` or ``module:Class.member``.
        why: what it is for, in a few words.
        arguments: CALL: how many are passed by position; the host must take at least as many.
        keywords: CALL: the names that are passed; OVERRIDE: the names that ours takes.
        is_async: it is awaited.
        holds: VALUE: entries that the collection must hold.
        without: what stands in where it is missing; None: nothing does.
        elsewhere: where other versions have the same thing.
    """

    path: str
    use: Use
    why: str
    arguments: int = 0
    keywords: tuple[str, ...] = ()
    is_async: bool = False
    holds: tuple[str, ...] = ()
    without: str | None = None
    elsewhere: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Everywhere it may be."""
        return (self.path, *self.elsewhere)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a host's callable; ``kind`` is Python's own name of it (``KEYWORD_ONLY``)."""

    name: str
    kind: str
    optional: bool


@dataclass(frozen=True, slots=True)
class Described:
    """What a host says about one path.

    Attributes:
        found: it is there.
        reason: why not, as the host's interpreter said.
        parameters: of a callable, without ``self``; None for anything else, and where they cannot be known.
        entries: of a collection of texts, or the fields of a class that has such.
    """

    path: str
    found: bool
    reason: str = ""
    is_async: bool = False
    parameters: tuple[Parameter, ...] | None = None
    entries: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which a host is not what was relied on; ``what`` completes "<path> …"."""

    path: str
    what: str
    effect: Effect
    why: str
    stand_in: str | None = None

    @property
    def sentence(self) -> str:
        """For people, whole."""
        means = {
            Effect.BREAKS: f"Canon needs it: {self.why}",
            Effect.UNSEEN: f"{self.why}",
            Effect.DEGRADES: self.stand_in or self.why,
        }
        return f"{self.path} {self.what} ({means[self.effect]})."


def compare(needs: Iterable[Need], described: Mapping[str, Described]) -> tuple[Difference, ...]:
    """Every difference, in the order of the needs; a path that was not described counts as missing."""
    return tuple(difference for need in needs for difference in _differences(need, _found(need, described)))


def worst(differences: Iterable[Difference]) -> Effect | None:
    """The gravest effect; None when there is no difference."""
    order = list(Effect)
    return min((one.effect for one in differences), key=order.index, default=None)


def _found(need: Need, described: Mapping[str, Described]) -> Described:
    """What the host has of it, wherever; what it says of the first place if it is nowhere."""
    told = [described.get(path, Described(path, False, "was not asked for")) for path in need.paths]
    return next((one for one in told if one.found), told[0])


def _differences(need: Need, host: Described) -> list[Difference]:
    effect = Effect.BREAKS if need.without is None else Effect.DEGRADES

    def difference(what: str, how: Effect = effect) -> Difference:
        return Difference(need.path, what, how, need.why, need.without if how is Effect.DEGRADES else None)

    if not host.found:
        return [difference("is missing")]
    found = [difference(f"lacks {entry}") for entry in need.holds if entry not in (host.entries or ())]
    if need.use in (Use.CALL, Use.OVERRIDE) and host.is_async != need.is_async:
        found.append(difference("is awaited here" if host.is_async else "is not awaited here"))
    if host.parameters is not None and need.use is Use.CALL:
        found += [difference(what) for what in _refusals(need, host.parameters)]
    if host.parameters is not None and need.use is Use.OVERRIDE:
        taken = {*need.keywords}
        extra = [one.name for one in host.parameters if not one.kind.startswith("VAR_") and one.name not in taken]
        found += [difference(f"has a parameter {name} that ours does not take", Effect.UNSEEN) for name in extra]
    return found


def _refusals(need: Need, parameters: tuple[Parameter, ...]) -> list[str]:
    """Why Python would refuse the call."""
    positional = [one for one in parameters if one.kind in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
    named = {one.name for one in parameters if one.kind in ("POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY")}
    kinds = {one.kind for one in parameters}
    given = {one.name for one in positional[: need.arguments]} | {*need.keywords}
    refusals = []
    if len(positional) < need.arguments and "VAR_POSITIONAL" not in kinds:
        refusals.append(f"takes {len(positional)} arguments by position, not {need.arguments}")
    if "VAR_KEYWORD" not in kinds:
        refusals += [f"takes no {name}" for name in need.keywords if name not in named]
    required = [one.name for one in parameters if not one.optional and not one.kind.startswith("VAR_")]
    return refusals + [f"wants {name} too" for name in required if name not in given]
