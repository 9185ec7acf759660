"""The page of the first hour shows this program, and nothing of the machine that it was made on."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from canon_ops.cli.tree import leaves

PAGE = Path(__file__).resolve().parents[2] / "docs" / "first-hour.md"

pytestmark = pytest.mark.checkout


def test_the_page_goes_to_a_green_doctor() -> None:
    """Every command on it is one of ours or Hermes' own, the last report has no error, and the gateway is connected."""
    text = PAGE.read_text(encoding="utf-8")
    known = {" ".join(words) for words, _ in leaves()}

    typed = re.findall(r"^\$ canon-ops (\w+)(?: (\w+))?", text, re.MULTILINE)

    assert [first for first, second in typed if not {first, f"{first} {second}"} & known] == []
    assert [first for first, _ in typed] == ["install", "install", "sandbox", "setup", "doctor", "status"]
    assert "✗" not in text and "; connected" in text


def test_the_page_tells_nothing_of_its_machine() -> None:
    """No folder of the one who made it, no key, no token."""
    text = PAGE.read_text(encoding="utf-8")

    own = {str(Path(place).resolve()) for place in (tempfile.gettempdir(), Path.home(), Path(__file__).parents[2])}
    assert [place for place in own if place in text] == []
    assert re.findall(r"agk_live_sandbox_[0-9a-f]|X-Sandbox-Token: \w|admin_token +\w", text) == []
