"""What the command tree does not say about itself: exit codes in words, the files and the variables of commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from canon_ops.errors import ExitCode

__all__ = ["EXITS", "FILES", "VARIABLES", "Fact", "facts_for"]

EXITS: Mapping[ExitCode, str] = {
    ExitCode.DONE: "Done, healthy, or nothing to do.",
    ExitCode.FAILED: "Findings, a refusal, a failure, or what was asked for is not there.",
    ExitCode.USAGE: "Wrong usage, or an answer is missing and nobody can be asked.",
    ExitCode.OUTSIDE: "Something outside prevents it (no host, no network, an unreadable home), or a fault of ours.",
    ExitCode.CREDENTIAL: "A credential is missing, or the server refuses it.",
    ExitCode.CONFLICT: "A file changed meanwhile, or its lock was not free in time.",
    ExitCode.INTERRUPTED: "Interrupted with Ctrl-C; nothing was written, or it was rolled back.",
    ExitCode.TERMINATED: "Terminated by a signal; nothing was written, or it was rolled back.",
}


class Fact(NamedTuple):
    """One row: a name, its sentence, and the commands (by their first words) that it is about.

    ``""`` stands for all commands, ``"writes"`` for those that change files.
    """

    name: str
    text: str
    about: Sequence[str]


FILES: tuple[Fact, ...] = (
    Fact(
        "~/.hermes/config.yaml", "Configuration of the Hermes home.",
        ("install", "uninstall", "upgrade", "rollback", "config", "doctor", "host", "profile", "status"),
    ),
    Fact(
        "~/.hermes/.env", "Variables that the gateway reads; keys may stand here.",
        ("install", "uninstall", "upgrade", "rollback", "setup", "env", "creds", "profile", "doctor", "status"),
    ),
    Fact(
        "~/.canon/agents.json", "Canon profiles of this user: agents, their environments and their keys.",
        ("setup", "profile", "creds", "doctor", "status"),
    ),
    Fact(
        "~/.canon/pending-registrations.json", "Registrations that wait for their owner.", ("setup", "doctor"),
    ),
    Fact(
        ".canon-ops/", "Beside the files of a change: its lock, and what undo takes back. Private, since a copy of a "
        ".env holds keys.", ("writes",),
    ),
    Fact("~/.config/canon-ops/settings.toml", "What you prefer; see canon-ops preferences list.", ("",)),
    Fact("~/.cache/canon-ops/complete/", "What completion asked for last.", ("completion",)),
    Fact("~/.local/share/bash-completion/completions/canon-ops", "Completion for bash.", ("completion",)),
    Fact("~/.local/share/zsh/site-functions/_canon-ops", "Completion for zsh.", ("completion",)),
    Fact("~/.config/fish/completions/canon-ops.fish", "Completion for fish.", ("completion",)),
)  # fmt: skip

VARIABLES: tuple[Fact, ...] = (
    Fact("HERMES_HOME", "The Hermes home, as hermes itself reads it.", ("",)),
    Fact("CANON_HOME", "Folder of the Canon profiles, instead of ~/.canon.", ("setup", "profile", "creds", "doctor")),
    Fact("CANON_AGENTS_FILE", "agents.json elsewhere.", ("setup", "profile", "creds", "doctor")),
    Fact("CANON_OPS_SETTINGS", "settings.toml elsewhere.", ("",)),
    Fact("CANON_OPS_KEYRING", "off: never open the system's keyring.", ("setup", "creds", "doctor", "profile")),
    Fact("NO_COLOR, FORCE_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM", "Colour where --color says auto.", ("",)),
    Fact("COLUMNS", "Width of tables and sentences, instead of the terminal's.", ("",)),
    Fact("CI", "When set, nothing is asked.", ("",)),
    Fact("VISUAL, EDITOR", "The editor.", ("config edit",)),
    Fact("SHELL", "The shell that is meant when none is named.", ("completion install", "completion uninstall")),
    Fact("BASH_COMPLETION_USER_DIR, ZDOTDIR, XDG_DATA_HOME, XDG_CONFIG_HOME, XDG_CACHE_HOME", "Where the shells, and "
         "this tool, keep things.", ("completion",)),
)  # fmt: skip


def facts_for(facts: Sequence[Fact], words: Sequence[str], *, writes: bool = False) -> list[Fact]:
    """The rows about the command ``words``."""
    return [fact for fact in facts if any(_fits(about, words, writes) for about in fact.about)]


def _fits(about: str, words: Sequence[str], writes: bool) -> bool:
    if about == "writes":
        return writes
    prefix = about.split()
    return list(words[: len(prefix)]) == prefix
