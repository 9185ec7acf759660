"""The dialogue at a terminal: questionary behind the ``Prompts`` protocol, drawn on stderr.

Only made when a person sits at all three streams (:attr:`Session.may_ask`); everybody else gets ``Unattended``. Ctrl-C
comes through as ``KeyboardInterrupt`` and Ctrl-D as ``EOFError``: both end the command with 130. Esc is ``GoneBack``
where the question allows it. What is wrong with an answer shows while it is typed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from canon_ops.cli.progress import spinner
from canon_ops.cli.session import Session
from canon_ops.cli.terminal import DIM, paint, visible, wrapped
from canon_ops.operate.prompts import Choice, GoneBack, Prompts, Question, Tell, Unattended, Validate
from canon_ops.settings.secret import Secret

if TYPE_CHECKING:
    import questionary
    from prompt_toolkit import Application

__all__ = ["TerminalPrompts", "prompts_for"]


def prompts_for(session: Session) -> Prompts:
    """The front end that fits: questions where somebody can answer them, a missing answer everywhere else."""
    if session.may_ask:
        return TerminalPrompts(session)
    return Unattended(session.say, yes=session.options.yes)


_ANSWER_CELLS = 10  # for "(Y/n) Yes" and the like, behind a question
_ESCAPE_S = 0.2  # how long Esc waits for the rest of an arrow key: a slow line needs more than a local one


class TerminalPrompts:
    """Questions on stderr, answers from the keyboard."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._canvas = session.canvas(session.streams.err)
        self._has_told_the_keys = False

    def text(self, question: Question, *, default: str | None = None, validate: Validate | None = None) -> str:
        import questionary

        def complain(answer: str) -> str | None:
            if not answer:
                return None if default is not None else "An answer is needed here."
            return validate(answer) if validate else None

        answer = self._ask(
            question,
            lambda **look: questionary.text(
                self._folded(_with_hint(question, default)),
                validate=_verdict(complain),
                validate_while_typing=True,
                **look,
            ),
        )
        return str(answer) or (default or "")

    def secret(self, question: Question, *, validate: Validate | None = None) -> Secret:
        import questionary

        def complain(answer: str) -> str | None:
            if not answer:
                return "An answer is needed here."
            return validate(answer) if validate else None

        answer = self._ask(
            question,
            lambda **look: questionary.password(
                self._folded(_with_hint(question, None)),
                validate=_verdict(complain),
                validate_while_typing=False,
                **look,
            ),
        )
        self._session.redact.add(str(answer))
        return Secret(str(answer))

    def choose(self, question: Question, choices: Sequence[Choice], *, default: str | None = None) -> str:
        import questionary

        rows = [
            questionary.Choice(
                visible(f"{choice.label} - {choice.help}" if choice.help else choice.label), choice.value
            )
            for choice in choices
        ]
        asked = self._folded(visible(question.text))
        longest = max(len(str(row.title)) for row in rows)
        if len(asked) + longest + _ANSWER_CELLS > self._canvas.width:
            asked += "\n "  # what was chosen then stands on a line of its own
        self._help(question)
        answer = self._ask(
            question,
            lambda **look: questionary.select(
                asked,
                choices=rows,
                default=default,
                instruction="(arrow keys, then Enter)",
                pointer="»" if self._canvas.unicode else ">",
                **look,
            ),
        )
        return str(answer)

    def confirm(self, question: Question, *, default: bool) -> bool:
        import questionary

        if self._session.options.yes:
            self.note(f"{question.text} Yes (--yes).")
            return True
        self._help(question)
        asked = self._folded(visible(question.text))
        # Enter ends this answer too: were it taken at its first key, the rest of "yes" would answer the next question.
        return bool(
            self._ask(question, lambda **look: questionary.confirm(asked, default=default, auto_enter=False, **look))
        )

    def note(self, text: str) -> None:
        self._session.say(text)

    def progress(self, text: str) -> AbstractContextManager[Tell]:
        return spinner(self._session, text)

    def _folded(self, text: str) -> str:
        """Broken between words: the library breaks at the edge of the screen. The last line keeps room to answer."""
        return "\n".join(wrapped(text, self._canvas.width - _ANSWER_CELLS, 2))

    def _help(self, question: Question) -> None:
        """A line above a question whose own line is full."""
        if question.help:
            for line in wrapped(f"  {visible(question.help)}", self._canvas.width, 2):
                self._session.streams.err.write(f"{paint(line, DIM, colour=self._canvas.colour)}\n")

    def _ask(self, question: Question, make: Callable[..., questionary.Question]) -> Any:
        """Put one question; gives the answer, or lets Ctrl-C, Ctrl-D and :class:`GoneBack` through."""
        from prompt_toolkit.output import ColorDepth, create_output
        from questionary import Style

        colourless = {} if self._canvas.colour else {"color_depth": ColorDepth.DEPTH_1_BIT, "style": Style([])}
        asked = make(output=create_output(stdout=self._session.streams.err.file), **colourless)
        if question.can_go_back:
            self._tell_the_keys()
            _let_escape_go_back(asked.application)
        return asked.unsafe_ask()

    def _tell_the_keys(self) -> None:
        """Once, where going back becomes possible."""
        if not self._has_told_the_keys:
            self._has_told_the_keys = True
            text = "  (Esc: the question before; Ctrl-C: leave)"
            self._session.streams.err.write(f"{paint(text, DIM, colour=self._canvas.colour)}\n")


def _with_hint(question: Question, default: str | None) -> str:
    """``Agent's name (Hermes)``: default and help behind the question, on its own line."""
    hints = [visible(hint) for hint in (default, question.help) if hint]
    return f"{visible(question.text)} ({'; '.join(hints)})" if hints else visible(question.text)


def _let_escape_go_back(application: Application[Any]) -> None:
    """Take the question off the screen and raise :class:`GoneBack` at Esc alone; arrow keys begin with it too."""
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings

    keys = KeyBindings()

    @keys.add("escape")
    def go_back(event: KeyPressEvent) -> None:
        event.app.erase_when_done = True
        event.app.exit(exception=GoneBack)

    own = [application.key_bindings] if application.key_bindings else []
    application.key_bindings = merge_key_bindings([*own, keys])
    application.ttimeoutlen = application.timeoutlen = _ESCAPE_S


def _verdict(complain: Callable[[str], str | None]) -> Callable[[str], bool | str]:
    """questionary's form of a validator: True, or the complaint."""

    def judge(answer: str) -> bool | str:
        complaint = complain(answer)
        return True if complaint is None else complaint

    return judge
