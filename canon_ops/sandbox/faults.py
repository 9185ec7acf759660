"""Scripted trouble: which request or event is spoiled, how, and how often. Pure.

A fault is a kind (a row of ``fault_kinds``: where it strikes and what it does) armed with a schedule. The server asks
:meth:`FaultBook.meet` once for each request, each opened stream and each event it writes. Every armed fault whose
matcher fits counts the meeting; the first one whose schedule says so fires and its action is returned.

Schedules count *occasions*, not requests: the replays of one message are one occasion. ``every=5, burst=2`` spoils two
consecutive attempts of each fifth message, whatever the client does in between. Source: Canon wire 11.8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from canon_ops.errors import UsageError
from canon_ops.sandbox.fault_actions import FaultKind, Point, Schedule
from canon_ops.sandbox.fault_kinds import KINDS

__all__ = ["Armed", "FaultBook", "Meeting", "UnknownFault", "parse_fault"]


class UnknownFault(UsageError):
    """There is no fault of this name, or it does not take this setting."""

    code = "sandbox_unknown_fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """A request, an opening stream or an event, as the matchers see it."""

    point: Point
    occasion: str
    method: str = ""
    path: str = ""
    listener: str = ""
    event: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Armed:
    """A fault on duty, with its two counters.

    Attributes:
        met: requests or events that fitted its matcher.
        fired: how many of them it spoiled.
    """

    number: int
    kind: FaultKind
    schedule: Schedule
    where: Mapping[str, Any]
    met: int = 0
    fired: int = 0
    disarmed: bool = False
    _occasions: dict[str, int] = field(default_factory=dict)
    _left: dict[str, int] = field(default_factory=dict)

    def fits(self, meeting: Meeting) -> bool:
        kind = self.kind
        if self.disarmed or kind.point != meeting.point:
            return False
        if not (fnmatchcase(meeting.method, kind.method) and fnmatchcase(meeting.path, kind.path)):
            return False
        if not fnmatchcase(meeting.event, kind.event):
            return False
        return all(self._agrees(meeting, key, value) for key, value in self.where.items())

    @staticmethod
    def _agrees(meeting: Meeting, key: str, value: Any) -> bool:
        if key == "listener":
            return bool(meeting.listener == value)
        found: Any = meeting.body
        for step in key.split("."):
            found = found.get(step) if isinstance(found, Mapping) else None
        return bool(found == value)

    def decide(self, meeting: Meeting) -> bool:
        """Count the meeting and say whether to fire now."""
        self.met += 1
        schedule = self.schedule
        if schedule.times is not None and self.fired >= schedule.times:
            return False
        index = self._occasions.setdefault(meeting.occasion, len(self._occasions))
        if index < schedule.skip or (index - schedule.skip) % schedule.every:
            return False
        if schedule.burst is not None:
            left = self._left.get(meeting.occasion, schedule.burst)
            if left == 0:
                return False
            self._left[meeting.occasion] = left - 1
        return True

    def report(self) -> dict[str, Any]:
        return {"number": self.number, "name": self.kind.name, "met": self.met, "fired": self.fired}


class FaultBook:
    """The faults of one server.

    Args:
        limit_per_occasion: no occasion is spoiled more often than this by all faults together, so that a client which
            makes three attempts can win; None is without limit.
        kinds: the table of faults by name.
    """

    def __init__(self, limit_per_occasion: int | None = None, *, kinds: Mapping[str, FaultKind] = KINDS) -> None:
        self.limit_per_occasion = limit_per_occasion
        self._kinds = kinds
        self.armed: list[Armed] = []
        self._spoiled: Counter[tuple[Point, str]] = Counter()

    @property
    def is_quiet(self) -> bool:
        """Whether no fault is on duty."""
        return all(fault.disarmed for fault in self.armed)

    def arm(self, name: str, **settings: Any) -> Armed:
        """Put a fault on duty.

        Args:
            name: a key of the table.
            settings: fields of :class:`Schedule` (``times``, ``every``, ``skip``, ``burst``); ``status``, ``seconds``,
                ``body``, ``headers``, ``commit`` or ``how`` of the action; ``method``, ``path`` or ``event`` of the
                matcher; anything else must equal the field of that (dotted) name in the request's body or the event's
                payload, ``listener`` the listener.

        Raises:
            UnknownFault: no such kind.
        """
        kind = _known(name, self._kinds)
        schedule: dict[str, Any] = {
            key: settings.pop(key) for key in ("skip", "every", "burst", "times") if key in settings
        }
        _check(name, schedule, settings)
        matcher = {key: settings.pop(key) for key in ("method", "path", "event") if key in settings}
        fields = set(kind.action.__dataclass_fields__)
        action = {key: settings.pop(key) for key in list(settings) if key in fields}
        armed = Armed(
            len(self.armed) + 1,
            replace(kind, action=replace(kind.action, **action), **matcher),
            replace(kind.schedule, **schedule),
            settings,
        )
        self.armed.append(armed)
        return armed

    def meet(self, meeting: Meeting) -> Armed | None:
        """The fault that spoils this meeting, or None. Every fitting fault counts it as met."""
        chosen: Armed | None = None
        for fault in self.armed:
            if not fault.fits(meeting):
                continue
            if chosen is not None or self._is_spared(meeting):
                fault.met += 1
            elif fault.decide(meeting):
                chosen = fault
        if chosen is not None:
            chosen.fired += 1
            self._spoiled[meeting.point, meeting.occasion] += 1
        return chosen

    def _is_spared(self, meeting: Meeting) -> bool:
        limit = self.limit_per_occasion
        return limit is not None and self._spoiled[meeting.point, meeting.occasion] >= limit

    def disarm(self) -> None:
        """Take every fault off duty; their counters stay readable."""
        for fault in self.armed:
            fault.disarmed = True

    def report(self) -> list[dict[str, Any]]:
        """One row a fault: how often it fired and how many requests or events met it."""
        return [fault.report() for fault in self.armed]


def _check(name: str, schedule: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Refuse settings that would only fail when the fault is met."""
    for key, value in schedule.items():
        unlimited = value is None and key in {"burst", "times"}
        least = 0 if key == "skip" else 1
        if not unlimited and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise UnknownFault(f"{name}: {key} must be a whole number of at least {least}, not {value!r}")
    for key, kind in {"status": int, "seconds": int | float, "path": str, "method": str, "event": str}.items():
        if key in settings and not isinstance(settings[key], kind):
            raise UnknownFault(f"{name}: {key} has the wrong type: {settings[key]!r}")


def _known(name: str, kinds: Mapping[str, FaultKind]) -> FaultKind:
    if name not in kinds:
        raise UnknownFault(f"no fault is called {name!r}; there are {', '.join(sorted(kinds))}")
    return kinds[name]


def parse_fault(text: str, kinds: Mapping[str, FaultKind] = KINDS) -> tuple[str, dict[str, Any]]:
    """Read ``send-429:every=5,burst=2`` into a name and settings; ``none`` lifts a limit."""
    name, _, rest = text.partition(":")
    settings: dict[str, Any] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise UnknownFault(f"{item!r} in {text!r} is not of the form setting=value")
        settings[key] = _value(value)
    _known(name, kinds)
    return name, settings


def _value(text: str) -> Any:
    if text.lower() in {"none", "true", "false"}:
        return {"none": None, "true": True, "false": False}[text.lower()]
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text
