"""Click groups that read the table in tree.py and import a command only when it is called."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import click

from canon_ops import __version__
from canon_ops.cli.tree import ROOT, Entry, first_steps

__all__ = ["HELP_NAMES", "WIDEST_HELP", "LazyGroup", "help_of_root", "help_option", "root_group"]

HELP_NAMES = ["-h", "--help"]
WIDEST_HELP = 100
_FEW = 4  # so many commands fit into the sentence that says that there is no such one
OF_EVERY_COMMAND = frozenset(
    {"-p", "--profile", "--hermes-home", "--json", "--plain", "--no-input", "-y", "--yes", "-q", "--quiet"}
    | {"-v", "--verbose", "--color"}
)


class LazyGroup(click.Group):
    """A group whose members are entries of the table.

    Args:
        entry: the group's own entry.
        default: the member that is meant when none is named; it overrides the entry's own.
    """

    def __init__(self, entry: Entry, *, default: str = "") -> None:
        super().__init__(
            name=entry.name,
            help=entry.help,
            context_settings={"help_option_names": HELP_NAMES, "max_content_width": WIDEST_HELP},
            no_args_is_help=False,  # click would say it on stderr with exit 2; see parse_args
        )
        self.entry = entry
        self.default = default or entry.default

    def get_help_option(self, ctx: click.Context) -> click.Option:
        return help_option()

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [child.name for child in self.entry.children]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for child in self.entry.children:
            if child.name == cmd_name:
                return _load(child, ctx)
        return None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """A bare group shows its help, as ``gh`` does; a group with a default means that member."""
        if self.default and self._names_no_member(args):
            args = [self.default, *args]
        try:
            return super().parse_args(ctx, args or ["--help"])
        except click.NoSuchOption as exc:
            if exc.option_name in OF_EVERY_COMMAND:
                raise click.UsageError(f"{exc.option_name} goes after the command's name.", ctx) from exc
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            raise click.UsageError(self._unknown(args[0]), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for child in self.entry.children:
            sections.setdefault(child.section, []).append((child.name, child.help))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What to do next: the first commands of all, or where options and examples stand."""
        if ctx.parent is None:
            with formatter.section("First steps"):
                for step in first_steps(_meant_by(ctx.info_name or "")):
                    formatter.write(f"{' ' * formatter.current_indent}{step}\n")
        meant = f" Without a command, {self.default} is meant." if self.default else ""
        formatter.write_paragraph()
        formatter.write_text(f"{ctx.command_path} COMMAND --help shows options and examples.{meant}")

    def _names_no_member(self, args: list[str]) -> bool:
        """No argument at all, or options of the default member; the group's own help stays reachable."""
        return not args or (args[0].startswith("-") and args[0] not in HELP_NAMES)

    def _unknown(self, name: str) -> str:
        from difflib import get_close_matches

        names = [child.name for child in self.entry.children]
        if near := get_close_matches(name, names, n=1):
            return f"No such command: {name}. Did you mean {near[0]}?"
        few = f" The commands of {self.name} are {', '.join(names[:-1])} and {names[-1]}." if len(names) <= _FEW else ""
        return f"No such command: {name}.{few}"


def _meant_by(program: str) -> str:
    """The platform whose first steps a page tells: Borgee's for ``hermes borgee``, Canon's otherwise."""
    return "borgee" if program.endswith(" borgee") else "canon"


def root_group() -> LazyGroup:
    """The whole program."""
    group = LazyGroup(ROOT)
    group.params.append(_page_option("--version", text=_version, help="Show the version and exit."))
    return group


def help_of_root(program: str) -> str:
    """The page that lists the commands, without loading any."""
    return _help(root_group().make_context(program, [], resilient_parsing=True))


def help_option() -> click.Option:
    """``-h/--help``, whose page leaves through the session's stream like every other answer."""
    return _page_option(*HELP_NAMES, text=_help, help="Show this message and exit.")


def _page_option(*names: str, text: Callable[[click.Context], str], help: str) -> click.Option:
    def show(ctx: click.Context, _option: click.Parameter, asked: bool) -> None:
        if asked and not ctx.resilient_parsing:
            ctx.find_root().obj.streams.out.write(text(ctx))
            ctx.exit()

    return click.Option(names, is_flag=True, is_eager=True, expose_value=False, callback=show, help=help)


def _help(ctx: click.Context) -> str:
    return f"{ctx.get_help()}\n"


def _version(ctx: click.Context) -> str:
    return f"{ctx.find_root().info_name} {__version__}\n"


def _load(entry: Entry, ctx: click.Context) -> click.Command:
    """The command behind an entry: a nested group, or the attribute of a module that is imported now."""
    if entry.children:
        platform = ctx.find_root().obj.program.platform
        default = platform if any(child.name == platform for child in entry.children) else ""
        return LazyGroup(entry, default=default)
    module, _, attribute = entry.target.partition(":")
    command = getattr(importlib.import_module(f"canon_ops.cli.commands.{module}"), attribute)
    assert isinstance(command, click.Command)  # noqa: S101 - a table entry that points elsewhere is our own bug
    return command
