"""The sizes that ARCHITECTURE.md tells are those of the tree, and no module has outgrown its idea."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "adapter" / "canon_hermes_plugin"
ROW = re.compile(r"^\| (?:`(?P<room>\w+)`|its own floor) \| (?P<modules>\d+) \| (?P<lines>[\d,]+) \|", re.MULTILINE)
MOST_LINES = 500


def lines_of(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def test_the_rooms_of_the_canon_platform_are_as_large_as_is_said() -> None:
    """Each room is told, and within a fifth of what is said of it."""
    rooms = {"": PLUGIN} | {one.name: one for one in PLUGIN.iterdir() if one.joinpath("__init__.py").exists()}
    said = {
        row["room"] or "": (int(row["modules"]), int(row["lines"].replace(",", "")))
        for row in ROW.finditer(ROOT.joinpath("ARCHITECTURE.md").read_text(encoding="utf-8"))
    }
    files = {name: [*folder.glob("*.py")] for name, folder in rooms.items()}
    found = {name: (len(some), sum(map(lines_of, some))) for name, some in files.items()}

    assert said.keys() == found.keys()
    wrong = {
        name: (said[name], sizes)
        for name, sizes in found.items()
        if any(abs(told - real) > max(1, real / 5) for told, real in zip(said[name], sizes, strict=True))
    }
    assert wrong == {}


def test_no_module_of_the_canon_platform_is_too_large_to_read() -> None:
    """Style 2: at five hundred lines a module has a seam that nobody has looked for."""
    sizes = {str(file.relative_to(PLUGIN)): lines_of(file) for file in PLUGIN.rglob("*.py")}

    assert {name: size for name, size in sizes.items() if size > MOST_LINES} == {}
