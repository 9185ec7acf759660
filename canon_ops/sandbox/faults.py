"""Scripted trouble: which request or event is spoiled, how, and how often. Pure.

A fault is a kind (a row of :data:`KINDS`: where it strikes and what it does) armed with a :class:`Schedule`. The server
asks :meth:`FaultBook.meet` once for each request, each opened stream and each event it writes. Every armed fault whose
matcher fits counts the meeting; the first one whose schedule says so fires and its action is returned.

Schedules count *occasions*, not requests: the replays of one message are one occasion. ``every=5, burst=2`` spoils two
consecutive attempts of each fifth message, whatever the client does in between. Source: Canon wire 11.8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from canon_ops.errors import UsageError

__all__ = [
    "KINDS",
    "Action",
    "Answer",
    "Armed",
    "Delay",
    "DropStream",
    "EndStream",
    "FaultBook",
    "FaultKind",
    "Meeting",
    "Mute",
    "Rename",
    "Reset",
    "Reshape",
    "Schedule",
    "UnknownFault",
    "parse_fault",
]

Point = Literal["request", "stream", "event"]


class UnknownFault(UsageError):
    """There is no fault of this name, or it does not take this setting."""


# What can go wrong --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer with this status and body; ``commit`` carries the request out first."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    commit: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the socket instead of answering; ``commit`` carries the request out first."""

    commit: bool = False


@dataclass(frozen=True, slots=True)
class Delay:
    """Answer late; ``commit`` carries the request out before the pause, else after it."""

    seconds: float
    commit: bool = False


@dataclass(frozen=True, slots=True)
class Rename:
    """Answer as usual, but with headers and top-level body keys replaced; None removes one."""

    headers: Mapping[str, str | None] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    status: int | None = None


@dataclass(frozen=True, slots=True)
class DropStream:
    """Reset the stream's socket before the event, in the middle of its frame, or after it."""

    cut: Literal["before", "middle", "after"] = "before"


@dataclass(frozen=True, slots=True)
class EndStream:
    """Finish the stream's response properly, before the event."""


@dataclass(frozen=True, slots=True)
class Mute:
    """Accept the stream and never write a byte of body."""


@dataclass(frozen=True, slots=True)
class Reshape:
    """Write the event in an unusual way: one of the words that ``frames`` knows."""

    how: str


Action = Answer | Reset | Delay | Rename | DropStream | EndStream | Mute | Reshape


# When it goes wrong -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Which occasions are spoiled.

    Args:
        skip: the first ``skip`` occasions are left alone.
        every: of the others, the first and then each ``every``-th is chosen.
        burst: how many meetings of a chosen occasion fire; None is all of them.
        times: how often the fault fires at most; None is without end.
    """

    skip: int = 0
    every: int = 1
    burst: int | None = 1
    times: int | None = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """One row of the table: where a fault strikes and what it does.

    ``path`` is a shell pattern; ``event`` is an event name. ``schedule`` is what it is armed with when nothing is said.
    """

    name: str
    point: Point
    action: Action
    says: str
    method: str = "*"
    path: str = "*"
    event: str = "*"
    schedule: Schedule = Schedule()


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
    """

    def __init__(self, limit_per_occasion: int | None = None) -> None:
        self.limit_per_occasion = limit_per_occasion
        self.armed: list[Armed] = []
        self._spoiled: Counter[tuple[Point, str]] = Counter()

    def arm(self, name: str, **settings: Any) -> Armed:
        """Put a fault on duty.

        Args:
            name: a key of :data:`KINDS`.
            settings: fields of :class:`Schedule` (``times``, ``every``, ``skip``, ``burst``); ``status``, ``seconds``,
                ``body``, ``headers``, ``commit`` or ``how`` of the action; ``method``, ``path`` or ``event`` of the
                matcher; anything else must equal the field of that (dotted) name in the request's body or the event's
                payload, ``listener`` the listener.

        Raises:
            UnknownFault: no such kind.
        """
        kind = KINDS.get(name)
        if kind is None:
            raise UnknownFault(f"no fault is called {name!r}; there are {', '.join(sorted(KINDS))}")
        schedule = {key: settings.pop(key) for key in ("skip", "every", "burst", "times") if key in settings}
        if schedule.get("every", 1) < 1:
            raise UnknownFault("every must be at least 1")
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


