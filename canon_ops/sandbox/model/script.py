"""What the model answers, decided from the conversation it is shown. Pure.

A scenario lives in the words a test says, not in the server. The user's text may carry directives::

    [say TEXT]           answer TEXT
    [tool NAME {json}]   call a tool; what follows answers once its result is there
    [long N]             answer N numbered words
    [slow S]             spread the answer over S seconds
    [wait S]             be silent for S seconds before the first byte
    [http CODE N]        refuse the first N requests of this message with CODE (all of them without N)
    [empty]              answer nothing at all
    [broken]             drop the connection in the middle of the answer

Only the last run of adjacent directives counts, so notes that a host puts around the text do not matter. Without any,
the next scripted answer is given (it may hold directives too), else the default.
"""

from __future__ import annotations

import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["Directive", "Plan", "Script", "ToolCall", "parse_directives", "user_text"]

Json = Mapping[str, Any]

_NAMES = ("say", "tool", "long", "slow", "wait", "http", "empty", "broken")
_TOOL_HEAD = re.compile(r"\s+\S+?\s*(?=\{)")
_BETWEEN = "[OUT-OF-BAND USER MESSAGE"  # how such a message begins; older hosts put the words into the result
_START = re.compile(rf"\[({'|'.join(_NAMES)})(?=[\s\]])")


@dataclass(frozen=True, slots=True)
class Directive:
    """One bracket: its name and what stands behind it."""

    name: str
    rest: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool the model asks for; ``arguments`` is JSON text."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to answer to one request.

    Attributes:
        text: the answer; with ``tools`` it is what is said before the call.
        refuse: an HTTP status instead of an answer.
        silent_s: pause before the first byte.
        spread_s: how long the answer takes from its first word to its last.
        broken: the connection ends in the middle.
    """

    text: str = ""
    tools: tuple[ToolCall, ...] = ()
    refuse: int | None = None
    silent_s: float = 0.0
    spread_s: float = 0.0
    broken: bool = False

    def words(self) -> list[str]:
        """The text in the pieces in which it streams: joined again they are the text."""
        return re.findall(r"\s*\S+\s*\Z|\s*\S+", self.text) or ([self.text] if self.text else [])


def user_text(messages: Sequence[Json]) -> str:
    """The text of the last message of the user; parts of other kinds than text are left out."""
    for message in reversed(_without_words_between(messages)):
        if message.get("role") == "user":
            return _text(message.get("content"))
    return ""


def _without_words_between(messages: Sequence[Json]) -> list[Json]:
    """The conversation without what a host puts behind a tool's result, said into a turn that goes on."""
    return [one for one in messages if one.get("role") != "user" or not _text(one.get("content")).startswith(_BETWEEN)]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping) and "text" in part)
    return ""


def parse_directives(text: str) -> tuple[Directive, ...]:
    """The last run of adjacent directives in ``text``; empty when there is none."""
    run: list[Directive] = []
    position = 0
    while match := _START.search(text, position):
        if text[position : match.start()].strip():
            run = []  # something stands in between: a new run begins
        directive, position = _read(text, match)
        run.append(directive)
    return tuple(run)


def _read(text: str, match: re.Match[str]) -> tuple[Directive, int]:
    """One directive and where it ends: at its own bracket, not at one inside it or inside a tool call's JSON."""
    name, start = match.group(1), match.end()
    end = start
    if name == "tool" and (head := _TOOL_HEAD.match(text, start)):
        with suppress(ValueError):  # no JSON: the bracket is found by counting
            _, end = json.JSONDecoder().raw_decode(text, head.end())
    depth = 1
    while end < len(text):
        depth += {"[": 1, "]": -1}.get(text[end], 0)
        if depth == 0:
            break
        end += 1
    return Directive(name, text[start:end].strip()), min(end + 1, len(text))


@dataclass(slots=True)
class _Draft:
    said: list[str] = field(default_factory=list)
    plan: Plan = field(default_factory=Plan)


