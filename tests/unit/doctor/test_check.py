"""A finding made of one of our errors."""

from __future__ import annotations

import pytest

from canon_ops.doctor.check import Status, from_error
from canon_ops.errors import OutsideError


@pytest.mark.parametrize(
    ("what", "message"),
    [("there is none", "There is none."), ("It is so.", "It is so."), ("ops is not there", "ops is not there.")],
)
def test_a_finding_from_an_error_is_a_sentence(what: str, message: str) -> None:
    """As the same error reads when a command ends with it."""
    assert from_error(Status.ERROR, OutsideError(what)).message == message
