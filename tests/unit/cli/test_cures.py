"""Errors carry their cure, and every command in one is a command of this program."""

from __future__ import annotations

import shlex
from functools import cache
from types import SimpleNamespace

import click
import pytest

from canon_ops.cli.lazy import root_group
from canon_ops.cli.session import Program
from tests.support.cures import Told, told_commands, uncured

# Promised by a message before its command is here; each goes with the command that comes.
COMING: set[str] = set()

# Sentences in which the program's name is followed by something else than a command.
PROSE = {
    "$@",
    "--help",
    "-p",
    "X",
    "command",
    "in",
    "installed",
    "instead",
    "is",
    "never",
    "runs",
    "that",
    "to",
    "was",
    "wrote",
}

# Errors that need none, by class.
NEEDS_NO_CURE = {
    "InternalError": "a fault of ours; the command line says how to report it",
    "ProofFailed": "an edit that is tried in another way, or refused with a cure",
    "EngineFault": "likewise",
    "Stuck": "likewise",
    "DemoFailed": "a step of the demo; the demo names its log",
    "FrameTooLarge": "the peer's fault; the plugin reconnects",
    "MalformedVerbAnswer": "the peer's fault, told to the model",
    "NotAdmitted": "Canon's word about one message, told to the host",
    "UnsafeUrl": "a stranger's link; the message says that its file is missing",
    "TookTooLong": "likewise",
    "AnswerTooLarge": "likewise",
    "FileMissing": "a file that the agent named, told to the host",
    "FileTooLarge": "likewise",
}

# Rooms that answer to programs: a test of the sandbox's human side, a caller of the database.
FOR_PROGRAMS = ("canon_ops/sandbox/", "canon_ops/durable/")


def test_every_error_carries_its_cure() -> None:
    """One sentence, one cure: no error that people can meet leaves them alone with it."""
    found = {
        (name, place.partition(":")[0])
        for name, place in uncured()
        if name not in NEEDS_NO_CURE and not place.startswith(FOR_PROGRAMS)
    }

    assert found == set(), uncured()


# Marks around what is written into a shell's start-up file.
MARKS = {"<<<", ">>>"}


@cache
def commands() -> tuple[Told, ...]:
    return tuple(
        told
        for told in told_commands()
        if (words := told.words.split()) and words[0].strip("'\"") not in PROSE and not MARKS & {*words}
    )


def _split(words: str) -> list[str]:
    try:
        return shlex.split(words)
    except ValueError:  # the quote around the whole command ends it
        return shlex.split(words.replace("'", "").replace('"', ""))


def complaint(words: str) -> str | None:
    """Why the program would not take these words; placeholders count as any value."""
    left = _split(words)
    node: click.Command = root_group()
    path: list[str] = []
    with click.Context(node, obj=SimpleNamespace(program=Program("canon-ops"))) as ctx:
        while isinstance(node, click.Group):
            child = node.get_command(ctx, left[0]) if left and not left[0].startswith("-") else None
            if child is None:
                if path == ["setup"]:  # its platform may be left out, or be known only at run time
                    left = left[1:] if left[:1] == ["X"] else left
                    child = node.get_command(ctx, "canon")
                elif not left:
                    return None  # a group alone shows its help
                else:
                    return "no such command"
            else:
                path.append(left.pop(0))
            assert child is not None
            node = child
        takes_words = any(isinstance(param, click.Argument) for param in node.params)
        if left[-1:] == ["X"] and not takes_words and not "".join(left[-2:-1]).startswith("-"):
            left.pop()  # options that are known at run time only
        try:
            options, extra, _ = node.make_parser(click.Context(node)).parse_args(left)
        except click.UsageError as exc:
            return exc.format_message()
    missing = [
        param.name
        for param in node.params
        if isinstance(param, click.Argument)
        and param.required
        and not isinstance(options.get(str(param.name)), str | tuple)
    ]
    return f"too many words: {extra}" if extra else f"lacks {missing}" if missing else None


def test_each_command_that_is_told_exists() -> None:
    """Its words, its options and its arguments are those of the command line."""
    wrong = {f"{told.words} ({told.place})": found for told in commands() if (found := wrong_with(told)) is not None}

    assert wrong == {}


def wrong_with(told: Told) -> str | None:
    """What is wrong with a command; one that is to come must not be there yet."""
    words = told.words.split()
    found = complaint(told.words)
    if words[0] in COMING or " ".join(words[:2]) in COMING:
        return None if found == "no such command" else f"has come, but is in COMING: {found}"
    return None if told.is_begun and str(found).startswith("lacks") else found


def test_nothing_is_awaited_that_has_come() -> None:
    """The list of promised commands shrinks when one of them arrives, or is no longer promised."""
    told = {" ".join(told.words.split()[: len(words.split())]) for told in commands() for words in COMING}

    assert [words for words in sorted(COMING) if complaint(words) != "no such command"] == []
    assert sorted(COMING - told) == []


def test_cures_are_found() -> None:
    """The search sees literals, f-strings, constants of other modules and commands aimed at a home."""
    words = {told.words for told in commands()}

    assert {
        "setup canon",
        "doctor --list",
        "setup canon --canon-profile X --start-over",
        "config add plugins.enabled X",
    } <= words


@pytest.mark.parametrize("words", ["frobnicate", "config frob", "setup canon --no-such", "config get", "doctor X Y"])
def test_a_wrong_command_is_noticed(words: str) -> None:
    """The judgement can fail."""
    assert complaint(words) is not None
