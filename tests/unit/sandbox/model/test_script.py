"""What the model answers, decided from the words it is shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_ops.sandbox.model.completions import chunk_frames, whole_answer
from canon_ops.sandbox.model.script import Directive, Plan, Script, ToolCall, parse_directives, user_text


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def tool(text: str) -> dict[str, Any]:
    return {"role": "tool", "content": text}


CALLED: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": []}


@pytest.mark.parametrize(
    ("text", "directives"),
    [
        ("hello", []),
        ("[say hi]", [("say", "hi")]),
        ("[say a [b] c]", [("say", "a [b] c")]),
        ("[long 12] [slow 2]", [("long", "12"), ("slow", "2")]),
        ('[tool read {"a": [1, "]"]}][say done]', [("tool", 'read {"a": [1, "]"]}'), ("say", "done")]),
        ("[tool ls]", [("tool", "ls")]),
        ("[empty]", [("empty", "")]),
        ("[Dana] [say hi]", [("say", "hi")]),
        ("[say old] and later [say new]\n\nA note of the host.", [("say", "new")]),
        ("[said nothing] [sayhi]", []),
        ("[say never closed", [("say", "never closed")]),
        ("[tool read {broken]", [("tool", "read {broken")]),
    ],
)
def test_the_last_run_of_directives_counts(text: str, directives: list[tuple[str, str]]) -> None:
    """Whatever a host puts around the user's words, the adjacent brackets at the end of them decide."""
    assert parse_directives(text) == tuple(Directive(name, rest) for name, rest in directives)


@given(st.text(alphabet=st.sampled_from('[]{}" \nsaytoolhttpslow12x'), max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    """Nobody's words make the model fail."""
    assert isinstance(parse_directives(text), tuple)


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("hello", Plan(text="You said: hello")),
        ("[say hi]", Plan(text="hi")),
        ("[say a] [say b]", Plan(text="a\nb")),
        ("[long 3]", Plan(text="word1 word2 word3")),
        ("[slow 2] [say x]", Plan(text="x", spread_s=2.0)),
        ("[wait 0.5] [say x]", Plan(text="x", silent_s=0.5)),
        ("[http 429]", Plan(refuse=429)),
        ("[empty]", Plan()),
        ("[broken] [say x]", Plan(text="x", broken=True)),
        ("[tool read {}] [say x]", Plan(tools=(ToolCall("call_1_0", "read", "{}"),))),
        ("[say first] [tool ls]", Plan(text="first", tools=(ToolCall("call_1_1", "ls", "{}"),))),
        ("[slow 1] hm", Plan(text="You said: [slow 1] hm", spread_s=1.0)),
        ("[long many]", Plan(text="[long many] is not a directive: many is not a number")),
    ],
)
def test_a_text_decides_its_answer(text: str, plan: Plan) -> None:
    """One request, one plan."""
    assert Script().decide([user(text)], scripted=True, number=1) == plan


def test_what_follows_a_tool_waits_for_its_result() -> None:
    """Each round of tool results moves one stage on; beyond the last stage the result is repeated."""
    script = Script()
    text = "[tool a {}][tool b {}][say done]"
    history = [user(text)]

    first = script.decide(history, scripted=True, number=1)
    history += [CALLED, tool("1")]
    second = script.decide(history, scripted=True, number=2)
    history += [CALLED, tool("2")]
    third = script.decide(history, scripted=True, number=3)
    history += [CALLED, tool("3")]
    beyond = script.decide(history, scripted=True, number=4)

    assert [call.name for call in (*first.tools, *second.tools)] == ["a", "b"]
    assert (third.text, beyond.text) == ("done", "The tool said: 3")


def test_words_that_a_host_puts_between_begin_nothing() -> None:
    """What somebody says into a turn that goes on is no message of its own: the turn's own script goes on."""
    script = Script()
    said = [user("[tool ls][say the whole answer]"), CALLED, tool("a file")]
    between = user("[OUT-OF-BAND USER MESSAGE - delivered once]\n[say for Ben]\n[/OUT-OF-BAND USER MESSAGE]")

    assert script.decide([*said, between], scripted=True, number=2) == Plan(text="the whole answer")
    assert user_text([*said, between]) == "[tool ls][say the whole answer]"
    assert user_text([*said, user("[say next]")]) == "[say next]"


