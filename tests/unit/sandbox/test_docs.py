"""The page about the sandbox names everything that there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.sandbox.admin import commands, views
from canon_ops.sandbox.conditions import CONDITIONS
from canon_ops.sandbox.fault_kinds import KINDS
from tests.support.sandboxes import canon_box

pytestmark = pytest.mark.checkout


@pytest.fixture
def page() -> str:
    return Path(__file__).resolve().parents[3].joinpath("docs", "sandbox.md").read_text(encoding="utf-8")


def test_every_fault_stands_on_the_page_with_its_sentence(page: str) -> None:
    """In the table's order."""
    rows = [f"| `{name}` | {kind.says} |" for name, kind in KINDS.items()]

    assert "\n".join(rows) in page


def test_every_verb_and_every_condition_stands_on_the_page(page: str) -> None:
    """By the name under which it is called."""
    with canon_box() as box:
        verbs = [*commands(box.human), *views(box.engine, box.human)]

    assert [name for name in verbs if f"`{name}`" not in page] == []
    assert [name for name in CONDITIONS if name not in page] == []