class Script:
    """The scripted answers that are left, and what has been asked so far.

    Args:
        answers: given in order, one a user message; each may hold directives, also tool calls and what follows them.
        default: what is said when nothing else decides; ``{text}`` stands for the user's text, ``{tool}`` for the
            newest tool result.
    """

    def __init__(self, answers: Iterable[str] = (), *, default: str = "You said: {text}") -> None:
        self._answers = deque(answers)
        self._default = default
        self._seen: Counter[tuple[int, str, int]] = Counter()
        self._given: dict[tuple[int, str], str | None] = {}

    def add(self, answers: Iterable[str]) -> None:
        """Put more answers behind those that are left."""
        self._answers.extend(answers)

    def clear(self) -> None:
        """Forget the answers that are left."""
        self._answers.clear()

    def decide(self, messages: Sequence[Json], *, scripted: bool, number: int) -> Plan:
        """Decide one answer.

        Args:
            messages: the request's conversation.
            scripted: whether this request may take a scripted answer; titles and other side requests may not.
            number: running number of the request, for tool call ids.
        """
        messages = _without_words_between(messages)
        text, results = user_text(messages), _tool_results(messages)
        place = (_place_of_user(messages), text)
        directives = parse_directives(text)
        if not directives and scripted:
            if place not in self._given:
                self._given[place] = self._answers.popleft() if self._answers else None
            script = self._given[place]
            directives = parse_directives(script or "")
            if script is not None and not directives:
                return Plan(text=script)
        if not directives:
            return Plan(text=_default(self._default, text, results))
        asked_before = self._seen[*place, len(results)]
        self._seen[*place, len(results)] += 1
        stages = _stages(directives)
        if len(results) >= len(stages):
            return Plan(text=f"The tool said: {results[-1]}")
        stage = stages[len(results)]
        plan = _carry_out(stage, asked_before=asked_before, number=number)
        silent = plan.refuse is not None or plan.tools or any(directive.name == "empty" for directive in stage)
        return plan if plan.text or silent else replace(plan, text=_default(self._default, text, results))


def _place_of_user(messages: Sequence[Json]) -> int:
    """Where the user spoke last: tells a repeated text from a repeated request."""
    return max((index for index, message in enumerate(messages) if message.get("role") == "user"), default=-1)


def _default(template: str, text: str, results: Sequence[str]) -> str:
    return template.replace("{text}", text).replace("{tool}", results[-1] if results else "")


def _tool_results(messages: Sequence[Json]) -> list[str]:
    """The results of the tool calls made since the user spoke, one a round of calls."""
    rounds: list[str] = []
    in_round = False
    for message in messages:
        role = message.get("role")
        if role == "user":
            rounds, in_round = [], False
        elif role == "tool":
            if in_round:
                rounds[-1] += "\n" + _text(message.get("content"))
            else:
                rounds.append(_text(message.get("content")))
            in_round = True
        else:
            in_round = False
    return rounds


def _stages(directives: Sequence[Directive]) -> list[tuple[Directive, ...]]:
    """Cut the run behind each tool call: what follows waits for the tool's result."""
    stages: list[tuple[Directive, ...]] = []
    current: list[Directive] = []
    for directive in directives:
        current.append(directive)
        if directive.name == "tool":
            stages.append(tuple(current))
            current = []
    return [*stages, tuple(current)] if current else stages


def _carry_out(stage: Sequence[Directive], *, asked_before: int, number: int) -> Plan:
    draft = _Draft()
    for index, directive in enumerate(stage):
        try:
            _apply(draft, directive, call_id=f"call_{number}_{index}", asked_before=asked_before)
        except ValueError:
            words = f"[{directive.name} {directive.rest}]"
            draft.said.append(f"{words} is not a directive: {directive.rest} is not a number")
    return replace(draft.plan, text="\n".join(draft.said))


def _apply(draft: _Draft, directive: Directive, *, call_id: str, asked_before: int) -> None:
    rest = directive.rest
    match directive.name:
        case "say":
            draft.said.append(rest)
        case "long":
            draft.said.append(" ".join(f"word{index}" for index in range(1, int(rest or 100) + 1)))
        case "tool":
            name, _, arguments = rest.partition(" ")
            call = ToolCall(call_id, name, arguments.strip() or "{}")
            draft.plan = replace(draft.plan, tools=(*draft.plan.tools, call))
        case "slow":
            draft.plan = replace(draft.plan, spread_s=float(rest or 1))
        case "wait":
            draft.plan = replace(draft.plan, silent_s=float(rest or 1))
        case "http":
            code, _, limit = rest.partition(" ")
            if not limit.strip() or asked_before < int(limit):
                draft.plan = replace(draft.plan, refuse=int(code or 500))
        case "broken":
            draft.plan = replace(draft.plan, broken=True)
