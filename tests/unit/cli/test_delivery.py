"""The place of a problem: said once."""

from __future__ import annotations

import pytest

from canon_ops.cli.delivery import deliver
from canon_ops.cli.output import Problem, Result
from canon_ops.cli.session import Program, Session
from canon_ops.cli.streams import Streams
from canon_ops.errors import ExitCode
from tests.unit.cli.conftest import Paper

FILE = "/h/config.yaml"


def told(problem: Problem) -> str:
    err = Paper()
    session = Session(Program("canon-ops"), [], {}, Streams(Paper(), Paper(), err, {}))
    deliver(session, Result({}, (), ExitCode.FAILED, (problem,)))
    return err.getvalue()


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (f"It is not in {FILE}.", None),
        (f"{FILE} is a folder.", None),
        (f"Permission denied: {FILE}", None),
        (f"There is none ({FILE}); make one.", None),
        (f"See {FILE}:3.", 3),
    ],
)
def test_a_place_that_the_sentence_has_is_not_repeated(message: str, line: int | None) -> None:
    assert told(Problem("x", message, file=FILE, line=line)) == f"Error: {message}\n"


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("It is not there.", None),
        (f"{FILE}.damaged was left.", None),
        (f"{FILE}/deeper is there.", None),
        (f"/root{FILE} is there.", None),
        (f"{FILE} cannot be read.", 3),
        (f"{FILE}:31 is wrong.", 3),
        (f"{FILE}:3:2 is wrong.", 3),
    ],
)
def test_another_place_is_named(message: str, line: int | None) -> None:
    place = f"{FILE}:{line}" if line else FILE

    assert told(Problem("x", message, file=FILE, line=line)) == f"Error: {message}\n  at {place}\n"
