"""docs/adding-a-platform.md names places of the code, and they are there."""

from __future__ import annotations

import re

import pytest

from tests.support.environments import CHECKOUT

pytestmark = pytest.mark.checkout

PAGE = CHECKOUT / "docs" / "adding-a-platform.md"
ROWS = [line.split(" | ")[0] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
PLACES = [(names[0], tuple(names[1:])) for names in (re.findall(r"`([^`]+)`", row) for row in ROWS)]


@pytest.mark.parametrize(("file", "names"), PLACES, ids=[file for file, _names in PLACES])
def test_each_place_is_there(file: str, names: tuple[str, ...]) -> None:
    """The file exists, and each name beside it is a word in it."""
    text = (CHECKOUT / file).read_text()

    assert [name for name in names if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)] == []


def test_every_table_by_platforms_is_named() -> None:
    """Each module that asks ``row_of`` for a platform's row stands on the page, with its tables."""
    named = {file: names for file, names in PLACES}
    asked = {
        str(file.relative_to(CHECKOUT)): set(re.findall(r"\brow_of\((_[A-Z]+)", file.read_text()))
        for file in (CHECKOUT / "canon_ops").rglob("*.py")
    }

    assert any(asked.values())
    assert {
        file: tables - set(named.get(file, ())) for file, tables in asked.items() if tables - set(named.get(file, ()))
    } == {}
