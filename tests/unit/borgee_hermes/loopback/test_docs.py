"""The page about the Borgee sandbox names everything that there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from borgee_hermes.loopback.admin import commands, views
from borgee_hermes.loopback.conditions import CONDITIONS
from borgee_hermes.loopback.fault_kinds import KINDS
from tests.support.borgee_boxes import borgee_box

pytestmark = pytest.mark.checkout


@pytest.fixture
def page() -> str:
    return Path(__file__).resolve().parents[4].joinpath("docs", "sandbox-borgee.md").read_text(encoding="utf-8")


def test_every_fault_stands_on_the_page_with_its_sentence(page: str) -> None:
    """In the table's order."""
    rows = [f"| `{name}` | {kind.says} |" for name, kind in KINDS.items()]

    assert "\n".join(rows) in page


def test_every_verb_and_every_condition_stands_on_the_page(page: str) -> None:
    """By the name under which it is called."""
    with borgee_box() as box:
        verbs = [*commands(box.human), *views(box.engine, box.human)]

    assert [name for name in verbs if f"`{name}`" not in page] == []
    assert [name for name in CONDITIONS if name not in page] == []
