"""``hermes gateway setup`` for Canon: the dialogue of ``canon-ops setup canon``, asked with Hermes' own prompts.

The dialogue and everything it writes belong to :mod:`canon_ops.operate`; this is its second front end.

Source: Canon adapter R1.11; hermes-host 6.5; decisions F2.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from canon_hermes_plugin.host import HostPrompts, home_folder, host_prompts
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.homes import resolve_home
from canon_ops.operate.prompts import Choice, GoneBack, Question, Sparing, Tell, Validate
from canon_ops.operate.setup_answers import SetupAnswers
from canon_ops.operate.setup_canon import SetupPlace, setup_canon
from canon_ops.settings.secret import Secret

__all__ = ["HermesPrompts", "run_setup"]


_BACK = "<"  # the answer that goes back; no answer of the dialogue is this alone
_YES, _NO = ("y", "yes"), ("n", "no")


class HermesPrompts:
    """The questions of a dialogue, asked the way Hermes asks its own.

    Hermes' prompts end the whole program at Ctrl-C; here it ends the dialogue alone, as ``KeyboardInterrupt``.
    """

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


def run_setup(host: HostPrompts | None = None) -> None:
    """The host's ``setup_fn``: give this Hermes home its Canon agent; what goes wrong is told, never raised.

    Ctrl-C leaves this dialogue, and Hermes' own goes on.
    """
    front = host or host_prompts()
    try:
        _lead_setup(front)
    except KeyboardInterrupt:
        front.info("Canon is left as it is.")
    with suppress(KeyboardInterrupt), _leaving():
        front.line("Press Enter to go on", None, False)  # Hermes draws its menu over whatever is not waited for


def _lead_setup(front: HostPrompts) -> None:
    home = resolve_home(os.environ, hermes_home=home_folder())
    try:
        result = setup_canon(SetupPlace(home, os.environ), SetupAnswers(), HermesPrompts(front))
    except CanonOpsError as error:
        front.error(error.what)
        if error.fix:
            front.info(f"Fix: {error.fix}")
        return
    name = result.agent_name or result.agent_id or "its agent"
    front.success(f"Canon is set up: this Hermes answers as {name} in {result.connection.environment_id}.")
    for origin in result.overridden_by:
        front.error(f"{origin.describe()} still beats it: {origin.to_drop()}")
