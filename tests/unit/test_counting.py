"""Numbers of things."""

from __future__ import annotations

import pytest

from canon_ops.counting import counted


@pytest.mark.parametrize(
    ("number", "many", "said"),
    [(0, None, "0 approvals"), (1, None, "1 approval"), (2, None, "2 approvals"), (1_200, "entries", "1,200 entries")],
)
def test_a_noun_fits_its_number(number: int, many: str | None, said: str) -> None:
    assert counted(number, "approval", many) == said
