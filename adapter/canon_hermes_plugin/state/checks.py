"""What the state file says to the doctor: is it whole, does anything wait that should not?

Looking never writes, and a gateway may have the file open meanwhile. This is loaded only where there is a file.

Source: decisions X4, X9.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from canon_hermes_plugin.inbox import cursors
from canon_hermes_plugin.inbox import store as inbox
from canon_hermes_plugin.inbox.cursors import GapKind
from canon_hermes_plugin.outbox import store as outbox
from canon_hermes_plugin.outbox.store import State
from canon_hermes_plugin.state.file import SCHEMA
from canon_hermes_plugin.state.place import state_path
from canon_ops.counting import counted
from canon_ops.doctor.check import Answer, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination
from canon_ops.durable import Snapshot, find_damage, read_once
from canon_ops.durable.problems import DurableError

__all__ = ["look_at_inbox", "look_at_outbox"]

LATE_S: Final = 600  # ours: a run may take that long, a message that waits for one may not
OWED_S: Final = 60  # ours: by then Canon has refused it a dozen times
GAPS_SHOWN: Final = 3


def look_at_inbox(examination: Examination) -> Answer:
    """``canon.inbox``."""
    path = state_path(examination.home.path)
    try:
        damage, waiting, missed = read_once(path, SCHEMA, _read_inbox)
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


def look_at_outbox(examination: Examination) -> Answer:
    """``canon.outbox``."""
    path = state_path(examination.home.path)
    try:
        postings = read_once(path, SCHEMA, outbox.all_postings)
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
                f"{counted(len(stuck), 'answer')} did not reach Canon; "
                f"number {first.number}: {first.error or first.state.value}.",
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
                f"{counted(len(owed), 'answer has', 'answers have')} waited for Canon since {since}: {why}.",
                Fix(examination.command("doctor --area net,gateway")),
                Place(str(path)),
                data,
            )
        )
    return tuple(found) or Finding(Status.OK, "Canon has every answer.", at=Place(str(path)), data=data)


def _read_inbox(snapshot: Snapshot) -> tuple[tuple[str, ...], list[inbox.Tally], list[cursors.Gap]]:
    return find_damage(snapshot), inbox.tally(snapshot), cursors.all_gaps(snapshot)


def _time(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1_000, UTC):%Y-%m-%d %H:%M} UTC"


_GAPS: Final = {
    GapKind.FIRST: "Messages are known since {at}, when this agent was first connected from here.",
    GapKind.NO_CURSOR: "Messages before {at} may have been missed: a connection broke before it had brought any event.",
    GapKind.EXPIRED: "Messages before {at} may have been missed: Canon no longer had what came after our cursor.",
}
