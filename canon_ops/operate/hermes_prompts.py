"""The questions of a dialogue inside ``hermes gateway setup``, asked the way Hermes asks its own.

The front end of both plugins; the host's functions come in by role, from the one module of each plugin that imports
the host. Hermes' prompts end the whole program at Ctrl-C; here it ends the dialogue alone, as ``KeyboardInterrupt``.

Source: hermes-host 6.5; decisions F2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from canon_ops.errors import CanonOpsError
from canon_ops.operate.prompts import Choice, GoneBack, Question, Sparing, Tell, Validate
from canon_ops.settings.secret import Secret

__all__ = ["HermesPrompts", "HostPrompts", "lead_in_hermes", "prompts_of"]

_BACK = "<"  # the answer that goes back; no answer of the dialogue is this alone
_YES, _NO = ("y", "yes"), ("n", "no")


@dataclass(frozen=True, slots=True)
class HostPrompts:
    """How Hermes' own setup asks and tells, by role.

    Attributes:
        line: question, default, hidden → what was typed, or the default.
        choose: question, labels, selected index → chosen index.
        confirm: question, default → yes or no.
    """

    line: Callable[[str, str | None, bool], str]
    choose: Callable[[str, list[str], int], int]
    confirm: Callable[[str, bool], bool]
    info: Callable[[str], None]
    success: Callable[[str], None]
    error: Callable[[str], None]


def prompts_of(setup: Any) -> HostPrompts:
    """The prompts in the host's module ``hermes_cli.setup``."""
    return HostPrompts(
        line=lambda question, default, hidden: str(setup.prompt(question, default=default, password=hidden)),
        choose=lambda question, labels, selected: int(setup.prompt_choice(question, labels, selected)),
        confirm=lambda question, default: bool(setup.prompt_yes_no(question, default)),
        info=setup.print_info,
        success=setup.print_success,
        error=setup.print_error,
    )


class HermesPrompts:
    """Hermes' prompts as a dialogue of ours uses them."""

    def __init__(self, host: HostPrompts) -> None:
        self._host = host
        self._has_told_the_keys = False

    def text(self, question: Question, *, default: str | None = None, validate: Validate | None = None) -> str:
        return self._line(question, default=default, validate=validate, hidden=False)

    def secret(self, question: Question, *, validate: Validate | None = None) -> Secret:
        return Secret(self._line(question, default=None, validate=validate, hidden=True))

    def choose(self, question: Question, choices: Sequence[Choice], *, default: str | None = None) -> str:
        values = [choice.value for choice in choices]
        selected = values.index(default) if default in values else 0
        labels = [f"{choice.label} ({choice.help})" if choice.help else choice.label for choice in choices]
        if question.help:
            self._host.info(question.help)
        if question.can_go_back:
            labels.append("Back to the question before")
        self._has_told_the_keys = False  # a list takes the whole screen, and what was told is gone
        with _leaving():
            chosen = self._host.choose(question.text, labels, selected)
        if chosen == len(values):
            raise GoneBack
        return values[chosen]

    def confirm(self, question: Question, *, default: bool) -> bool:
        if not question.can_go_back:
            with _leaving():
                return self._host.confirm(question.text, default)
        asked = Question(f"{question.text} (y/n)", question.option, question.help, can_go_back=True)
        answer = self._line(asked, default="y" if default else "n", validate=_yes_or_no, hidden=False)
        return answer.lower() in _YES

    def note(self, text: str) -> None:
        self._host.info(text)

    @contextmanager
    def progress(self, text: str) -> Iterator[Tell]:
        self._host.info(f"{text} …")
        yield Sparing(self._host.info)

    def _line(self, question: Question, *, default: str | None, validate: Validate | None, hidden: bool) -> str:
        if question.help:
            self._host.info(question.help)
        if question.can_go_back and not self._has_told_the_keys:
            self._has_told_the_keys = True
            self._host.info(f"{_BACK} goes back to the question before, Ctrl-C leaves.")
        while True:
            with _leaving():
                answer = self._host.line(question.text, default, hidden)
            if question.can_go_back and answer == _BACK:
                raise GoneBack
            complaint = validate(answer) if validate else None
            if complaint is None:
                return answer
            self._host.error(complaint)


@contextmanager
def _leaving() -> Iterator[None]:
    """Ctrl-C at one of Hermes' prompts, which would end Hermes' own dialogue too."""
    try:
        yield
    except SystemExit as exc:
        raise KeyboardInterrupt from exc


def _yes_or_no(text: str) -> str | None:
    return None if text.lower() in (*_YES, *_NO) else "y or n"


def lead_in_hermes(front: HostPrompts, label: str, lead: Callable[[HermesPrompts], None]) -> None:
    """Run a dialogue as the host's ``setup_fn`` may be run: what goes wrong is told, never raised.

    Ctrl-C leaves this dialogue, and Hermes' own goes on.
    """
    try:
        lead(HermesPrompts(front))
    except CanonOpsError as error:
        front.error(error.what)
        if error.fix:
            front.info(f"Fix: {error.fix}")
    except KeyboardInterrupt:
        front.info(f"{label} is left as it is.")
    with suppress(KeyboardInterrupt), _leaving():
        front.line("Press Enter to go on", None, False)  # Hermes draws its menu over whatever is not waited for
