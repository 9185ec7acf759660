"""A person's work in the editor outlives whatever ends the command before it is written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from canon_ops.errors import CanonOpsError
from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.operate.change_config import ConfigPlan
from canon_ops.operate.config_in_editor import edit_in_editor
from canon_ops.operate.prompts import Unattended
from canon_ops.operate.writing import Writing, Written

WORK = "# an hour's work\na: 2\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HermesHome:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.yaml").write_text("a: 1\n")
    return resolve_home({"HOME": "/nonexistent"}, hermes_home=tmp_path / "home")


def write(file: Path) -> None:
    file.write_text(WORK)


@pytest.mark.parametrize(
    "trouble",
    [KeyboardInterrupt(), EOFError(), SystemExit(143), OSError("the terminal is gone"), CanonOpsError("no room")],
    ids=lambda trouble: type(trouble).__name__,
)
def test_whatever_ends_it_keeps_the_text_and_says_where(home: HermesHome, trouble: BaseException) -> None:
    """Ctrl-C and Ctrl-D at the question, a signal, a fault of ours: the copy is there, and its place is told."""
    said: list[str] = []

    def ended(_plan: ConfigPlan) -> Written:
        raise trouble

    with pytest.raises(type(trouble)) as caught:
        edit_in_editor(Writing(home, {}, "config edit"), write, Unattended(said.append), ended)

    told = "\n".join([*said, getattr(caught.value, "fix", None) or ""])
    (copy,) = re.findall(r"your text is kept: ([^\s)]+)", told, re.IGNORECASE)
    assert Path(copy).read_text() == WORK
    assert home.config_file.read_text() == "a: 1\n"


def test_a_text_that_nobody_touched_leaves_nothing_behind(home: HermesHome, tmp_path: Path) -> None:
    """The editor is closed again, the command is left: there is nothing to keep."""

    def left(_plan: ConfigPlan) -> Written:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        edit_in_editor(Writing(home, {}, "config edit"), lambda _file: None, Unattended(), left)

    assert list(tmp_path.glob("canon-ops-*")) == []


def test_a_text_that_was_written_leaves_no_copy(home: HermesHome, tmp_path: Path) -> None:
    """The work is in its file."""
    edit_in_editor(Writing(home, {}, "config edit"), write, Unattended(), lambda _plan: Written((home.config_file,)))

    assert list(tmp_path.glob("canon-ops-*")) == []
