"""The table of ``make bench-peers``: what is counted, who is ahead, what fails, what stays visible."""

from __future__ import annotations

import subprocess

import pytest

from scripts import bench_peers, peer_table
from scripts.peer_table import Line, Missing, Setting, Verdict
from tests.benchmarks.peer_rows import SUBJECTS
from tests.support.environments import CHECKOUT, NotInstalled

pytestmark = pytest.mark.checkout

HERE = Setting("2026-01-31", "abc1234", 2, "3.11.7", 3)


def a_line(ours: tuple[float, ...], theirs: tuple[float, ...], **more: object) -> Line:
    settings: dict[str, object] = {"what": "reading", "peer": "peer 1.0", "unit": "ms", **more}
    return Line(ours=ours, theirs=theirs, **settings)  # type: ignore[arg-type]  # the words of each test


def test_the_ratio_is_that_of_the_pairs_and_above_one_is_ours() -> None:
    """A time is the better when it is shorter, a rate when it is higher; the median of pairs, not of sides (T8)."""
    times = a_line((10, 20, 1), (20, 30, 100))
    rates = a_line((30, 20, 10), (10, 10, 10), more_is_better=True)

    assert (times.ratios, times.ratio) == ((2.0, 1.5, 100.0), 2.0)
    assert (rates.ratios, rates.ratio) == ((3.0, 2.0, 1.0), 2.0)


@pytest.mark.parametrize(
    ("ours", "least", "verdict"),
    [
        ((5, 5, 5), None, Verdict.AHEAD),
        ((20, 20, 20), None, Verdict.BEHIND),
        ((5, 9, 20), None, Verdict.LEVEL),
        ((20, 20, 9), None, Verdict.LEVEL),
        ((5, 5, 5), 3.0, Verdict.BROKEN),
        ((5, 5, 5), 2.0, Verdict.AHEAD),
        ((11, 11, 11), 0.8, Verdict.BEHIND),
        ((20, 20, 5), 0.8, Verdict.BROKEN),
    ],
)
def test_the_verdict(ours: tuple[float, ...], least: float | None, verdict: Verdict) -> None:
    """Ahead and behind are what every pair says; a promise comes first, kept or not."""
    assert a_line(ours, (10, 10, 10), least=least).verdict is verdict


def test_only_a_broken_promise_fails() -> None:
    """Neither a lost line without a promise nor one that was not measured; one broken promise is enough."""
    lost, broken = a_line((20,), (10,)), a_line((20,), (10,), least=1.0)

    assert not peer_table.is_broken([lost, Missing("cards", "no Python 3.13")])
    assert peer_table.is_broken([lost, broken])


@pytest.mark.parametrize("page", [peer_table.console, peer_table.document])
def test_lost_lines_stay_and_are_named_again(page: object) -> None:
    """Each line is there with its numbers, verdict and note; the sentence below names those that we lose."""
    lines = [
        a_line((5,), (10,)),
        a_line((20,), (10,), what="writing", note="ours waits for the disk"),
        Missing("x", "y"),
    ]

    text = page(lines, HERE)  # type: ignore[operator]  # one of two functions

    for part in ("reading", "2.00 (2.00 to 2.00)", "0.50 (0.50 to 0.50)", "BEHIND", "not measured: y", HERE.sentence()):
        assert part in text
    assert "ours waits for the disk" in text
    assert "ahead: 1; behind: 1 (writing); not measured: x." in text


def test_numbers_have_the_digits_that_can_be_seen() -> None:
    """Three digits of what is small, all of what is large."""
    assert [peer_table.spread((value,)).split()[0] for value in (1.234, 12.34, 123.4, 12_345.6)] == [
        "1.23", "12.3", "123", "12,346"
    ]  # fmt: skip


def test_one_subject_that_cannot_be_measured_does_not_take_the_others_along() -> None:
    """What is not installable is told; what breaks is told too, and fails the run."""

    def none(rounds: int) -> list[Line]:
        raise NotInstalled("the index\ncannot be reached")

    def breaks(rounds: int) -> list[Line]:
        raise OSError("no")

    line = a_line((1,), (2,))

    lines, broken = bench_peers.measured({"a": none, "b": breaks, "c": lambda rounds: [line]}, 1)

    assert lines == [Missing("a", "cannot be reached"), Missing("b", "OSError"), line]
    assert broken == ["b"]


@pytest.mark.parametrize("words", [["--only", "nothing"], ["--only", "sse", "--write"], ["--rounds", "0"]])
def test_what_cannot_be_meant_is_refused(words: list[str]) -> None:
    """No such subject, a page of some of them, no rounds: before anything is measured."""
    with pytest.raises(SystemExit) as refused:
        bench_peers.main(words)

    assert refused.value.code == 2


@pytest.mark.parametrize(("theirs", "code"), [(20.0, 0), (5.0, 1)])
def test_the_exit_code_is_that_of_the_promises(
    theirs: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table is printed either way."""
    line = a_line((10,), (theirs,), least=1.0)
    monkeypatch.setattr(bench_peers, "SUBJECTS", {"one": lambda rounds: [line]})

    assert bench_peers.main(["--rounds", "1"]) == code
    assert "reading" in capsys.readouterr().out


def test_the_page_is_the_one_that_the_command_writes() -> None:
    """docs/speed.md has the head of today's document and a line for every number that belongs to it."""
    page = bench_peers.PAGE.read_text(encoding="utf-8")
    empty = peer_table.document([], HERE)

    assert page.partition("Measured on")[0] == empty.partition("Measured on")[0]
    assert f"| {' | '.join(peer_table.HEADING)} |" in page
    assert page.count("\n| ") > len(SUBJECTS) + 1


def test_the_target_chooses_and_writes() -> None:
    """``make bench-peers`` hands both over."""
    said = subprocess.run(
        ["make", "-n", "bench-peers", "BENCH=sse", "BENCH_ARGS=--rounds 2"],
        cwd=CHECKOUT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip

    assert '-m scripts.bench_peers --only "sse" --rounds 2' in said
