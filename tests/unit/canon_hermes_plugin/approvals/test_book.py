"""The registry as a value: what can be read, what is kept although it cannot, what is written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_hermes_plugin.approvals.book import Book, BookDamaged, Renderer, parse
from canon_hermes_plugin.approvals.entry import RETENTION_MS, Entry

NOW = RETENTION_MS * 10


def fields(approval_id: str = "a", **more: Any) -> dict[str, Any]:
    return {"approvalId": approval_id, "conversationId": "c", "status": "pending", "expiresAt": 1, **more}


def dumped(root: Any) -> bytes:
    return json.dumps(root).encode()


def as_written(root: Any) -> bytes:
    return json.dumps(root, indent=2, sort_keys=True).encode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "line 1"),
        (b"{not json", "line 1, column 2"),
        (b"[]", "no object"),
        (b'"a"', "no object"),
        (b"\xff{}", "byte 0"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": {"expiresAt": 1e999}}', "1e999"),
        (b'{"a": [-2.5e400]}', "-2.5e400"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": {"b": 1, "b": 2}}', "twice"),
        (b'{"a": ' + b"1" * 5000 + b"}", "digits"),
        (b"[" * 100_000, "deep"),
        (b"{}{}", "line 1"),
        (b'{"a": "cut of', "column 7: Unterminated string$"),
        (b'{"a": "tab\t"}', "column 11: Invalid control character$"),
    ],
)
def test_a_file_that_is_no_registry(data: bytes, words: str) -> None:
    """S10.3: the whole file fails, with the place."""
    with pytest.raises(BookDamaged, match=words):
        parse(data)


def test_no_file_is_an_empty_registry() -> None:
    """R10.4: nothing has been asked yet."""
    assert parse(None) == Book() == parse(b"{}")


@pytest.mark.parametrize(
    "value",
    [
        [],
        None,
        "pending",
        fields("b"),
        fields(conversationId=" "),
        fields(conversationId=7),
        fields(expiresAt=True),
        fields(expiresAt="soon"),
        fields(status="waiting"),
        fields(status=None),
        fields(status="resolved"),
        fields(status="resolved", decision="maybe"),
        fields(status="creating"),
        fields(status="creating", createClaimId="c", createClaimExpiresAt=None),
        fields(status="consuming", consumeClaimId="", consumeClaimExpiresAt=1),
        fields(status="resolved", decision="allow", wakeStatus="delivering"),
        fields(status="resolved", decision="allow", wakeStatus="asleep"),
        fields(summary=7),
        fields(receiptPending="yes"),
        fields(resolvedAt="late"),
        fields(consumeClaimId="half"),
    ],
)
def test_a_damaged_entry_hides_no_other(value: Any) -> None:
    """S10.4, A3: it fails closed, stays as it was, and the others live."""
    book = parse(dumped({"a": value, "z": fields("z")}))

    assert [entry.approval_id for entry in book] == ["z"]
    assert book.is_taken("a")
    assert set(book.reasons) == {"a"}
    assert json.loads(Renderer().data(book))["a"] == value


def test_a_state_of_a_newer_version_is_kept() -> None:
    """A3: what this version cannot act on it does not touch."""
    newer = fields(status="escalated", escalatedTo="u2")

    assert json.loads(Renderer().data(parse(dumped({"a": newer}))))["a"] == newer


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
entries = st.builds(
    lambda name, more: (name, {**more, **fields(name)}),
    st.text(min_size=1),
    st.dictionaries(st.text(min_size=1).map(lambda text: f"x{text}"), json_values, max_size=4),
)


@given(st.lists(entries, max_size=6).map(dict), st.dictionaries(st.text(), json_values, max_size=3))
def test_the_text_is_what_json_writes(good: dict[str, Any], other: dict[str, Any]) -> None:
    """R10.1: byte for byte the standard form, however the renderer came to it, and it reads back equal."""
    root = {**other, **good}
    renderer, book = Renderer(), parse(dumped(root))

    data = renderer.data(book)

    assert data == as_written(root)
    assert parse(data).entries.keys() == book.entries.keys()
    assert renderer.data(book) == data
    changed = book.with_entries({name: Entry(fields(name, summary="new")) for name in ("a", *list(good)[:1])})
    assert renderer.data(changed) == as_written({**changed.damaged, **{e.approval_id: e.fields for e in changed}})
    assert renderer.data(book) == data


def test_old_ends_go_and_nothing_else() -> None:
    """S10.9, R10.7: what is not terminal is kept, however old; so is a decision that the agent has not heard."""
    resolved = {"status": "resolved", "decision": "allow", "resolvedAt": 1}
    book = parse(
        dumped(
            {
                "old": fields("old", **resolved),
                "ancient": fields("ancient", status="orphaned"),
                "timeless": fields("timeless", status="expired", resolvedAt=NOW - RETENTION_MS),
                "pending": fields("pending"),
                "unheard": fields("unheard", **resolved, wakeStatus="pending"),
                "damaged": [],
            }
        )
    )

    kept, gone = book.without_old(NOW)

    assert {entry.approval_id for entry in gone} == {"old", "ancient"}
    assert set(kept.entries) == {"timeless", "pending", "unheard"}
    assert set(kept.damaged) == {"damaged"}
    assert kept.without_old(kept.next_old_ms(NOW)) == (kept, ())
