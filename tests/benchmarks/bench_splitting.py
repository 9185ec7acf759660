"""How fast answers are cut into parts, beside ``str.encode`` on the same text.

Run ``python -m tests.benchmarks.bench_splitting``. The first table has a line for each kind of text of about 1 MB: the
time of both, and the median of interleaved pairs with its range. The second shows that the time for a byte does not
grow with the text.

Two promises: the splitter takes at most twenty times as long as ``str.encode`` on mixed text, and eight times the text
takes about eight times the time. The exit status is 1 when one is broken. The other lines are there to be seen: text
without any separator asks about clusters at each cut, flags in a row are the worst that people write.
"""

from __future__ import annotations

import hashlib
import platform
import statistics
import sys
import time
from collections.abc import Callable

from canon_ops.wire.splitting import PART_BYTES, byte_length, split

PAIRS = 15
MOST_TIMES = 20.0  # of str.encode, on mixed text
MOST_GROWTH = 4.0  # of the time for a byte, for eight times the text; a quadratic cost would show as 8

MIXED = "The quick brown שועל קפץ מעל הכלב 🙂👨\u200d👩\u200d👧 lazily, e\u0301 fois. "
KINDS = {
    "mixed": MIXED * 14_000,
    "mixed, no spaces": MIXED.replace(" ", "") * 15_000,
    "flags": "🇮🇱" * 125_000,
}


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def pairs(text: str) -> list[tuple[float, float]]:
    """Seconds of encode and split, interleaved."""
    split(text)  # warm-up
    return [(seconds(text.encode), seconds(lambda: split(text))) for _ in range(PAIRS)]


def median_s(text: str, rounds: int) -> float:
    return statistics.median(seconds(lambda: split(text)) for _ in range(rounds))


def main() -> int:
    """Print both tables; 1 when a promise is broken."""
    print(f"str.encode of Python {platform.python_version()}, parts of {PART_BYTES} bytes, {PAIRS} interleaved pairs")
    broken = False
    for kind, text in KINDS.items():
        measured = pairs(text)
        ratios = sorted(cut / peer for peer, cut in measured)
        ratio = statistics.median(ratios)
        broken |= kind == "mixed" and ratio > MOST_TIMES
        speed = byte_length(text) / statistics.median(cut for _, cut in measured) / 1e6
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        print(
            f"{kind:17} {byte_length(text):>9,} bytes {digest}  {speed:7.1f} MB/s  "
            f"{ratio:6.1f}x ({ratios[0]:.1f}-{ratios[-1]:.1f})"
        )
    for kind, text in KINDS.items():
        long = text * 8
        small_s, long_s = median_s(text, PAIRS), median_s(long, 5)
        growth = long_s / small_s / 8
        broken |= growth > MOST_GROWTH
        print(f"{kind:17} eight times the text: {growth:.2f}x the time for a byte")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
