"""How long a card is looked at, beside the published validator, a black box in a child of its own.

Run ``python -m tests.benchmarks.bench_cards``. Both run on the same interpreter, which has the published package and
nothing else; the time is the processor's and is taken inside the child, over cards that were just read from JSON, so
that no card is seen twice. Each line is one kind of cards: the median of interleaved pairs, and the range.

The goal is a fifth of the time over right cards. It is promised for short cards in ASCII; cards with much text in other
scripts, and forms, come to between four and five times, so for them a floor is held that a lost quick yes would break.
The exit status is 1 when a promise is broken. Two lines are there to be seen: cards with something wrong, where ours
looks twice, and cards near the limit, where both have to write the card as JSON.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
from collections.abc import Callable
from typing import Any

from tests.support.card_judges import PUBLISHED_VERSION, Judge, NoPython, judges
from tests.support.card_maker import CardMaker
from tests.support.environments import NotInstalled

PAIRS = 5
CARDS = 400
GOAL, FLOOR = 5.0, 3.0


def right(richness: float, *, is_plain: bool = False) -> list[Any]:
    """Cards of every kind."""
    return list(CardMaker(11, richness=richness, is_plain=is_plain).cards(CARDS))


def forms() -> list[Any]:
    """Cards that ask for much: actions with fields."""
    maker = CardMaker(12, richness=0.4)
    return [card for card in maker.cards(CARDS * 4) if '"fields"' in json.dumps(card)][:CARDS]


def wrong() -> list[Any]:
    """Cards with up to four things wrong, without those over which the published validator raises."""
    maker = CardMaker(13, richness=0.3)
    return [card for card in (maker.mutated() for _ in range(CARDS)) if is_unicode(card)]


def is_unicode(card: Any) -> bool:
    try:
        return bool(json.dumps(card, ensure_ascii=False).encode())
    except UnicodeEncodeError:
        return False


KINDS: dict[str, tuple[Callable[[], list[Any]], float]] = {  # how many times as fast at least; 0: only seen
    "short, ASCII": (lambda: right(0.25, is_plain=True), GOAL),
    "long, ASCII": (lambda: right(0.5, is_plain=True), FLOOR),
    "short, all scripts": (lambda: right(0.25), FLOOR),
    "long, all scripts": (lambda: right(0.5), FLOOR),
    "forms, all scripts": (forms, FLOOR),
    "something wrong": (wrong, 0.0),
    "near 32 KiB": (lambda: [CardMaker(seed).near_the_limit() for seed in range(100)], 0.0),
}


def pairs_of(cards: list[Any], ours: Judge, theirs: Judge, count: int) -> list[tuple[float, float]]:
    """Nanoseconds a card of both, taken in turns after a warm-up."""
    ours.time_ns(cards)
    theirs.time_ns(cards)
    return [(ours.time_ns(cards) / len(cards), theirs.time_ns(cards) / len(cards)) for _ in range(count)]


def compare(name: str, cards: list[Any], ours: Judge, theirs: Judge, least: float) -> float:
    """Print one line; how many times as fast, the median."""
    text = json.dumps(cards)
    pairs = pairs_of(cards, ours, theirs, PAIRS)
    ratios = sorted(published / own for own, published in pairs)
    size = sum(len(json.dumps(card, ensure_ascii=False).encode()) for card in cards) // len(cards)
    own, published = (statistics.median(column) / 1e3 for column in zip(*pairs, strict=True))
    print(
        f"{name:<20}{len(cards):>5} cards {size:>7,} bytes {hashlib.sha256(text.encode()).hexdigest()[:12]}"
        f"  ours {own:8.1f}  published {published:8.1f} us  {statistics.median(ratios):5.2f}x"
        f" ({ratios[0]:.2f}-{ratios[-1]:.2f}){f'  promised {least:.0f}x' if least else ''}"
    )
    return statistics.median(ratios)


def main() -> int:
    """Print the table; 1 when a promise is broken."""
    broken = []
    try:
        with judges() as (ours, theirs):
            python = ours.about()["python"]
            print(f"canon-hermes-plugin {PUBLISHED_VERSION}, both on Python {python}; {PAIRS} interleaved pairs")
            for name, (make, least) in KINDS.items():
                if compare(name, make(), ours, theirs, least) < least:
                    broken.append(name)
    except (NoPython, NotInstalled) as error:
        print(f"not measured: {error}")
        return 0
    print(f"BROKEN: {', '.join(broken)}" if broken else "kept")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
