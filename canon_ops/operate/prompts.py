"""How a dialogue asks: a small protocol with one front end for terminals, one for Hermes' own setup, one for scripts.

A dialogue never prints and never reads a terminal. Each question carries the option that answers it beforehand, so
that a script that lacks an answer is told which option to add. Questions with a default are answered by it when nobody
can be asked.

Front ends: ``cli.prompts`` (questionary), the plugin's ``host`` (Hermes' prompts), and :class:`Unattended` here.
All calls are synchronous and may block for as long as a person thinks; Ctrl-C comes through as ``KeyboardInterrupt``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from canon_ops.errors import UsageError
from canon_ops.hints import Protocol
from canon_ops.lean import dataclass
from canon_ops.settings.secret import Secret

__all__ = ["Choice", "GoneBack", "MissingAnswer", "Prompts", "Question", "Sparing", "Tell", "Unattended", "Validate"]

Validate = Callable[[str], str | None]
"""Gives the complaint about an answer, one sentence, or None when it will do."""

Tell = Callable[[str], None]
"""Replaces the text of something that is going on."""


class GoneBack(Exception):
    """A person wants the question before this one; only raised where the question says that they can."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Args:
        text: the question, with its question mark or colon left to the front end.
        option: the command-line option that answers it: ``--owner-phone``.
        help: a line below the question; None when the question says it all.
        can_go_back: the front end offers a way to the question before, and raises :class:`GoneBack`.
    """

    text: str
    option: str
    help: str | None = None
    can_go_back: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several answers; ``value`` is what the program gets, ``label`` what people read."""

    value: str
    label: str
    help: str | None = None


class Prompts(Protocol):
    """The questions a dialogue may ask, and the two ways in which it speaks between them."""

    def text(self, question: Question, *, default: str | None = None, validate: Validate | None = None) -> str:
        """Ask for a line; ask again while ``validate`` complains. An empty answer means the default."""
        ...

    def secret(self, question: Question, *, validate: Validate | None = None) -> Secret:
        """Ask for a line that is not shown while it is typed."""
        ...

    def choose(self, question: Question, choices: Sequence[Choice], *, default: str | None = None) -> str:
        """Ask for one of ``choices``; gives its value. ``default`` is the value that is selected at first."""
        ...

    def confirm(self, question: Question, *, default: bool) -> bool:
        """Ask for a yes or a no."""
        ...

    def note(self, text: str) -> None:
        """Tell a sentence that belongs to the conversation, not to the answer."""
        ...

    def progress(self, text: str) -> AbstractContextManager[Tell]:
        """Show that something is going on while the block runs; what the block gets replaces the text."""
        ...


class MissingAnswer(UsageError):
    """A question that nobody can be asked, and no option answers."""

    code = "answer_missing"

    def __init__(self, question: Question) -> None:
        super().__init__(f"Not answered: {question.text}", fix=f"add {question.option}")
        self.option = question.option


class Unattended:
    """Nobody is there: defaults are taken, anything else is a missing answer.

    Args:
        say: gets each note and each progress text.
        yes: what confirmations answer when they have no safe default (``--yes``).
    """

    def __init__(self, say: Callable[[str], None] = lambda _text: None, *, yes: bool = False) -> None:
        self._say = say
        self._yes = yes

    def text(self, question: Question, *, default: str | None = None, validate: Validate | None = None) -> str:
        if default is None:
            raise MissingAnswer(question)
        return default

    def secret(self, question: Question, *, validate: Validate | None = None) -> Secret:
        raise MissingAnswer(question)

    def choose(self, question: Question, choices: Sequence[Choice], *, default: str | None = None) -> str:
        if default is None:
            raise MissingAnswer(question)
        return default

    def confirm(self, question: Question, *, default: bool) -> bool:
        return default or self._yes

    def note(self, text: str) -> None:
        self._say(text)

    @contextmanager
    def progress(self, text: str) -> Iterator[Tell]:
        self._say(text)
        yield Sparing(self._say)


class Sparing:
    """Says one text in twenty: for those who cannot replace a line, and would fill the screen."""

    def __init__(self, say: Callable[[str], None], *, every: int = 20) -> None:
        self._say = say
        self._every = every
        self._heard = 0

    def __call__(self, text: str) -> None:
        self._heard += 1
        if self._heard % self._every == 0:
            self._say(text)
