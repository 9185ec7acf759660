"""A person at Hermes' own prompts: answers in order, and remembers what was asked and shown."""

from __future__ import annotations

from typing import Any

from canon_ops.operate.hermes_prompts import HostPrompts

__all__ = ["Screen"]


class Screen:
    """Its answers come from the test; ``KeyboardInterrupt`` among them is Ctrl-C.

    Attributes:
        asked: the questions, in order; one whose answer stays hidden says so.
        told: what Hermes showed, with its tone: info, success or error.
    """

    def __init__(self, *answers: Any) -> None:
        self.asked: list[str] = []
        self.told: list[tuple[str, str]] = []
        self._answers = list(answers)

    def prompts(self) -> HostPrompts:
        """The host's side of the dialogue."""
        return HostPrompts(
            line=self._line,
            choose=self._choose,
            confirm=lambda question, default: bool(self._next(question)),
            info=lambda text: self.told.append(("info", text)),
            success=lambda text: self.told.append(("success", text)),
            error=lambda text: self.told.append(("error", text)),
        )

    def _next(self, question: str) -> Any:
        self.asked.append(question)
        answer = self._answers.pop(0)
        if answer is KeyboardInterrupt:
            raise SystemExit(1)  # what Hermes makes of Ctrl-C
        return answer

    def _line(self, question: str, default: str | None, hidden: bool) -> str:
        return str(self._next(f"{question} (hidden)" if hidden else question)) or default or ""

    def _choose(self, question: str, labels: list[str], selected: int) -> int:
        wanted = self._next(question)
        return next((index for index, label in enumerate(labels) if str(wanted) in label), selected)
