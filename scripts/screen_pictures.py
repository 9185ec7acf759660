"""The pictures of the README: commands on a real terminal over a real home, with their colours, as SVG.

The home and its contents are invented; everything else is what the program draws.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import Final

from scripts.screen_svg import screen_svg
from tests.support.terminal import Run, Screen

__all__ = ["screen_pictures"]

COLUMNS: Final = 100
ROWS: Final = 60
HOME: Final = "/home/billing"  # as long as the folder that it stands for
FOLDER: Final = PurePosixPath("docs/pictures")

CONFIG: Final = """\
# Our agent for invoices. Ask Dana before you change anything here.
model:
  default: "sonnet"          # the cheap one is enough

plugins:
  enabled: [canon-hermes]
  disabled: [canon-hermes]   # while we moved the office

platforms:
  canon:
    enabled: true

streaming:
  enabled: true
  edit_interval: 0.1         # seconds between two previews of an answer
"""

# Picture -> what it shows, and its commands with the codes that they end with.
SESSIONS: Final[dict[str, tuple[str, tuple[tuple[str, int], ...]]]] = {
    "edit": (
        "A key is set: the difference is one line, and its comment stays",
        (("config set streaming.edit_interval 0.25 --diff", 0), ("config get streaming", 0)),
    ),
    "doctor": (
        "The doctor says what is wrong, and shows what mending it would change",
        (
            ("doctor --only config.parse --only plugin.enabled --only plugin.denied", 1),
            ("doctor --fix --dry-run --only plugin.denied", 1),
            ("explain plugin.denied", 0),
        ),
    ),
}


def screen_pictures() -> dict[PurePosixPath, str]:
    """Path below the checkout -> picture."""
    return {FOLDER / f"{name}.svg": _picture(*session) for name, session in SESSIONS.items()}


def _picture(title: str, commands: tuple[tuple[str, int], ...]) -> str:
    rows: list[list[Run]] = []
    with tempfile.TemporaryDirectory(prefix="", dir="/tmp") as folder:  # its length is drawn
        home = Path(folder)
        (home / ".hermes").mkdir()
        (home / ".hermes" / "config.yaml").write_text(CONFIG, encoding="utf-8")
        (home / ".hermes" / "config.yaml").chmod(0o600)
        for words, code in commands:
            rows += [*([[]] if rows else []), [Run("$ ", "green", True), Run(f"canon-ops {words}", "default", True)]]
            rows += _screen(home, words.split(), code)
    return screen_svg(rows, columns=COLUMNS, title=title)


def _screen(home: Path, words: list[str], code: int) -> list[list[Run]]:
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "TZ": "UTC", "LANG": "C.UTF-8"}
    with Screen([sys.executable, "-m", "canon_ops", *words], environ, columns=COLUMNS, rows=ROWS) as screen:
        if (ended := screen.finish(timeout_s=60)) != code:
            raise SystemExit(f"{' '.join(words)} ended with {ended}:\n{screen.text}")
        return [[run._replace(text=run.text.replace(str(home), HOME)) for run in row] for row in screen.rows]
