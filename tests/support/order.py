"""The order in which a run over several workers takes its tests: what starts programs first, evenly dealt out.

pytest-xdist gives each worker one stretch of the list and lets whoever is done take from the end of another's. So every
stretch begins with its share of the acceptance modules, whole, because their gateways are the module's, and ends with
tests of a moment, which is what is worth taking: no worker is left alone with a gateway at the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["dealt_out"]

Item = TypeVar("Item")


def dealt_out(
    items: Sequence[Item], hands: int, *, module: Callable[[Item], str], is_heavy: Callable[[str], bool]
) -> list[Item]:
    """The same items in another order, in which each of ``hands`` equal stretches begins with heavy modules.

    Items of a module stay together and in order, but where a stretch ends in the middle of a light one.
    """
    heavy: list[list[Item]] = [[] for _ in range(hands)]
    light: list[Item] = []
    turns = itertools.cycle(heavy)
    for name, group in itertools.groupby(items, key=module):
        if is_heavy(name):
            next(turns).extend(group)
        else:
            light.extend(group)
    rest, dealt = iter(light), list[Item]()
    for number, share in enumerate(heavy, start=1):
        end = len(items) * number // hands
        dealt += share
        dealt += itertools.islice(rest, max(0, end - len(dealt)))
    return [*dealt, *rest]
