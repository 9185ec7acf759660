"""Write, or check, the files that are generated: completions, manual, reference and schemas from the command tree, and
the agent's page about cards from the validator's tables.

Run without arguments to write them, with ``--check`` to fail when one is out of date; which files they are is told by
:mod:`canon_ops.cli.manual.files`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from canon_ops.cli.completion.tables import REGENERATE
from canon_ops.cli.manual.files import differences, generated_files

ROOT = Path(__file__).resolve().parent.parent


def check() -> int:
    """Name what is out of date, and the command that mends it."""
    other, left_over = differences(ROOT)
    for path in other:
        print(f"out of date: {path}", file=sys.stderr)
    for path in left_over:
        print(f"not generated any more: {path}", file=sys.stderr)
    if other or left_over:
        print(f"What they are made from has moved. Run: {REGENERATE}", file=sys.stderr)
    return int(bool(other or left_over))


def write() -> int:
    """Write what is out of date, remove what is left over."""
    other, left_over = differences(ROOT)
    texts = generated_files()
    for path in other:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(texts[path], encoding="utf-8")
    for path in left_over:
        (ROOT / path).unlink()
    print(f"{len(other)} written, {len(left_over)} removed, {len(texts)} in all")
    return 0


if __name__ == "__main__":
    sys.exit(check() if "--check" in sys.argv[1:] else write())
