"""The command tree as the completion scripts need it: members, options and arguments, with what each of them takes.

Made from the loaded Click tree; plain data from here on. :func:`takes_text` is the small language in which all three
dialects write down what a value may be: ``words a b``, ``ask KIND``, ``files``, ``folders`` or ``any``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from canon_ops.cli.commands.schema import loaded_commands
from canon_ops.cli.completion.kinds import Kind, kind_of
from canon_ops.cli.envelope import schema_name
from canon_ops.cli.tree import ROOT, Entry, leaves

__all__ = ["PROGRAMS", "Node", "Offer", "Taken", "outline"]

PROGRAMS = ("canon-ops", "canon-hermes", "canon-hermes-plugin")


@dataclass(frozen=True, slots=True)
class Offer:
    """One candidate with its sentence."""

    text: str
    help: str


@dataclass(frozen=True, slots=True)
class Taken:
    """An option that takes a value, and what the value may be."""

    option: str
    takes: str


@dataclass(frozen=True, slots=True)
class Node:
    """One command or group.

    Attributes:
        path: its words, joined by blanks; empty for the program itself.
        members: of a group.
        default: the member that a group means when none is named.
        options: every spelling of every option.
        valued: the spellings that take a value.
        arguments: what each positional argument takes, in order.
        repeats: the last argument may be given again and again.
    """

    path: str
    members: tuple[Offer, ...] = ()
    default: str = ""
    options: tuple[Offer, ...] = ()
    valued: tuple[Taken, ...] = ()
    arguments: tuple[str, ...] = ()
    repeats: bool = False


def outline() -> tuple[Node, ...]:
    """Every group and command, parents first; groups without a member of this version do not exist."""
    commands = {command.words: command for command in loaded_commands()}
    help_of_group = (Offer("-h", _HELP), Offer("--help", _HELP))
    nodes: list[Node] = []

    def visit(entry: Entry, words: tuple[str, ...]) -> None:
        if not entry.children:
            nodes.append(_leaf(words, commands[words]))
            return
        members = tuple(Offer(child.name, child.help) for child in entry.children)
        options = help_of_group if words else (*help_of_group, Offer("--version", "Show the version and exit."))
        nodes.append(Node(" ".join(words), members, entry.default, options))
        for child in entry.children:
            visit(child, (*words, child.name))

    visit(ROOT, ())
    return tuple(nodes)


_HELP = "Show this message and exit."


def _leaf(words: tuple[str, ...], command: click.Command) -> Node:
    context = click.Context(command, info_name=words[-1])
    options: list[Offer] = []
    valued: list[Taken] = []
    arguments: list[str] = []
    repeats = False
    for param in command.get_params(context):
        if isinstance(param, click.Option):
            spellings = (*param.opts, *param.secondary_opts)
            options += [Offer(spelling, param.help or "") for spelling in spellings]
            if not param.is_flag and not param.count:
                valued += [Taken(spelling, _takes(words, param)) for spelling in spellings]
        else:
            arguments.append(_takes(words, param))
            repeats = param.nargs != 1
    return Node(
        " ".join(words), options=tuple(options), valued=tuple(valued), arguments=tuple(arguments), repeats=repeats
    )


def _takes(words: Sequence[str], param: click.Parameter) -> str:
    kind = kind_of(words, param.name or "")
    if kind is not None:
        return f"ask {kind.value}" if kind.is_asked else f"words {' '.join(_held(kind))}"
    if isinstance(param.type, click.Choice):
        return f"words {' '.join(str(choice) for choice in param.type.choices)}"
    if isinstance(param.type, click.Path):
        return "files" if param.type.file_okay and param.metavar != "DIR" else "folders"
    return "any"


def _held(kind: Kind) -> Sequence[str]:
    """The values that this version of the program decides about."""
    from canon_ops.cli.checks import NAMEABLE_CHECKS
    from canon_ops.doctor.registry import areas

    match kind:
        case Kind.CHECK:
            return [check.id for check in NAMEABLE_CHECKS]
        case Kind.AREA:
            return areas(NAMEABLE_CHECKS)
        case Kind.SCHEMA:
            return [
                schema_name(words, each.schema_version) for each in loaded_commands() for words, _ in each.documents
            ]
        case _:
            return sorted({word for words, _ in leaves() for word in words})
