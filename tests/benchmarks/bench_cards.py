"""How long a card is looked at, beside the published validator, a black box in a child of its own.

Run ``python -m tests.benchmarks.bench_cards``. Both run on the same interpreter, which has the published package and
nothing else; the time is the processor's and is taken inside the child, over cards that were just read from JSON, so
that no card is seen twice. Each line is one kind of cards: the median of interleaved pairs, and the range.

The promise: over right cards, as agents send them, ours takes at most a fifth of the time. The exit status is 1 when it
is broken. The other lines are there to be seen: cards with something wrong, where ours also tells everything, and
cards that are too large, where both have to write the card as JSON.
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
LEAST_TIMES = 5.0


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


KINDS: dict[str, tuple[Callable[[], list[Any]], bool]] = {
    "short, ASCII": (lambda: right(0.25, is_plain=True), True),
    "long, ASCII": (lambda: right(0.5, is_plain=True), True),
    "short, all scripts": (lambda: right(0.25), True),
    "long, all scripts": (lambda: right(0.5), True),
    "forms, all scripts": (forms, True),
    "something wrong": (wrong, False),
    "near 32 KiB": (lambda: [CardMaker(seed).near_the_limit() for seed in range(100)], False),
}


def compare(name: str, cards: list[Any], ours: Judge, theirs: Judge) -> list[tuple[float, float]]:
    """Print one line; nanoseconds a card of both, pair by pair."""
    text = json.dumps(cards)
    ours.time_ns(cards)  # warm-up
    theirs.time_ns(cards)
    pairs = [(ours.time_ns(cards) / len(cards), theirs.time_ns(cards) / len(cards)) for _ in range(PAIRS)]
    ratios = sorted(published / own for own, published in pairs)
    size = sum(len(json.dumps(card, ensure_ascii=False).encode()) for card in cards) // len(cards)
    own, published = (statistics.median(column) / 1e3 for column in zip(*pairs, strict=True))
    print(
        f"{name:<20}{len(cards):>5} cards {size:>7,} bytes {hashlib.sha256(text.encode()).hexdigest()[:12]}"
        f"  ours {own:8.1f}  published {published:8.1f} us  {statistics.median(ratios):5.2f}x"
        f" ({ratios[0]:.2f}-{ratios[-1]:.2f})"
    )
    return pairs


def main() -> int:
    """Print the table; 1 when the promise is broken."""
    total_ours, total_theirs = [0.0] * PAIRS, [0.0] * PAIRS
    try:
        with judges() as (ours, theirs):
            python = ours.about()["python"]
            print(f"canon-hermes-plugin {PUBLISHED_VERSION}, both on Python {python}; {PAIRS} interleaved pairs")
            for name, (make, is_promised) in KINDS.items():
                pairs = compare(name, make(), ours, theirs)
                for number, (own, published) in enumerate(pairs if is_promised else ()):
                    total_ours[number] += own
                    total_theirs[number] += published
    except (NoPython, NotInstalled) as error:
        print(f"not measured: {error}")
        return 0
    ratios = sorted(theirs / ours for ours, theirs in zip(total_ours, total_theirs, strict=True))
    ratio = statistics.median(ratios)
    print(f"right cards, all kinds alike: {ratio:.2f}x ({ratios[0]:.2f}-{ratios[-1]:.2f}), promised {LEAST_TIMES:.0f}x")
    return int(ratio < LEAST_TIMES)


if __name__ == "__main__":
    sys.exit(main())