def parse_fault(text: str) -> tuple[str, dict[str, Any]]:
    """Read ``send-429:every=5,burst=2`` into a name and settings; ``none`` lifts a limit."""
    name, _, rest = text.partition(":")
    settings: dict[str, Any] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            raise UnknownFault(f"{item!r} in {text!r} is not of the form setting=value")
        settings[key] = _value(value)
    if name not in KINDS:
        raise UnknownFault(f"no fault is called {name!r}; there are {', '.join(sorted(KINDS))}")
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


# The table ----------------------------------------------------------------------------------------------------------

_ALWAYS: Final = Schedule(burst=None, times=None)
_OTHER_ENVIRONMENT: Final = "canon-other-v1"


def _error(status: int, code: str | None = None, *, commit: bool = False, **more: Any) -> Answer:
    body = {"error": f"scripted {status}", **({} if code is None else {"code": code}), **more}
    return Answer(status, body, commit=commit)


def _send(name: str, action: Action, says: str) -> FaultKind:
    return FaultKind(
        name=f"send-{name}", point="request", action=action, says=says, method="POST", path="/messages/send"
    )


def _call(name: str, method: str, path: str, action: Action, says: str, schedule: Schedule = Schedule()) -> FaultKind:
    return FaultKind(name=name, point="request", action=action, says=says, method=method, path=path, schedule=schedule)


def _event(name: str, action: Action, says: str, *, burst: int | None = 1) -> FaultKind:
    return FaultKind(
        name=name,
        point="event",
        action=action,
        says=says,
        event="message.created",
        schedule=Schedule(burst=burst),
    )


def _health(name: str, action: Action, says: str) -> FaultKind:
    return FaultKind(
        name=f"health-{name}",
        point="request",
        action=action,
        says=says,
        method="GET",
        path="/health*",
        schedule=_ALWAYS,
    )


