"""``hermes gateway setup`` for Canon: the dialogue of ``canon-ops setup canon``, asked with Hermes' own prompts.

The dialogue and everything it writes belong to :mod:`canon_ops.operate`; this is its second front end.

Source: Canon adapter R1.11; hermes-host 6.5; decisions F2.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from canon_hermes_plugin.host import HostPrompts, home_folder, host_prompts
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.homes import resolve_home
from canon_ops.operate.prompts import Choice, Question, Validate
from canon_ops.operate.setup_answers import SetupAnswers
from canon_ops.operate.setup_canon import SetupPlace, setup_canon
from canon_ops.settings.secret import Secret

__all__ = ["HermesPrompts", "run_setup"]


class HermesPrompts:
    """The questions of a dialogue, asked the way Hermes asks its own."""

    def __init__(self, host: HostPrompts) -> None:
        self._host = host

    def text(self, question: Question, *, default: str | None = None, validate: Validate | None = None) -> str:
        return self._line(question, default=default, validate=validate, hidden=False)

    def secret(self, question: Question, *, validate: Validate | None = None) -> Secret:
        return Secret(self._line(question, default=None, validate=validate, hidden=True))

    def choose(self, question: Question, choices: Sequence[Choice], *, default: str | None = None) -> str:
        values = [choice.value for choice in choices]
        selected = values.index(default) if default in values else 0
        labels = [f"{choice.label} ({choice.help})" if choice.help else choice.label for choice in choices]
        return values[self._host.choose(question.text, labels, selected)]

    def confirm(self, question: Question, *, default: bool) -> bool:
        return self._host.confirm(question.text, default)

    def note(self, text: str) -> None:
        self._host.info(text)

    @contextmanager
    def progress(self, text: str) -> Iterator[None]:
        self._host.info(f"{text} …")
        yield

    def _line(self, question: Question, *, default: str | None, validate: Validate | None, hidden: bool) -> str:
        if question.help:
            self._host.info(question.help)
        while True:
            answer = self._host.line(question.text, default, hidden)
            complaint = validate(answer) if validate else None
            if complaint is None:
                return answer
            self._host.error(complaint)


def run_setup(host: HostPrompts | None = None) -> None:
    """The host's ``setup_fn``: give this Hermes home its Canon agent; what goes wrong is told, never raised."""
    front = host or host_prompts()
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
