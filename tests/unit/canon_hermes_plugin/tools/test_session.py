"""Who a tool's call is for: read from the host's session, and never from what a model wrote."""

from __future__ import annotations

import pytest

from canon_hermes_plugin.tools.session import HostSession, conversation_for, read_session

IN_TURN = HostSession("conv-1", "user-1", "Ann", "s-1", "key-1", "m-1")
OUTSIDE = HostSession()


def session_of(**values: str) -> HostSession:
    return read_session(lambda name: values.get(name.removeprefix("HERMES_SESSION_").lower(), ""))


def test_a_canon_turn() -> None:
    """S9.8: every value is trimmed; a blank one is none."""
    read = session_of(platform=" Canon ", chat_id=" conv-1 ", user_id="user-1", user_name=" ", id="s-1", key="k")

    assert read == HostSession("conv-1", "user-1", None, "s-1", "k", None)


@pytest.mark.parametrize(
    "values", [{"platform": "telegram", "chat_id": "conv-1", "user_id": "user-1"}, {"platform": "canon"}, {}]
)
def test_no_canon_turn(values: dict[str, str]) -> None:
    """S9.8: on another platform nobody is trusted, whatever else is set."""
    assert session_of(**values) == OUTSIDE


@pytest.mark.parametrize(
    ("target", "session", "home", "expected"),
    [
        pytest.param(None, IN_TURN, "home", "conv-1", id="turn"),
        pytest.param("canon:conv-1", IN_TURN, None, "conv-1", id="turn-named"),
        pytest.param(" canon: conv-2 ", OUTSIDE, "home", "conv-2", id="target"),
        pytest.param("conv-2", OUTSIDE, None, "conv-2", id="bare-target"),
        pytest.param(" ", OUTSIDE, "home", "home", id="home"),
    ],
)
def test_which_conversation(target: str | None, session: HostSession, home: str | None, expected: str) -> None:
    """R11.4: the turn's, else the named one, else the home channel."""
    assert conversation_for(target, session, home) == expected


@pytest.mark.parametrize(
    ("target", "session", "error"),
    [
        pytest.param("canon:conv-2", IN_TURN, PermissionError, id="foreign"),
        pytest.param("canon: ", OUTSIDE, ValueError, id="blank"),
        pytest.param(None, OUTSIDE, ValueError, id="nothing"),
    ],
)
def test_no_conversation(target: str | None, session: HostSession, error: type[Exception]) -> None:
    """R11.4, R11.23, D13: a turn reaches no other conversation, and nothing is guessed."""
    with pytest.raises(error):
        conversation_for(target, session, None)
