"""Write, or check, the pictures of the README, and docs/approvals-on-screen.md: how ``approvals list``, ``show``,
``audit`` and ``verify`` look on a terminal, over a registry that is whole and over damaged ones.

The real program runs on a real pseudo-terminal of 80 and of 120 columns, over a registry that our own store wrote, with
invented ids and a clock that stands still. Run without arguments to write the page, with ``--check`` to fail when the
program draws something else.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import Final

from canon_hermes_plugin.approvals.entry import Decision
from canon_hermes_plugin.approvals.events import (
    Activate,
    Answer,
    ClaimConsume,
    ClaimWake,
    Decided,
    FinishConsume,
    FinishWake,
    Reserve,
    StillPending,
    TimedOut,
)
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.state.owner import Owner
from canon_ops.cli.manual.files import text_of
from canon_ops.runtime.clock import ManualClock
from scripts.screen_pictures import screen_pictures
from tests.support.terminal import Screen

ROOT = Path(__file__).resolve().parent.parent
REGISTRY = "detached-approvals.json"
HOME = "/srv/hermes/agents/ops"  # as long as the folder that it stands for
PAGE = "docs/approvals-on-screen.md"
WIDTHS = (80, 120)
ROWS = 60
OWNER = Owner("canon-sandbox", "agent_ledger")
BEGIN_MS: Final = 1_784_106_000_000  # 2026-07-15 09:00 UTC
FAR_MS: Final = 4_102_444_800_000  # 2100: what is open stays open whenever this runs
PAID, OPEN, LATE, HUNG = (
    "hermes-3f9ab2c41d7e60588121",
    "hermes-77c0d5e2946b1a3f0c4d",
    "hermes-a15e08b7d3f24c96e7b0",
    "hermes-c2d84f6019ab7e35d1f8",
)
INTRODUCTION = """\
# Approvals on the screen

What `canon-ops approvals` draws for a person, at 80 and at 120 columns; a pipe gets tab-separated lines, `--json` an
object. This page is made by `python -m scripts.pictures`, which runs the program on a terminal; `make check` compares.
"""


def main() -> int:
    texts = {PurePosixPath(PAGE): drawn(), **screen_pictures()}
    if "--check" not in sys.argv[1:]:
        for path, text in texts.items():
            (ROOT / path).write_text(text, encoding="utf-8")
        return 0
    other = [path for path, text in texts.items() if text_of(ROOT / path) != text]
    for path in other:
        print(f"out of date: {path}", file=sys.stderr)
    if other:
        print("The program draws something else. Run: make generate", file=sys.stderr)
    return int(bool(other))


def drawn() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for heading, harm, commands in CHAPTERS:
        with tempfile.TemporaryDirectory(prefix="pictures-", dir="/tmp") as folder:  # its length is drawn
            home = Path(folder)
            (home / ".hermes").mkdir()
            fill(home / ".canon" / REGISTRY)
            harm(home / ".canon" / REGISTRY)
            if heading:
                parts.append(heading)
            for words, code in commands:
                for columns in WIDTHS:
                    said = " ".join(("canon-ops", "approvals", *words))
                    screen = picture(home, ("approvals", *words), columns, code).replace(folder, HOME)
                    parts.append(f"## `{said}`, {columns} columns\n\n```text\n{screen}\n```\n")
    return "\n".join(parts)


def picture(home: Path, words: tuple[str, ...], columns: int, code: int) -> str:
    """The screen after a command that ends with ``code``."""
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "TZ": "UTC", "LANG": "C.UTF-8"}
    command = [sys.executable, "-m", "canon_ops", *words]
    with Screen(command, environ, columns=columns, rows=ROWS) as screen:
        if (ended := screen.finish(timeout_s=60)) != code:
            raise SystemExit(f"{' '.join(words)} ended with {ended}:\n{screen.text}")
        return screen.text


def leave(file: Path) -> None:
    """Nothing is wrong."""


def edit(file: Path) -> None:
    """Somebody turned the no of nobody into a yes, and cut the end of the trail off."""
    root = json.loads(file.read_bytes())
    root[LATE] |= {"status": "resolved", "decision": "allow", "respondedBy": "user_dana"}
    file.write_text(json.dumps(root, indent=2), encoding="utf-8")
    trail = file.with_name("detached-approvals.audit")
    trail.write_bytes(b"".join(trail.read_bytes().splitlines(keepends=True)[:-1]))


def spoil(file: Path) -> None:
    """One entry is no entry, and another is in a state that only a later version knows."""
    root = json.loads(file.read_bytes())
    root[LATE] = "see the ticket"
    root[OPEN]["status"] = "delegated"
    file.write_text(json.dumps(root, indent=2), encoding="utf-8")


def tear(file: Path) -> None:
    """The file ends in the middle."""
    file.write_bytes(file.read_bytes()[:700])


CHAPTERS: Final = (
    ("", leave, ((("list",), 0), (("show", HUNG), 0), (("audit", PAID), 0))),
    (
        "# After somebody edited registry and trail\n",
        edit,
        ((("audit",), 1),),
    ),
    (
        "# With entries that cannot be understood\n\nThey stay in the file as they are; everything else goes on.\n",
        spoil,
        ((("list",), 0), (("show", LATE), 1)),
    ),
    (
        "# With a registry that cannot be read\n\nNothing is written over; a gateway says the same, and asks nobody.\n",
        tear,
        ((("list",), 3), (("verify",), 1)),
    ),
)


def fill(file: Path) -> None:
    """A registry as a gateway leaves it: one decided, one open, one expired, one whose gateway was killed."""
    clock = ManualClock(BEGIN_MS)
    store = ApprovalStore(file, clock=clock, process="gateway 4127")

    def ask(approval_id: str, question: str, expires_at_ms: float) -> None:
        claim, room = f"create-{approval_id}", f"conv_{approval_id[-4:]}"
        store.apply_one(
            approval_id,
            Reserve(
                approval_id, room, claim, expires_at_ms, OWNER, question, "user_dana", "agent:canon", "gateway 4127"
            ),
        )
        clock._elapsed_s += 1
        store.apply_one(approval_id, Activate(claim, expires_at_ms, "user_dana"))
        clock._elapsed_s += 600

    def consume(approval_id: str, answer: Answer | None) -> None:
        store.apply_one(approval_id, ClaimConsume("consume", "gateway 4127"))
        clock._elapsed_s += 1
        if answer is not None:
            store.apply_one(approval_id, FinishConsume("consume", answer, wakes=True))

    ask(PAID, "Pay invoice 2041 of Acme Ltd, 1,250.00 EUR?", FAR_MS)
    consume(PAID, StillPending())
    ask(LATE, "Delete the staging database?", BEGIN_MS + 3_600_000)
    consume(PAID, Decided(Decision.ALLOW, "user_dana"))
    store.apply_one(PAID, ClaimWake("wake", "gateway 4127"))
    store.apply_one(PAID, FinishWake("wake", is_delivered=True))
    consume(LATE, TimedOut())
    ask(
        OPEN, "Publish release 3.2 to all customers, with the new price list, and tell the sales team about it?", FAR_MS
    )
    ask(HUNG, "Refund order 88213?", FAR_MS)
    consume(HUNG, None)


if __name__ == "__main__":
    sys.exit(main())
