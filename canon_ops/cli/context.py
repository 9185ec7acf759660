"""What a command's function receives first: the session, and everything that a command may do with it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from canon_ops.cli.delivery import deliver
from canon_ops.cli.output import Result
from canon_ops.cli.progress import spinner
from canon_ops.cli.redaction import Redactor
from canon_ops.cli.session import CommonOptions, Program, Session

if TYPE_CHECKING:
    from canon_ops.hermes.homes import HermesHome
    from canon_ops.operate.prompts import Prompts

__all__ = ["Context"]


@dataclass(frozen=True, slots=True)
class Context:
    """What a command's function receives first."""

    session: Session

    @property
    def options(self) -> CommonOptions:
        return self.session.options

    @property
    def environ(self) -> Mapping[str, str]:
        return self.session.environ

    @property
    def program(self) -> Program:
        return self.session.program

    @property
    def redact(self) -> Redactor:
        return self.session.redact

    @property
    def home(self) -> HermesHome:
        """See :meth:`Session.home`."""
        return self.session.home()

    @property
    def prompts(self) -> Prompts:
        """The dialogue, or its absence."""
        from canon_ops.cli.prompts import prompts_for

        return prompts_for(self.session)

    def progress(self, text: str) -> AbstractContextManager[None]:
        """Show that something is going on while the block runs."""
        return spinner(self.session, text)

    def emit(self, result: Result) -> None:
        """Answer now, and go on: for commands that run until they are stopped."""
        deliver(self.session, result)

    def say(self, text: str) -> None:
        """See :meth:`Session.say`."""
        self.session.say(text)

    def detail(self, text: str) -> None:
        """See :meth:`Session.detail`."""
        self.session.detail(text)
