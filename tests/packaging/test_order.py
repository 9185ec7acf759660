"""How a run over several workers deals its tests out."""

from __future__ import annotations

import pytest

from tests.support.order import dealt_out

ITEMS = [
    f"{module}{number}"
    for module, count in (("A", 3), ("B", 1), ("C", 2), ("x", 7), ("y", 3))
    for number in range(count)
]


@pytest.mark.parametrize("hands", [2, 3, 4])
def test_each_stretch_begins_with_its_share_of_the_heavy(hands: int) -> None:
    """Nothing is lost or doubled, heavy modules stay whole, and every stretch has its part of them."""
    dealt = dealt_out(ITEMS, hands, module=lambda item: item[0], is_heavy=str.isupper)

    assert sorted(dealt) == sorted(ITEMS)
    assert [dealt.index(f"A{number}") - dealt.index("A0") for number in range(3)] == [0, 1, 2]
    starts = [dealt[len(dealt) * number // hands] for number in range(hands)]
    assert sum(item[0].isupper() for item in starts) == min(hands, 3)


def test_more_heavy_than_a_stretch_holds_is_dealt_all_the_same() -> None:
    """One module may be longer than a stretch."""
    items = [*[f"A{number}" for number in range(9)], "x0"]

    assert sorted(dealt_out(items, 3, module=lambda item: item[0], is_heavy=str.isupper)) == sorted(items)
