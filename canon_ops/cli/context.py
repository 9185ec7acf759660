"""What a command's function receives first: the session, and everything that a command may do with it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager

from canon_ops.cli.delivery import deliver
from canon_ops.cli.output import Result
from canon_ops.cli.redaction import Redactor
from canon_ops.cli.session import CommonOptions, Program, Session, WriteOptions
from canon_ops.cli.streams import ReaderGone
from canon_ops.hints import TYPE_CHECKING
from canon_ops.lean import dataclass

if TYPE_CHECKING:
    from canon_ops.hermes.homes import HermesHome
    from canon_ops.keyring.access import Keyring
    from canon_ops.operate.preferences import Preferences
    from canon_ops.operate.prompts import Prompts, Tell
    from canon_ops.operate.writing import Writing

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

    @property
    def preferences(self) -> Preferences:
        """See :meth:`Session.preferences`."""
        return self.session.preferences()

    @property
    def keyring(self) -> Keyring:
        """The system's keyring, or one that is switched off by preference. Make one a command: it remembers."""
        from canon_ops.keyring.access import KEYRING_VARIABLE, Keyring

        switch = {} if self.preferences["keyring.use"] else {KEYRING_VARIABLE: "off"}
        return Keyring({**self.environ, **switch})

    def writing(self, label: str, write: WriteOptions) -> Writing:
        """How this command writes; ``label`` is what the history calls it."""
        from canon_ops.operate.writing import Writing

        return Writing(
            home=self.home,
            environ=self.environ,
            label=label,
            dry_run=write.dry_run,
            expected=write.if_unchanged,
            lock_timeout_s=self.preferences.lock_timeout_s,
            retention=self.preferences.retention,
            mask=self.redact.line,
        )

    def progress(self, text: str) -> AbstractContextManager[Tell]:
        """Show that something is going on while the block runs; what the block gets replaces the text."""
        from canon_ops.cli.progress import spinner

        return spinner(self.session, text)

    def follow(self) -> None:
        """From here on answers follow each other until the command is stopped: events, one JSON object a line."""
        if not self.session.is_event_stream:
            self.session.words = (*self.session.words, "event")
            self.session.is_event_stream = True

    def emit(self, result: Result) -> None:
        """Answer now, and go on: for commands that run until they are stopped."""
        deliver(self.session, result)

    def pause(self, seconds: float) -> None:
        """Wait before the next look of a command that only tells what it sees.

        Raises:
            ReaderGone: nobody reads its answers any more.
        """
        time.sleep(seconds)
        if not self.session.streams.out.is_heard:
            raise ReaderGone

    def say(self, text: str) -> None:
        """See :meth:`Session.say`."""
        self.session.say(text)

    def detail(self, text: str) -> None:
        """See :meth:`Session.detail`."""
        self.session.detail(text)
