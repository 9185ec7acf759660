"""How a command is declared: its own options, then the ones that every command of its kind takes.

::

    @command("config set", data=ConfigEdited, writes=True, examples=("canon-ops config set streaming.enabled true",))
    @click.argument("key")
    def set_command(context: Context, key: str, write: WriteOptions) -> Result: ...

The decorated function becomes a :class:`click.Command` that hands it a :class:`Context` (and, where it writes or uses
the network, ``write`` and ``timeout_s``) and returns its :class:`Result` to run.py, which prints it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from canon_ops.cli.amount import Amount
from canon_ops.cli.context import Context
from canon_ops.cli.lazy import HELP_NAMES, WIDEST_HELP, help_option
from canon_ops.cli.output import Result
from canon_ops.cli.session import CommonOptions, Session, WriteOptions
from canon_ops.cli.stand_ins import holds_stand_ins, without_stand_ins
from canon_ops.errors import UsageError
from canon_ops.hermes.home_need import HomeNeed
from canon_ops.lean import field_names, late_pattern

__all__ = ["OperatorCommand", "command", "dry_run_option"]

_DRY_RUN = "Say what would change; change nothing."
dry_run_option = click.option("--dry-run", is_flag=True, help=_DRY_RUN)
"""For a command that writes, but no file of which a change could be shown."""

_SHA256 = late_pattern(r"[0-9a-fA-F]{64}")


class OperatorCommand(click.Command):
    """A command whose help shows its own options first and the common ones under a heading of their own.

    Attributes:
        words: the command's words.
        data: the type of ``data`` in its JSON document.
        schema_version: of that document.
        writes: it changes files, and takes the options of a writer.
        events: the type of ``data`` in the documents that follow each other once it goes on until it is stopped
            (``status --watch``, ``logs -f``); None when it always answers once.
        is_event_stream: it answers while it runs, one JSON object a line (decisions L3).
        home_need: what it needs of the home that it is called with.
    """

    def __init__(
        self,
        words: str,
        function: Callable[..., Result],
        *,
        data: object,
        schema_version: int,
        examples: Sequence[str],
        writes: bool,
        timeout_s: float | None,
        is_event_stream: bool,
        events: object,
        home: HomeNeed | None,
        params: list[click.Parameter],
    ) -> None:
        super().__init__(
            name=words.split()[-1],
            callback=function,
            help=function.__doc__,
            context_settings={"help_option_names": HELP_NAMES, "max_content_width": WIDEST_HELP},
            params=[
                *params,
                *(writer_options() if writes else []),
                *([_timeout_option(timeout_s)] if timeout_s is not None else []),
                *common_options(),
            ],
        )
        self.words = tuple(words.split())
        self.data = data
        self.schema_version = schema_version
        self.examples = tuple(examples)
        self.writes = writes
        self.is_event_stream = is_event_stream
        self.events = events
        self.home_need = home or (HomeNeed.NAMED if writes else HomeNeed.THERE)

    def get_help_option(self, ctx: click.Context) -> click.Option:
        return help_option()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            self.introduce(ctx.find_root().obj)  # whatever is wrong with the call is this command's answer
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Result:
        session: Session = ctx.find_root().obj
        session.is_parsed = True
        values = _as_text(self, ctx.params)
        session.options = CommonOptions(**_taken(values, CommonOptions))
        if self.writes:
            values["write"] = WriteOptions(**_taken(values, WriteOptions))
            session.redact.before_quoting(session.learn_secrets_of_home)
        assert self.callback is not None  # noqa: S101 - given in __init__
        result: Result = self.callback(Context(session), **values)
        return result

    def introduce(self, session: Session) -> None:
        """Tell the session whose answers it is about to print."""
        session.words, session.schema_version = self.document_words, self.schema_version
        session.is_event_stream = self.is_event_stream
        session.home_need = self.home_need

    @property
    def document_words(self) -> tuple[str, ...]:
        """The words of its schema name: one more, ``event``, where documents follow each other."""
        return (*self.words, "event") if self.is_event_stream else self.words

    @property
    def documents(self) -> tuple[tuple[tuple[str, ...], object], ...]:
        """Every kind of document that it answers with: the words of its schema name, and the type of ``data``."""
        own = ((self.document_words, self.data),)
        return own if self.events is None else (*own, ((*self.words, "event"), self.events))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        common = {*field_names(CommonOptions), "help"}
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        parameters = [(param, param.get_help_record(ctx)) for param in options]
        sections = {
            "Options": [record for param, record in parameters if record and param.name not in common],
            "Options of every command": [record for param, record in parameters if record and param.name in common],
        }
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{' ' * formatter.current_indent}{example}\n")


def command(
    words: str,
    *,
    data: object = dict,
    schema_version: int = 1,
    examples: Sequence[str] = (),
    writes: bool = False,
    timeout_s: float | None = None,
    is_event_stream: bool = False,
    events: object = None,
    home: HomeNeed | None = None,
) -> Callable[[Callable[..., Result]], OperatorCommand]:
    """Turn a function of (context, its own options) into a command.

    Args:
        words: the command's words, ``"config get"``.
        data: the type of the result's ``data``; its JSON Schema is derived from it.
        examples: whole command lines for the end of the help page.
        writes: also take --dry-run, --diff and --if-unchanged, handed over as ``write``.
        timeout_s: it uses the network: also take --timeout, with this default, handed over as ``timeout_s``.
        is_event_stream: it answers while it runs, by :meth:`Context.emit`; under ``--json`` one object a line.
        events: it does so when told to go on, from :meth:`Context.follow` on, with data of this type.
        home: what it needs of the home; unless something else is said, one that is named has to be there.
    """

    def declare(function: Callable[..., Result]) -> OperatorCommand:
        own = list(reversed(getattr(function, "__click_params__", ())))
        return OperatorCommand(
            words,
            function,
            data=data,
            schema_version=schema_version,
            examples=examples,
            writes=writes,
            timeout_s=timeout_s,
            is_event_stream=is_event_stream,
            events=events,
            home=home,
            params=own,
        )

    return declare


def common_options() -> list[click.Parameter]:
    """The options that every command takes, each with the variable that answers for it.

    ``--yes`` has no variable: consent is given to one command at a time.
    """
    return [
        click.Option(
            ["-p", "--profile", "hermes_profile"], metavar="NAME", envvar="CANON_OPS_PROFILE",
            help="Hermes profile to work on.",
        ),
        click.Option(
            ["--hermes-home"], metavar="DIR", type=click.Path(path_type=Path), envvar="CANON_OPS_HERMES_HOME",
            help="Hermes home to work on, instead of the one that `hermes` would use.",
        ),
        _switch("--json", "CANON_OPS_JSON", "Answer with one JSON document."),
        _switch("--plain", "CANON_OPS_PLAIN", "Answer with tab-separated records, as into a pipe."),
        _switch("--no-input", "CANON_OPS_NO_INPUT", "Never ask; a missing answer is an error."),
        click.Option(["-y", "--yes"], is_flag=True, help="Consent to what would be asked."),
        click.Option(
            ["-q", "--quiet"], is_flag=True, envvar="CANON_OPS_QUIET", help="Answer only; no progress and no advice."
        ),
        click.Option(
            ["-v", "--verbose"], is_flag=True, envvar="CANON_OPS_VERBOSE", help="Say more on stderr."
        ),
        click.Option(
            ["--color"], type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
            envvar="CANON_OPS_COLOR", help="When to use colour.",
        ),
    ]  # fmt: skip


def writer_options() -> list[click.Parameter]:
    """The options of every command that changes files."""
    return [
        click.Option(["--dry-run"], is_flag=True, help=_DRY_RUN),
        click.Option(["--diff"], is_flag=True, help="Show the change line by line."),
        click.Option(
            ["--if-unchanged"], metavar="[FILE=]SHA256", multiple=True, callback=_digests,
            help="Change nothing unless FILE is still the one with this digest; FILE may be left out where only one "
            "file changes, and a relative one lies in the Hermes home.",
        ),
    ]  # fmt: skip


def _timeout_option(default_s: float) -> click.Option:
    return click.Option(
        ["--timeout", "timeout_s"], metavar="SECONDS", type=Amount(min=0, min_open=True), default=default_s,
        show_default=True, envvar="CANON_OPS_TIMEOUT", help="How long to wait for the network.",
    )  # fmt: skip


def _digests(
    _ctx: click.Context, _option: click.Parameter, texts: tuple[str, ...]
) -> tuple[tuple[Path | None, str], ...]:
    """``[FILE=]SHA256``, parted at the last ``=``; a digest is 64 hexadecimal digits."""
    parted = [text.rpartition("=") for text in texts]
    for _, _, digest in parted:
        if not _SHA256.fullmatch(digest):
            raise UsageError(f"{digest!r} is not a SHA-256 (64 hexadecimal digits).", fix="sha256sum FILE")
    return tuple((Path(file) if file else None, digest.lower()) for file, _, digest in parted)


def _as_text(command: click.Command, values: dict[str, Any]) -> dict[str, Any]:
    """The values with every word as UTF-8 text; names of files may be anything, and stay as they are.

    Raises:
        UsageError: a word is no UTF-8.
    """
    decoded = dict(values)
    for param in command.params:
        name = param.name or ""
        given = values.get(name)
        words = given if isinstance(given, tuple) else (given,)
        if not any(isinstance(word, str) and holds_stand_ins(word) for word in words):
            continue
        texts = tuple(without_stand_ins(word) if isinstance(word, str) else word for word in words)
        if any(text is None for word, text in zip(words, texts, strict=True) if word is not None):
            shown = param.opts[0] if isinstance(param, click.Option) else param.human_readable_name
            raise UsageError(f"{shown} holds bytes that are no UTF-8.", fix=f"give {shown} as UTF-8 text")
        decoded[name] = texts if isinstance(given, tuple) else texts[0]
    return decoded


def _taken(values: dict[str, Any], options: type) -> dict[str, Any]:
    """Move the values that belong to ``options`` out of ``values``."""
    return {name: values.pop(name) for name in field_names(options)}


def _switch(name: str, variable: str, text: str) -> click.Option:
    return click.Option([name], is_flag=True, envvar=variable, help=text)
