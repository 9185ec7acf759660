"""What the doctor asks about the inbox and the outbox: is the file whole, does anything wait that should not?

The command line adds these to its own checks; the room of the doctor knows no platform. They look and never write, and
a gateway may have the file open meanwhile.

Source: decisions X4, X9.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from canon_hermes_plugin.inbox import store as inbox
from canon_hermes_plugin.inbox.store import GapKind
from canon_hermes_plugin.outbox import store as outbox
from canon_hermes_plugin.outbox.store import State
from canon_hermes_plugin.state_file import SCHEMA, state_path
from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination
from canon_ops.durable import Snapshot, find_damage, read_once
from canon_ops.durable.problems import DurableError, NoDatabase

__all__ = ["CHECKS"]

LATE_S: Final = 600  # ours: a run may take that long, a message that waits for one may not
OWED_S: Final = 60  # ours: by then Canon has refused it a dozen times
GAPS_SHOWN: Final = 3


def _inbox(examination: Examination) -> Answer:
    path = state_path(examination.home.path)
    try:
        damage, waiting, missed = read_once(path, SCHEMA, _look_at_inbox)
    except NoDatabase:
        return Finding(Status.OK, "No Canon message has been recorded yet.", at=Place(str(path)))
    except DurableError as error:
        return from_error(Status.ERROR, error)
    if damage:
        fix = Fix(f"stop the gateway, then: sqlite3 {path} .recover > recovered.sql")
        told = f"{path} is damaged: {damage[0]}."
        return Finding(Status.ERROR, told, fix, Place(str(path)), {"damage": list(damage)})
    now_ms = examination.clock.now_ms()
    late = [each for each in waiting if now_ms - each.oldest_ms > LATE_S * 1_000]
    counts = {each.state.value: sum(one.count for one in waiting if one.state is each.state) for each in waiting}
    found: list[Finding] = []
    if late:
        oldest = min(late, key=lambda each: each.oldest_ms)
        found.append(
            Finding(
                Status.WARNING,
                f"{sum(each.count for each in late)} messages are not finished; "
                f"the oldest has been {oldest.state.value} since {_time(oldest.oldest_ms)}.",
                Fix(examination.home.command("gateway restart") + "   (a new gateway takes them up again)"),
                Place(str(path)),
                {"unfinished": counts},
            )
        )
    found += [
        Finding(
            Status.WARNING if gap.kind is not GapKind.FIRST else Status.INFO,
            _GAPS[gap.kind].format(at=_time(gap.at_ms)),
            at=Place(str(path)),
            data={"kind": gap.kind.value, "from": gap.from_event, "to": gap.to_event, "at_ms": gap.at_ms},
        )
        for gap in missed[-GAPS_SHOWN:]
        if gap.kind is not GapKind.FIRST or not missed[1:]
    ]
    if found:
        return tuple(found)
    told = "Every Canon message is finished or in work."
    return Finding(Status.OK, told, at=Place(str(path)), data={"unfinished": counts})


def _outbox(examination: Examination) -> Answer:
    path = state_path(examination.home.path)
    try:
        postings = read_once(path, SCHEMA, outbox.all_postings)
    except NoDatabase:
        return Finding(Status.OK, "Canon has every answer.", at=Place(str(path)))
    except DurableError as error:
        return from_error(Status.ERROR, error)
    now_ms = examination.clock.now_ms()
    stuck = [each for each in postings if each.state is not State.PENDING]
    owed = [each for each in postings if each.state is State.PENDING and now_ms - each.recorded_at_ms > OWED_S * 1_000]
    data = {state.value: sum(each.state is state for each in postings) for state in State}
    found: list[Finding] = []
    if stuck:
        first = stuck[0]
        found.append(
            Finding(
                Status.ERROR,
                f"{len(stuck)} answers did not reach Canon; number {first.number}: {first.error or first.state.value}.",
                Fix(examination.command(f"outbox show {first.number}") + "   (then outbox retry, or discard)"),
                Place(str(path)),
                data,
            )
        )
    if owed:
        since, why = _time(owed[0].recorded_at_ms), owed[0].error or "no gateway of its agent runs"
        found.append(
            Finding(
                Status.WARNING,
                f"{len(owed)} answers have been on their way to Canon since {since}: {why}.",
                Fix(examination.command("doctor --area net,gateway")),
                Place(str(path)),
                data,
            )
        )
    return tuple(found) or Finding(Status.OK, "Canon has every answer.", at=Place(str(path)), data=data)


def _look_at_inbox(snapshot: Snapshot) -> tuple[tuple[str, ...], list[inbox.Tally], list[inbox.Gap]]:
    return find_damage(snapshot), inbox.tally(snapshot), inbox.all_gaps(snapshot)


def _time(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1_000, UTC):%Y-%m-%d %H:%M} UTC"


_GAPS: Final = {
    GapKind.FIRST: "Messages are known since {at}, when this agent was first connected from here.",
    GapKind.NO_CURSOR: "Messages before {at} may have been missed: a connection broke before it had brought any event.",
    GapKind.EXPIRED: "Messages before {at} may have been missed: Canon no longer had what came after our cursor.",
}

CHECKS = (
    Check(
        "canon.inbox",
        "Inbox",
        "Is every Canon message that has arrived finished or in work?",
        _inbox,
        about=About(
            "A gateway was away for longer than Canon keeps events, hangs, or was killed and not started again.",
            "People wait for an answer that nobody is working on, or said something that nobody has seen.",
            "Start the gateway: what it had is taken up again. What was missed only its authors can repeat.",
            ("plugins/canon/state.sqlite3", "CANON_HOME_CHANNEL"),
        ),
    ),
    Check(
        "canon.outbox",
        "Outbox",
        "Has Canon every answer?",
        _outbox,
        about=About(
            "Canon refused an answer for good (the room is gone, the agent is no member), or cannot be reached.",
            "The answer exists and nobody has got it.",
            "Look at it with canon-ops outbox show, mend the reason, then canon-ops outbox retry; or discard it.",
            ("plugins/canon/state.sqlite3",),
        ),
    ),
)