_ROWS: tuple[FaultKind, ...] = (
    # any request, for what has no name of its own: method=, path= and status= say which
    _call("answer", "*", "*", _error(500), "answers an error instead of carrying the request out"),
    _call("answer-after-commit", "*", "*", _error(500, commit=True), "carries the request out, then answers an error"),
    _call("lost-response", "*", "*", Reset(commit=True), "carries the request out, then resets the socket"),
    _call("reset", "*", "*", Reset(), "resets the socket instead of carrying the request out"),
    _call("delay", "*", "*", Delay(1.0), "waits before it carries the request out"),
    # durable messages
    _send("429", _error(429, "RATE_LIMITED", retryAfter=1), "too many requests, with retryAfter in the body"),
    _send("503", _error(503), "unavailable"),
    _send("500", _error(500), "an error, nothing stored"),
    _send("500-after-commit", _error(500, commit=True), "stored, then an error"),
    _send("lost-response", Reset(commit=True), "stored, then the socket is reset"),
    _send("slow-after-commit", Delay(31.0, commit=True), "stored, answered after the client's time limit"),
    _send("400", _error(400), "refused for good"),
    _send("409", _error(409, "MESSAGE_ID_EXISTS"), "the id belongs to another message"),
    _send("not-json", Answer(200, "<html>done</html>", commit=True), "stored, answered with HTML"),
    _send("redirect", Answer(302, None, {"location": "/elsewhere"}), "points elsewhere"),
    # connecting
    _call("me-401", "GET", "/agents/me", _error(401), "the key is unknown", _ALWAYS),
    _call("me-403", "GET", "/agents/me", _error(403), "the key is revoked", _ALWAYS),
    _call("me-429", "GET", "/agents/me", _error(429), "too many requests for the own identity"),
    _call("me-503", "GET", "/agents/me", _error(503), "the own identity is unavailable"),
    _call("conversations-503", "GET", "/conversations", _error(503), "the list of conversations is unavailable"),
    _call("runtime-status-500", "POST", "/runtime/status", _error(500), "the heartbeat fails", _ALWAYS),
    # live surfaces
    _call("typing-500", "POST", "/typing", _error(500), "typing marks fail", _ALWAYS),
    _call("streaming-500", "POST", "/streaming", _error(500), "node writes and deletes fail", _ALWAYS),
    _call("turn-500", "POST", "/runtime/turn", _error(500), "turn states fail", _ALWAYS),
    _call("read-500", "POST", "/conversations/*/read", _error(500), "read marks fail", _ALWAYS),
    _call("signal-500", "POST", "/runtime/signal/consume", _error(500), "signals cannot be taken", _ALWAYS),
    _call("disposition-500", "PATCH", "/conversations/*/disposition", _error(500), "queued messages stay queued"),
    # registration
    _call("registration-poll-500", "GET", "/agents/status/*", _error(500), "the poll fails"),
    _call("registration-ack-500", "POST", "/agents/status/*/ack", _error(500), "the acknowledgement fails"),
    _call("registration-ack-lost", "POST", "/agents/status/*/ack", Reset(commit=True), "acknowledged, answer lost"),
    _call(
        "registration-other-agent",
        "GET",
        "/agents/status/*",
        Rename(body={"agentId": "agent_somebody_else"}),
        "approves another agent than the one asked for",
        _ALWAYS,
    ),
    # identity
    _health("slow", Delay(11.0), "the identity comes after the client's time limit"),
    _health("wrong-header", Rename(headers={"x-canon-environment-id": _OTHER_ENVIRONMENT}), "another id in the header"),
    _health("wrong-environment", Rename(body={"environmentId": _OTHER_ENVIRONMENT}), "another id in the body"),
    _health("wrong-project", Rename(body={"projectId": "canonmail-other"}), "another project in the body"),
    _health("no-header", Rename(headers={"x-canon-environment-id": None}), "no identity header"),
    _health("not-json", Answer(200, "<html>ok</html>"), "a page instead of an identity"),
    _health("degraded", Rename(status=503), "unwell, but the right one: has to pass"),
    # the stream as a whole
    FaultKind(name="stream-401", point="stream", action=_error(401), says="the key is unknown to the stream"),
    FaultKind(name="stream-503", point="stream", action=_error(503), says="the stream is unavailable"),
    FaultKind(name="stream-silent", point="stream", action=Mute(), says="accepted, then not one byte"),
    FaultKind(name="stream-end-at-once", point="stream", action=EndStream(), says="accepted and finished at once"),
    _event("stream-drop", DropStream("before"), "resets the socket before the event"),
    _event("stream-drop-mid-frame", DropStream("middle"), "resets the socket in the middle of the event"),
    _event("stream-drop-after", DropStream("after"), "resets the socket right after the event"),
    _event("stream-end", EndStream(), "finishes the response before the event"),
    # single events
    _event("event-duplicate", Reshape("duplicate"), "the same event twice, with the same id"),
    _event("event-duplicate-new-id", Reshape("duplicate-new-id"), "the same message twice, with two event ids"),
    _event("event-swap", Reshape("swap"), "written after the event that follows it"),
    _event("event-no-id", Reshape("no-id"), "without id"),
    _event("event-no-name", Reshape("no-name"), "without event name, then again as it should be"),
    _event("event-crlf-split", Reshape("crlf-split"), "CR LF line ends, every pair cut over two chunks"),
    _event("event-bytewise", Reshape("bytewise"), "one byte a chunk"),
    _event("event-multi-line", Reshape("multi-line"), "the payload over several data lines"),
    _event("event-not-json", Reshape("not-json"), "preceded by the same event with a broken payload"),
    _event("event-unknown-name", Reshape("unknown-name"), "preceded by an event nobody knows"),
    _event("event-no-verdict", Reshape("no-verdict"), "without turnDispatch, as an old server", burst=None),
    _event("event-record-only", Reshape("record-only"), "with the verdict record_only", burst=None),
    _event("event-other-verdict", Reshape("other-verdict"), "with a verdict from the future", burst=None),
    _event("event-run-turn", Reshape("run-turn"), "with the verdict run_turn, whatever the message says", burst=None),
)

KINDS: Final[Mapping[str, FaultKind]] = {row.name: row for row in _ROWS}
"""Every fault by name."""