def test_parallel_results_are_one_round() -> None:
    """Several tool messages in a row answer one call."""
    plan = Script().decide([user("[tool a] [say done]"), CALLED, tool("1"), tool("2")], scripted=True, number=1)

    assert plan.text == "done"


def test_a_refusal_can_end() -> None:
    """The first two requests of this message fail, the third is answered."""
    script = Script()

    plans = [script.decide([user("[http 500 2] [say ok]")], scripted=True, number=number) for number in range(3)]

    assert [(plan.refuse, plan.text) for plan in plans] == [(500, "ok"), (500, "ok"), (None, "ok")]


def test_scripted_answers_are_given_in_order() -> None:
    """One a message; a repeated request gets the same one, a new message with the same words the next."""
    script = Script(["one", "[tool a] [say two]"])
    first = [user("hi")]
    second = [*first, {"role": "assistant", "content": "one"}, user("hi")]

    answers = [script.decide(first, scripted=True, number=1) for _ in range(2)]
    called = script.decide(second, scripted=True, number=3)
    done = script.decide([*second, CALLED, tool("r")], scripted=True, number=4)
    default = script.decide([*second, CALLED, tool("r"), user("hi")], scripted=True, number=5)

    assert [plan.text for plan in answers] == ["one", "one"]
    assert [call.name for call in called.tools] == ["a"]
    assert (done.text, default.text) == ("two", "You said: hi")


def test_answers_that_are_left_can_be_forgotten() -> None:
    """What was given stays given: a repeated request gets it again."""
    script = Script(["one", "two"])
    asked = [{"role": "user", "content": "first"}]
    first = script.decide(asked, scripted=True, number=1).text

    script.clear()
    script.add(["three"])
    again = script.decide(asked, scripted=True, number=2).text
    follow_up = [*asked, {"role": "assistant", "content": "one"}, {"role": "user", "content": "second"}]

    assert (first, again, script.decide(follow_up, scripted=True, number=3).text) == ("one", "one", "three")


def test_side_requests_take_no_scripted_answer() -> None:
    """A title request in between leaves the answer for the turn."""
    script = Script(["one"], default="title")

    title = script.decide([user("hi")], scripted=False, number=1)
    turn = script.decide([user("hi")], scripted=True, number=2)

    assert (title.text, turn.text) == ("title", "one")


def test_directives_of_the_user_come_first() -> None:
    """A scripted answer stays for a message without any."""
    script = Script(["one"])

    assert script.decide([user("[say mine]")], scripted=True, number=1).text == "mine"
    assert script.decide([user("hi")], scripted=True, number=2).text == "one"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}], "a\nb"),
        (None, ""),
        (5, ""),
    ],
)
def test_the_users_text_in_every_form(content: Any, text: str) -> None:
    """Parts that are no text are left out."""
    assert user_text([{"role": "system", "content": "s"}, user(content), CALLED]) == text


@given(st.text(max_size=80))
def test_words_make_the_text_again(text: str) -> None:
    """Nothing is lost when an answer streams word by word."""
    assert "".join(Plan(text=text).words()) == text


def test_a_stream_and_a_whole_answer_say_the_same() -> None:
    """Text, tool calls and the reason to stop."""
    plan = Plan(text="a b", tools=(ToolCall("c1", "read", '{"a": 1}'),))
    facts: dict[str, Any] = {"answer_id": "x", "model": "m", "created": 1}

    frames = b"".join(chunk_frames(plan, counts={"total_tokens": 3}, **facts)).decode()
    whole = whole_answer(plan, counts={"total_tokens": 3}, **facts)

    assert '"content":"a"' in frames
    assert '"content":" b"' in frames
    assert '"finish_reason":"tool_calls"' in frames
    assert '"choices":[],"usage":{"total_tokens":3}' in frames
    [choice] = whole["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("a b", "tool_calls")
    assert choice["message"]["tool_calls"][0]["function"] == {"name": "read", "arguments": '{"a": 1}'}
