"""What the page of a command or of a group holds, in the order of a manual page; plain text, no markup."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass

import click

from canon_ops.cli.command import OperatorCommand
from canon_ops.cli.commands.schema import loaded_commands
from canon_ops.cli.manual.facts import EXITS, FILES, VARIABLES, Fact, facts_for
from canon_ops.cli.manual.row import Row
from canon_ops.cli.manual.tables import checks, config_keys, preferences, variables
from canon_ops.cli.session import CommonOptions
from canon_ops.cli.tree import ROOT, Entry, first_steps
from canon_ops.errors import ExitCode

__all__ = ["Page", "Row", "Section", "pages"]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with rows."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One page.

    Attributes:
        words: the command's words; empty for the program.
        purpose: one sentence.
        synopsis: what follows the words.
        description: paragraphs.
        sections: options, members, tables, exit status, files and environment, in this order; none is empty.
        examples: whole command lines.
        see_also: words of the pages nearby.
    """

    words: tuple[str, ...]
    purpose: str
    synopsis: str
    description: tuple[str, ...]
    sections: tuple[Section, ...]
    examples: tuple[str, ...]
    see_also: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """``canon-ops-config-get``."""
        return "-".join(("canon-ops", *self.words))

    @property
    def command(self) -> str:
        """``canon-ops config get``."""
        return " ".join(("canon-ops", *self.words))


def pages() -> tuple[Page, ...]:
    """Every page, the program's first, each group before its members."""
    commands = {command.words: command for command in loaded_commands()}
    found: list[Page] = []

    def visit(entry: Entry, words: tuple[str, ...], siblings: Sequence[tuple[str, ...]]) -> None:
        if not entry.children:
            found.append(_command_page(commands[words], siblings))
            return
        members = [(*words, child.name) for child in entry.children]
        found.append(_group_page(entry, words, commands))
        for child, below in zip(entry.children, members, strict=True):
            visit(child, below, [words, *(each for each in members if each != below)] if words else [words])

    visit(ROOT, (), [])
    return tuple(found)


def _group_page(entry: Entry, words: tuple[str, ...], commands: dict[tuple[str, ...], OperatorCommand]) -> Page:
    default = f" Without a command, {entry.default} is meant." if entry.default else ""
    members = Section("Commands", tuple(Row(" ".join((*words, child.name)), child.help) for child in entry.children))
    below = [command for path, command in commands.items() if path[: len(words)] == words]
    writes = any(command.writes for command in below)
    common = Section("Options of every command", _options(below[0])[1])
    examples = tuple(command.examples[0] for command in below if command.examples) if words else first_steps()
    return Page(
        words,
        entry.help,
        f"{'[COMMAND]' if entry.default else 'COMMAND'} [OPTION]...",
        (f"{entry.help}{default}", *(() if words else _OVERVIEW)),
        _filled(
            members,
            *((common,) if not words else ()),
            *_tables(words),
            _exits(writes=True),
            _facts("Files", FILES, words, writes=writes),
            _facts("Environment", VARIABLES, words, writes=writes),
        ),
        examples,
        tuple((*words, child.name) for child in entry.children),
    )


_OVERVIEW = (
    "Answers go to standard output, conversation to standard error. On a terminal they are drawn for people; into a "
    "pipe, or with --plain, they are tab-separated records; with --json they are one document, also on failure.",
    "canon-hermes and canon-hermes-plugin are the same program under the names that Canon's documentation uses.",
)


def _command_page(command: OperatorCommand, siblings: Sequence[tuple[str, ...]]) -> Page:
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(command.help or "").split("\n\n")]
    own, common = _options(command)
    context = click.Context(command, info_name=command.words[-1])
    environment = _facts("Environment", VARIABLES, command.words, writes=command.writes)
    return Page(
        command.words,
        paragraphs[0],
        " ".join(command.collect_usage_pieces(context)),
        tuple(paragraphs),
        _filled(
            Section("Options", own),
            Section("Options of every command", common),
            *_tables(command.words),
            _exits(writes=command.writes),
            _facts("Files", FILES, command.words, writes=command.writes),
            Section("Environment", (*_variables(command), *environment.rows)),
        ),
        command.examples,
        tuple(siblings),
    )


def _options(command: click.Command) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The command's own options, and those that every command takes."""
    context = click.Context(command, info_name=command.name)
    common_names = {*CommonOptions.__dataclass_fields__, "help"}
    own: list[Row] = []
    common: list[Row] = []
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is not None and isinstance(param, click.Option):
            (common if param.name in common_names else own).append(Row(record[0], record[1] or ""))
    return tuple(own), tuple(common)


def _variables(command: click.Command) -> tuple[Row, ...]:
    """The variables that answer for an option."""
    rows = []
    for param in command.params:
        if isinstance(param, click.Option) and isinstance(param.envvar, str):
            rows.append(Row(param.envvar, f"Stands for {max(param.opts, key=len)}."))
    return tuple(rows)


def _exits(*, writes: bool) -> Section:
    """The exit codes; a command that writes nothing cannot conflict."""
    codes = [code for code in EXITS if writes or code is not ExitCode.CONFLICT]
    return Section("Exit status", tuple(Row(str(int(code)), EXITS[code]) for code in codes))


def _facts(title: str, facts: Sequence[Fact], words: Sequence[str], *, writes: bool) -> Section:
    rows = facts_for(facts, words, writes=writes)
    return Section(title, tuple(Row(fact.name, fact.text) for fact in rows))


def _tables(words: Sequence[str]) -> tuple[Section, ...]:
    """The program's own tables, on the pages where somebody would look for them."""
    match list(words):
        case ["doctor"]:
            return (Section("Checks", checks()),)
        case ["config"]:
            return (Section("Known keys", config_keys()),)
        case ["env"]:
            return (Section("Known variables", variables()),)
        case []:
            return (Section("Known variables", variables()), Section("Known keys of config.yaml", config_keys()))
        case ["preferences"]:
            return (Section("Preferences", preferences()),)
    return ()


def _filled(*sections: Section) -> tuple[Section, ...]:
    return tuple(section for section in sections if section.rows)
