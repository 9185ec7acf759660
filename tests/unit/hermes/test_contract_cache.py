"""A description is kept while the host's files stay as they are, and not a moment longer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from canon_ops.hermes.contract import Described, Parameter
from canon_ops.hermes.contract_cache import described_or_kept

PATHS = ("gateway.session:key", "gateway.run:Runner.go", "agent.x:NAMES", "constants:HOME", "gateway.gone:it")
DESCRIBED = {
    PATHS[0]: Described(PATHS[0], True, parameters=(Parameter("name", "KEYWORD_ONLY", True),)),
    PATHS[1]: Described(PATHS[1], True, is_async=True, parameters=()),
    PATHS[2]: Described(PATHS[2], True, entries=("a", "b")),
    PATHS[3]: Described(PATHS[3], True),
    PATHS[4]: Described(PATHS[4], False, "No module named 'gateway.gone'"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("gateway/run.py", "gateway/deep/er.py", "agent/x.py", "constants.py", "other/far.py"):
        file = tmp_path / "site" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x = 1\n")
    return tmp_path / "site"


def ask(folder: Path, *, paths: tuple[str, ...] = PATHS) -> tuple[dict[str, Described], bool]:
    """The answer, and whether the host was asked for it."""
    asked = []

    def describe() -> dict[str, Described]:
        asked.append(True)
        return {path: DESCRIBED[path] for path in paths}

    environ = {"HOME": str(folder.parent)}
    found = described_or_kept(describe, paths, python=folder / "python", folder=folder, environ=environ)
    return found, bool(asked)


def test_the_second_question_is_answered_from_the_first(folder: Path) -> None:
    """The same values, types and all."""
    assert ask(folder) == (DESCRIBED, True)

    assert ask(folder) == (DESCRIBED, False)


@pytest.mark.parametrize(
    "change",
    [
        lambda site: (site / "gateway/run.py").write_text("x = 10\n"),
        lambda site: (site / "gateway/deep/er.py").unlink(),
        lambda site: (site / "agent/new.py").write_text(""),
        lambda site: (site / "constants.py").write_text("x = 2\n"),
    ],
    ids=["changed", "gone", "new", "module"],
)
def test_a_file_that_changed_has_the_host_asked_again(change: Callable[[Path], object], folder: Path) -> None:
    """Whatever becomes of a source file of the packages that are asked about."""
    ask(folder)

    change(folder)

    assert ask(folder)[1]
    assert not ask(folder)[1]


def test_other_packages_do_not_matter(folder: Path) -> None:
    """Neither do compiled files."""
    ask(folder)

    (folder / "other/far.py").write_text("y = 2\n")
    (folder / "gateway/__pycache__").mkdir()
    (folder / "gateway/__pycache__/run.py").write_text("no source")

    assert not ask(folder)[1]


def test_another_question_has_another_answer(folder: Path) -> None:
    """What is asked about is a part of the question."""
    ask(folder)

    assert ask(folder, paths=PATHS[:2]) == ({path: DESCRIBED[path] for path in PATHS[:2]}, True)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"state": 1}', '{"state": null, "described": []}', "\x00"])
def test_a_damaged_cache_is_none(text: str, folder: Path) -> None:
    """It is written anew."""
    ask(folder)
    (file,) = (folder.parent / ".cache" / "canon-ops" / "contract").iterdir()
    file.write_text(text)

    assert ask(folder) == (DESCRIBED, True)
    assert ask(folder) == (DESCRIBED, False)


def test_a_cache_that_cannot_be_written_is_no_failure(folder: Path) -> None:
    """A file where its folder would be."""
    (folder.parent / ".cache").write_text("")

    assert ask(folder) == (DESCRIBED, True)
    assert ask(folder) == (DESCRIBED, True)
