"""What is news between two looks at the registry."""

from __future__ import annotations

from typing import Any

from canon_hermes_plugin.approvals.entry import Entry
from canon_hermes_plugin.approvals.watching import Event, Watched, look

NOW = 1_790_000_000_000
MINUTE = 60_000


def entry(name: str = "a", **changes: Any) -> Entry:
    fields = {"approvalId": name, "conversationId": "c1", "status": "pending", "expiresAt": NOW + 60 * MINUTE}
    return Entry(fields | changes)


def news(watched: Watched, *entries: Entry, now_ms: float = NOW) -> tuple[Watched, list[tuple[str, str, str | None]]]:
    after, told = look(watched, {one.approval_id: one for one in entries}, now_ms=now_ms, within_ms=15 * MINUTE)
    return after, [(one.event.value, one.entry.approval_id, one.before) for one in told]


def test_the_first_look_tells_what_is_open() -> None:
    """L9: what is settled is no news; a decision that its agent has not heard is."""
    done = entry("b", status="expired", resolvedAt=NOW)
    owed = entry("c", status="resolved", decision="allow", wakeStatus="pending", resolvedAt=NOW)

    _, told = news(Watched(), entry("a"), done, owed)

    assert told == [("open", "a", None), ("open", "c", None)]


def test_each_change_is_told_once() -> None:
    """L9: a request, a change of state, a decision, its wake, the end; a second look at the same is silent."""
    watched, _ = news(Watched())
    steps = [
        entry(status="creating"),
        entry(),
        entry(status="resolved", decision="allow", wakeStatus="pending"),
        entry(status="resolved", decision="allow", wakeStatus="delivered"),
    ]
    told = []
    for step in steps:
        watched, first = news(watched, step)
        watched, second = news(watched, step)
        told += [*first, *second]
    _, gone = news(watched)

    assert told == [
        ("requested", "a", None),
        ("changed", "a", "creating"),
        ("changed", "a", "pending"),
        ("changed", "a", "resolved:allow:wake-pending"),
    ]
    assert gone == [("gone", "a", "resolved:allow:wake-delivered")]


def test_an_approval_that_nears_its_end_is_told_once_for_each_end() -> None:
    """L9: within the time, once; again when its expiry was moved; not when it is settled or past."""
    soon, moved = entry(expiresAt=NOW + 5 * MINUTE), entry(expiresAt=NOW + 7 * MINUTE)
    watched, far = news(Watched(), entry())
    watched, first = news(watched, soon)
    watched, second = news(watched, soon)
    watched, third = news(watched, moved)
    settled = entry(status="resolved", decision="deny", expiresAt=NOW + 9 * MINUTE)
    watched, fourth = news(watched, settled)
    _, past = news(Watched({}), entry(expiresAt=NOW - 1))

    expiring = [[one for one in told if one[0] == Event.EXPIRING] for told in (far, first, second, third, fourth, past)]
    assert expiring == [[], [("expiring", "a", "pending")], [], [("expiring", "a", "pending")], [], []]


def test_a_damaged_approval_is_not_gone() -> None:
    """L9: what can no longer be read is told so, once; mended it is compared with what it was; taken out it is gone."""
    watched, _ = news(Watched(), entry())
    read = {"now_ms": NOW, "within_ms": 15.0 * MINUTE}
    told = []
    for damaged in ({"a"}, {"a"}):
        watched, found = look(watched, {}, damaged=damaged, **read)
        told.append([(one.event, one.entry.approval_id, one.before) for one in found])
    mended, changed = news(watched, entry(status="consuming"))
    _, again = look(mended, {}, damaged={"a"}, **read)
    _, gone = news(watched)

    assert told == [[(Event.DAMAGED, "a", "pending")], []]
    assert changed == [("changed", "a", "pending")]
    assert [one.event for one in again] == [Event.DAMAGED]
    assert gone == [("gone", "a", "pending")]
