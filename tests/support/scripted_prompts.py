"""A person who answers a dialogue from a script: each answer names the option of the question it belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from canon_ops.operate.prompts import Choice, GoneBack, Question, Tell, Validate
from canon_ops.settings.secret import Secret

__all__ = ["BACK", "ScriptedPrompts"]

BACK = "<back>"


class ScriptedPrompts:
    """Answers in order; a question out of order fails the test.

    Args:
        script: pairs of option and answer. The answer None takes the default; a text that the question complains about
            is followed by the next answer for the same option. BACK goes to the question before.
    """

    def __init__(self, *script: tuple[str, str | bool | None]) -> None:
        self._script = list(script)
        self.asked: list[str] = []
        self.said: list[str] = []
        self.complaints: list[str] = []
        self.shown: list[str] = []

    def text(self, question: Question, *, default: str | None = None, validate: Validate | None = None) -> str:
        while True:
            answer = self._next(question)
            typed = default if answer is None else str(answer)
            assert typed is not None, f"{question} has no default"
            complaint = validate(typed) if validate else None
            if complaint is None:
                return typed
            self.complaints.append(complaint)

    def secret(self, question: Question, *, validate: Validate | None = None) -> Secret:
        return Secret(self.text(question, validate=validate))

    def choose(self, question: Question, choices: Sequence[Choice], *, default: str | None = None) -> str:
        answer = self._next(question)
        values = [choice.value for choice in choices]
        assert default is None or default in values
        chosen = default if answer is None else str(answer)
        assert chosen in values, f"{chosen} is not among {values}"
        return chosen

    def confirm(self, question: Question, *, default: bool) -> bool:
        answer = self._next(question)
        return default if answer is None else bool(answer)

    def note(self, text: str) -> None:
        self.said.append(text)

    @contextmanager
    def progress(self, text: str) -> Iterator[Tell]:
        yield self.shown.append

    def assert_finished(self) -> None:
        """Every answer was asked for."""
        assert self._script == []

    def _next(self, question: Question) -> str | bool | None:
        self.asked.append(question.text)
        assert self._script, f"nobody has an answer for {question}"
        option, answer = self._script.pop(0)
        assert option == question.option, f"the script answers {option}, asked was {question}"
        if answer == BACK:
            assert question.can_go_back, f"{question} offers no way back"
            raise GoneBack
        return answer
