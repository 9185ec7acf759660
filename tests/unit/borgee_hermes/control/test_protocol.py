"""One line each way; anything else is refused by name. Decisions B2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from borgee_hermes.control.protocol import (
    Answer,
    BadLine,
    Declined,
    Request,
    answer_line,
    ask_line,
    read_answer,
    read_request,
    refusal_line,
    socket_path,
)
from borgee_hermes.inbox.problems import RiskNotConfirmed


@given(st.sampled_from(["ping", "discard", "requeue"]), st.integers(), st.booleans())
def test_a_question_arrives_as_it_was_asked(op: str, seq: int, confirm: bool) -> None:
    """Any operation, number and word."""
    line = ask_line(Request(op, seq, confirm))

    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert read_request(line) == Request(op, seq, confirm)


@pytest.mark.parametrize("changed", [True, False])
def test_an_answer_arrives(changed: bool) -> None:
    """Whether the receipt has changed."""
    assert read_answer(answer_line(Answer(changed))) == Answer(changed)


def test_a_refusal_arrives_in_the_gateways_words() -> None:
    """The sentence and its cure."""
    with pytest.raises(Declined, match="risk confirmation") as caught:
        read_answer(refusal_line(RiskNotConfirmed(7)))

    assert "inbox requeue 7" in (caught.value.fix or "")


@given(
    st.one_of(
        st.binary(max_size=40),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        ).map(lambda value: json.dumps(value).encode()),
    )
)
def test_nonsense_is_refused_by_name(line: bytes) -> None:
    """Neither side falls over anything that comes."""
    with pytest.raises(BadLine):
        read_request(line)
    with pytest.raises(BadLine):
        read_answer(line)


@pytest.mark.parametrize(
    "change", [{"v": 2}, {"v": None}, {"op": "drop"}, {"ingest_seq": True}, {"ingest_seq": "1"}, {"confirm": 1}]
)
def test_what_is_almost_a_question_is_refused(change: dict[str, object]) -> None:
    """Another version, operation or type."""
    with pytest.raises(BadLine):
        read_request(json.dumps({"v": 1, "op": "discard", "ingest_seq": 1, "confirm": False} | change).encode())


def test_a_long_path_moves_to_the_runtime_folder() -> None:
    """A socket's address holds about a hundred bytes; two homes never share one."""
    runtime = Path("/run/user/1000")
    short, long, other = Path("/home/a"), Path("/" + "x" * 100), Path("/" + "y" * 100)

    assert socket_path(short, runtime) == short / "control.sock"
    assert socket_path(long, runtime).parent == runtime
    assert socket_path(long, runtime) != socket_path(other, runtime)
    assert len(bytes(socket_path(long, runtime))) < 100
