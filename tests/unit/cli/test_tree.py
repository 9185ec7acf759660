"""The table of commands agrees with the commands, and loading stays lazy."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from canon_ops.cli.command import OperatorCommand
from canon_ops.cli.tree import Entry, leaves

HEAVY = {"rich", "questionary", "prompt_toolkit", "keyring", "httpx", "websockets", "yaml", "yaml_edit", "ruamel"}


@pytest.mark.parametrize(
    ("words", "entry"), leaves(), ids=lambda value: " ".join(value) if type(value) is tuple else ""
)
def test_each_entry_names_a_command_with_the_same_first_sentence(words: tuple[str, ...], entry: Entry) -> None:
    """The list of commands says what the command's own page says, and its schema name is its words."""
    module, _, attribute = entry.target.partition(":")

    command = getattr(importlib.import_module(f"canon_ops.cli.commands.{module}"), attribute)

    assert isinstance(command, OperatorCommand)
    assert command.words == words
    assert (command.help or "").splitlines()[0] == entry.help


def modules_after(*arguments: str) -> set[str]:
    """Top-level modules that a fresh process has loaded when it has answered."""
    script = (
        "import sys\nfrom canon_ops.cli.main import run_as\n"
        f"code = run_as('canon-ops', '', {list(arguments)!r})\n"
        "sys.stdout.write('\\n' + ' '.join(sys.modules))\nsys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_version_option_loads_not_even_click() -> None:
    """The shortest answer needs nothing."""
    assert not (HEAVY | {"click", "canon_ops.cli.run"}) & modules_after("--version")


def test_help_loads_click_and_no_command() -> None:
    """The list of commands is a table of text."""
    loaded = modules_after("--help")

    assert not HEAVY & loaded
    assert not {name for name in loaded if name.startswith("canon_ops.cli.commands.")}


def test_a_command_that_draws_no_table_loads_no_rich() -> None:
    """Single lines are painted without a library."""
    assert not HEAVY & modules_after("version", "--color", "always")
