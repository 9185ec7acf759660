"""The gateway's log as records, however the text is cut and whatever becomes of the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_ops.files.atomic import NotAFile
from canon_ops.hermes.gateway_log import LogReader, LogRecord, follow, last_records

TEXT = """\
left over from before
2026-11-30 22:33:08,120 INFO gateway.run: Starting
2026-11-30 22:33:09,001 WARNING [s-1] gateway.platforms: It broke: a, b
Traceback (most recent call last):
  File "x.py", line 1

ValueError: no
2026-11-30 22:33:10 ERROR agent.x: Done: 1
"""
RECORDS = [
    LogRecord("", "", None, "", "left over from before"),
    LogRecord("2026-11-30 22:33:08,120", "INFO", None, "gateway.run", "Starting"),
    LogRecord(
        "2026-11-30 22:33:09,001", "WARNING", "s-1", "gateway.platforms",
        'It broke: a, b\nTraceback (most recent call last):\n  File "x.py", line 1\n\nValueError: no',
    ),
    LogRecord("2026-11-30 22:33:10", "ERROR", None, "agent.x", "Done: 1"),
]  # fmt: skip


def read(*pieces: str) -> list[LogRecord]:
    reader = LogReader()
    records = [record for piece in pieces for record in reader.feed(piece)]
    last = reader.flush()
    return [*records, *([last] if last else [])]


def test_a_traceback_belongs_to_its_record() -> None:
    """Lines without a head go to the record above; before the first one they stand alone."""
    assert read(TEXT) == RECORDS


@given(st.lists(st.integers(0, len(TEXT)), max_size=6))
def test_any_cut_gives_the_same_records(cuts: list[int]) -> None:
    """Where the text was cut on its way is seen nowhere."""
    edges = [0, *sorted(cuts), len(TEXT)]

    assert read(*(TEXT[start:end] for start, end in pairwise(edges))) == RECORDS


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """Nothing is lost but line ends, and nothing raises."""
    joined = "".join(record.message for record in read(text + "\n"))

    assert len(joined) <= len(text)


@pytest.mark.parametrize(("level", "kept"), [("DEBUG", 4), ("INFO", 3), ("WARNING", 2), ("ERROR", 1), ("CRITICAL", 0)])
def test_gravity(level: str, kept: int) -> None:
    """Text of no record counts only where everything does."""
    assert sum(record.is_at_least(level) for record in RECORDS) == kept


def test_the_last_of_those_that_are_wanted(tmp_path: Path) -> None:
    """Counted after the filter, and from the older file where the newer has too few."""
    log = tmp_path / "gateway.log"
    log.with_name("gateway.log.1").write_text("".join(f"2026-01-01 00:00:0{n} INFO a.b: old {n}\n" for n in range(5)))
    log.write_text(TEXT)

    records, end = last_records(log, 4, lambda record: record.level in ("INFO", "ERROR"))

    assert [record.message for record in records] == ["old 3", "old 4", "Starting", "Done: 1"]
    assert end == len(TEXT)


def test_a_log_that_is_not_there_has_no_records(tmp_path: Path) -> None:
    """And the reading begins at its beginning once it comes."""
    assert last_records(tmp_path / "gateway.log", 10, lambda _record: True) == ([], 0)


def test_a_pipe_in_its_place_is_refused(tmp_path: Path) -> None:
    """It would be waited for for ever."""
    os.mkfifo(tmp_path / "gateway.log")

    with pytest.raises(NotAFile):
        last_records(tmp_path / "gateway.log", 10, lambda _record: True)


def test_following(tmp_path: Path) -> None:
    """What is appended, a line that comes in two pieces, a file started anew, one that is gone for a while."""
    log = tmp_path / "gateway.log"
    log.write_text("2026-01-01 00:00:00 INFO a.b: before\n")
    start = log.stat().st_size
    happens: Iterator[Callable[[], object]] = iter([
        lambda: append(log, "2026-01-01 00:00:01 INFO a.b: one\n2026-01-01 00:00:02 INFO a.b: tw"),
        lambda: append(log, "o\n  more\n"),
        lambda: log.rename(tmp_path / "gateway.log.1"),
        lambda: append(log, "2026-01-01 00:00:03 INFO a.b: three\n"),
        lambda: log.write_text("2026-01-01 00:00:04 INFO a.b: 4\n"),
    ])  # fmt: skip

    records: Iterator[LogRecord] = follow(log, start, lambda: (next(happens)(), None)[1])

    assert [record.message for record in islice(records, 4)] == ["one", "two\n  more", "three", "4"]


def append(file: Path, text: str) -> None:
    with file.open("a") as stream:
        stream.write(text)
