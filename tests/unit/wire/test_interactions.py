"""What Canon says of a request, whatever it is that it says."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.wire.interactions import ApprovalAnswer, ApprovalReceipt, ApprovalWord, CardReceipt, RequestReceipt

NO_TIME: list[Any] = [
    None, True, "1790000000000", [], {}, float("nan"), float("inf"), 10**400, -(10**400), 1e300, 8.65e15, -8.65e15,
]  # fmt: skip
RECEIPTS = [ApprovalAnswer, ApprovalReceipt, CardReceipt, RequestReceipt]


@pytest.mark.parametrize("kind", RECEIPTS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("value", NO_TIME, ids=lambda value: repr(value)[:16])
def test_what_is_no_time_is_not_said(kind: Any, value: Any) -> None:
    """D50: a strange expiry reads as none, and nothing raises: the answer beside it still counts."""
    read = kind.parse({"status": "allow", "respondedBy": "u", "responseUserId": "u", "expiresAt": value})

    assert read.expires_at_ms is None
    assert getattr(read, "word", ApprovalWord.ALLOW) is ApprovalWord.ALLOW


@pytest.mark.parametrize("value", [0, 123, 1_790_000_000_000, 1_790_000_000_000.5, -5, 8_640_000_000_000_000])
@pytest.mark.parametrize("kind", RECEIPTS, ids=lambda kind: kind.__name__)
def test_a_time_is_read_as_it_is(kind: Any, value: float) -> None:
    """R10.14, S10.22: whatever Canon says of an expiry is in force."""
    assert kind.parse({"expiresAt": value}).expires_at_ms == value
