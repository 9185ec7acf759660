"""The order of a demo: steps, times, the first failure, and clearing away however it ends."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from canon_ops.demo.narration import StepReport
from canon_ops.demo.play import Played, play
from canon_ops.demo.stage import DemoOptions, Stage
from canon_ops.demo.steps import STEPS, DemoFailed, Step, _paced
from canon_ops.errors import ExitCode
from canon_ops.sandbox.model.script import parse_directives

ENVIRON: Mapping[str, str] = {"PATH": "/usr/bin"}


class Audience:
    """A narrator that remembers."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def begin(self, number: int, count: int, title: str) -> None:
        self.seen.append(f"{number}/{count} {title}")

    def tell(self, text: str) -> None:
        self.seen.append(text)

    def grow(self, text: str) -> None:
        self.seen.append(text)

    def diff(self, text: str) -> None:
        self.seen.append(text)

    def end(self, step: StepReport) -> None:
        self.seen.append(f"{'ok' if step.ok else 'failed'}: {step.detail}")


class Rehearsal:
    """Steps that only note what happens to them."""

    def __init__(self, failing: BaseException | None = None) -> None:
        self.failing = failing
        self.folder: Path | None = None
        self.given_back: list[str] = []
        self.audience = Audience()

    def first(self, stage: Stage) -> str:
        self.folder = stage.folder
        stage.undo.callback(self.given_back.append, "first")
        (stage.folder / "something").write_text("x")
        return "began"

    def second(self, stage: Stage) -> str:
        stage.undo.callback(self.given_back.append, "second")
        if self.failing is not None:
            raise self.failing
        stage.narrator.tell("a sentence")
        return "went on"

    def third(self, stage: Stage) -> str:
        return "ended"

    def play(self, options: DemoOptions | None = None) -> Played:
        steps = [Step("a", "First", self.first), Step("b", "Second", self.second), Step("c", "Third", self.third)]
        return play(options or DemoOptions(), ENVIRON, self.audience, steps=steps)


def test_steps_run_in_order_and_are_timed() -> None:
    """Each is announced, told and ended; nothing is left."""
    rehearsal = Rehearsal()

    played = rehearsal.play()

    assert rehearsal.audience.seen == [
        "1/3 First", "ok: began", "2/3 Second", "a sentence", "ok: went on", "3/3 Third", "ok: ended",
    ]  # fmt: skip
    assert [(step.name, step.ok) for step in played.report.steps] == [("a", True), ("b", True), ("c", True)]
    assert all(step.duration_s >= 0 for step in played.report.steps)
    assert (played.error, played.report.home, played.report.log) == (None, None, None)
    assert rehearsal.given_back == ["second", "first"]
    assert rehearsal.folder is not None
    assert not rehearsal.folder.exists()


def test_the_first_failure_ends_the_demo_and_everything_is_given_back() -> None:
    """The failing step carries the reason and the fix; later steps do not run."""
    rehearsal = Rehearsal(DemoFailed("It broke.", fix="mend it"))

    played = rehearsal.play()

    assert [(step.name, step.ok) for step in played.report.steps] == [("a", True), ("b", False)]
    assert (played.report.steps[1].detail, played.report.steps[1].fix) == ("It broke.", "mend it")
    assert played.error is not None
    assert played.error.exit_code is ExitCode.OUTSIDE
    assert rehearsal.given_back == ["second", "first"]
    assert rehearsal.folder is not None
    assert not rehearsal.folder.exists()


def test_an_error_that_points_into_the_removed_folder_says_how_to_keep_it() -> None:
    """A place that is gone when the sentence is read helps nobody."""

    class Pointing(Rehearsal):
        def second(self, stage: Stage) -> str:
            raise DemoFailed("It broke.", fix="read it", file=str(stage.log))

    removed, kept = Pointing().play(), Pointing().play(DemoOptions(keep=True))

    try:
        assert removed.error is not None
        assert kept.error is not None
        assert (removed.error.file, removed.error.fix) == (
            None, "run it again with --keep, and read the gateway's log",
        )  # fmt: skip
        assert (kept.error.file, kept.error.fix) == (str(kept.report.log), "read it")
    finally:
        shutil.rmtree(Path(str(kept.report.log)).parent)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), ZeroDivisionError()], ids=["ctrl-c", "a fault of ours"])
def test_everything_is_given_back_on_the_way_out(interruption: BaseException) -> None:
    """What is not ours to report passes through, after the clearing away."""
    rehearsal = Rehearsal(interruption)

    with pytest.raises(type(interruption)):
        rehearsal.play()

    assert rehearsal.given_back == ["second", "first"]
    assert rehearsal.folder is not None
    assert not rehearsal.folder.exists()


def test_keep_leaves_home_and_log() -> None:
    """They are named in the report; the rest is given back all the same."""
    rehearsal = Rehearsal()

    played = rehearsal.play(DemoOptions(keep=True))

    try:
        assert rehearsal.folder is not None
        assert (rehearsal.folder / "something").exists()
        assert played.report.home is not None
        assert played.report.home.is_relative_to(rehearsal.folder)
        assert played.report.log == rehearsal.folder / "gateway.log"
        assert rehearsal.given_back == ["second", "first"]
    finally:
        shutil.rmtree(rehearsal.folder or "")


def test_names_of_the_steps_are_told_apart() -> None:
    """Scripts read the names."""
    assert len({step.name for step in STEPS}) == len(STEPS)


@pytest.mark.parametrize("answer", ["Hello.", "With [brackets] in it.", "Two\nlines."])
def test_an_answer_is_spread_over_time_without_changing_its_words(answer: str) -> None:
    """What the model says stays what was asked for."""
    directives = {directive.name: directive.rest for directive in parse_directives(_paced(answer))}

    assert directives["say"] == answer
    assert float(directives["slow"]) > 0


@pytest.mark.parametrize("answer", ["[http 500]", "Unbalanced ] bracket", "[say a] [slow 1]"])
def test_an_answer_that_could_be_misread_is_left_alone(answer: str) -> None:
    """Directives of the caller's own are obeyed, and no text is torn."""
    assert _paced(answer) == answer
