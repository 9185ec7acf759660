"""Showing the demo."""

from __future__ import annotations

import pytest

from canon_ops.cli.narrator import RecordNarrator, StoryTeller
from canon_ops.cli.session import Program, Session
from canon_ops.cli.streams import Streams
from canon_ops.demo.narration import StepReport

ANSWER = "Hello! Yes: a minute ago there was nothing here. Now I am a real agent."


def a_session(columns: int = 40) -> tuple[Session, object]:
    from tests.unit.cli.conftest import Paper

    environ = {"COLUMNS": str(columns)}
    out = Paper()
    return Session(Program("canon-ops"), [], environ, Streams(Paper(), out, Paper(), environ)), out


def tell_all(narrator: StoryTeller | RecordNarrator) -> None:
    narrator.begin(9, 11, "Watch the answer grow")
    words = ANSWER.split(" ")
    for count in range(1, len(words) + 1):
        narrator.grow(" ".join(words[:count]))
    narrator.tell("the agent wrote it")
    narrator.diff("-a: 1\n+a: 2\n")
    narrator.end(StepReport("answer", "Watch the answer grow", True, 1.25, "one durable message"))


def test_a_story_writes_the_answer_as_it_grows_and_wraps_it() -> None:
    """New words are appended to the line where they fit; sentences after it begin lines of their own."""
    session, out = a_session()

    tell_all(StoryTeller(session, session.streams.out))

    assert out.getvalue() == (  # type: ignore[attr-defined]
        " 9/11 Watch the answer grow\n"
        "      │ Hello! Yes: a minute ago there\n"
        "      │ was nothing here. Now I am a\n"
        "      │ real agent.\n"
        "      the agent wrote it\n"
        "      -a: 1\n"
        "      +a: 2\n"
        "      ✓ one durable message (1.2 s)\n"
    )


def test_an_answer_that_is_rewritten_begins_a_new_line() -> None:
    """What was shown before is not taken back, but it is not continued either."""
    session, out = a_session()
    teller = StoryTeller(session, session.streams.out)

    teller.grow("first thought")
    teller.grow("second")
    teller.tell("done")

    assert out.getvalue() == "      │ first thought\n      │ second\n      done\n"  # type: ignore[attr-defined]


def test_a_pipe_gets_a_record_for_everything() -> None:
    """Each preview holds the whole text so far; a step's record has its name, seconds, sentence and fix."""
    session, out = a_session()

    tell_all(RecordNarrator(session.streams.out))
    lines = out.getvalue().splitlines()  # type: ignore[attr-defined]

    assert lines[0] == "preview\tHello!"
    assert lines[14] == f"preview\t{ANSWER}"
    assert lines[-4:] == ["note\tthe agent wrote it", "-a: 1", "+a: 2", "ok\tanswer\t1.250\tone durable message\t"]


@pytest.mark.parametrize("silent", [True, False])
def test_quiet_beside_a_json_document_means_no_story(silent: bool) -> None:
    """The story on stderr can be silenced."""
    session, out = a_session()

    tell_all(StoryTeller(session, session.streams.out, silent=silent))

    assert (out.getvalue() == "") is silent  # type: ignore[attr-defined]
