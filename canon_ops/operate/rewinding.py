"""Going back in a dialogue: the questions before the one that is asked are answered again from memory.

A dialogue stays a plain function that asks one question after the other. When a person goes back, the front end raises
:class:`GoneBack`, the newest answer is forgotten, and the function runs again from its beginning; what was answered
before is given without asking, and nothing is told twice. A forgotten answer is the default of its question. So a
dialogue has to ask the same questions for the same answers, and what it does between two of them must be safe to
repeat.

Order: :meth:`Rewinding.lead` runs the dialogue, which asks through the same object. Trouble that shows between two
questions is asked about through :attr:`Rewinding.aside`, which remembers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from canon_ops.operate.prompts import Choice, GoneBack, Prompts, Question, Tell, Validate
from canon_ops.settings.secret import Secret

__all__ = ["Rewinding"]

T = TypeVar("T")


class Rewinding:
    """Prompts with a memory.

    Args:
        aside: the front end behind it, for questions that are no part of the dialogue's course.
    """

    def __init__(self, aside: Prompts) -> None:
        self.aside = aside
        self._given: list[tuple[Question, Any]] = []
        self._position = 0
        self._earlier: dict[str, Any] = {}  # by question: what was forgotten, to be offered again
        self._told: set[str] = set()

    @property
    def can_go_back(self) -> bool:
        """Whether there is a question before."""
        return bool(self._given)

    def reopen(self, option: str) -> None:
        """Forget what confirmed the newest answer for ``option``, so that going back asks for the answer itself."""
        while [question.option for question, _ in self._given[-2:]] == [option, option]:
            self._forget()

    def lead(self, dialogue: Callable[[], T]) -> T:
        """Run ``dialogue`` until it ends or raises; going back at the first question asks it again."""
        while True:
            self._position = 0
            try:
                return dialogue()
            except GoneBack:
                if self._given:
                    self._forget()

    def text(self, question: Question, *, default: str | None = None, validate: Validate | None = None) -> str:
        answer: str = self._answer(
            question,
            lambda asked, earlier: self.aside.text(
                asked, default=earlier if isinstance(earlier, str) and earlier else default, validate=validate
            ),
        )
        return answer

    def secret(self, question: Question, *, validate: Validate | None = None) -> Secret:
        answer: Secret = self._answer(question, lambda asked, _earlier: self.aside.secret(asked, validate=validate))
        return answer

    def choose(self, question: Question, choices: Sequence[Choice], *, default: str | None = None) -> str:
        values = [choice.value for choice in choices]
        answer: str = self._answer(
            question,
            lambda asked, earlier: self.aside.choose(asked, choices, default=earlier if earlier in values else default),
        )
        return answer

    def confirm(self, question: Question, *, default: bool) -> bool:
        answer: bool = self._answer(question, lambda asked, _earlier: self.aside.confirm(asked, default=default))
        return answer

    def note(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self.aside.note(text)

    @contextmanager
    def progress(self, text: str) -> Iterator[Tell]:
        if self._is_repeating:
            yield lambda _text: None
            return
        with self.aside.progress(text) as tell:
            yield tell

    def _forget(self) -> None:
        question, answer = self._given.pop()
        self._earlier[question.text] = answer

    @property
    def _is_repeating(self) -> bool:
        return self._position < len(self._given)

    def _answer(self, question: Question, ask: Callable[[Question, Any], Any]) -> Any:
        if not self._is_repeating:
            asked = replace(question, can_go_back=self.can_go_back)
            self._given.append((question, ask(asked, self._earlier.get(question.text))))
        self._position += 1
        return self._given[self._position - 1][1]
