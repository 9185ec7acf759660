"""Which texts a host would take for an answer, and which of its commands are the owner's alone."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.host import command_name
from canon_hermes_plugin.interactions.typed import (
    APPROVAL_WORDS,
    as_command,
    confirms,
    decides,
    is_owners_alone,
    typed_command,
)

NAMES = {"yolo": "yolo", "approve": "approve", "deny": "deny", "new": "new", "reset": "new"}


@pytest.mark.parametrize(
    "text",
    [
        "yes", " YES ", "ok", "👍", "approve", "/approve", "/approve all", "/approve@bot", "always", "approve session",
        "no", "👎", "cancel", "/deny", "/deny not today", "!approve",
    ],
)  # fmt: skip
def test_a_decision(text: str) -> None:
    """R5.4, R9.10: the host's words and its commands, with whatever stands behind them."""
    assert decides(text, None)


@pytest.mark.parametrize("text", ["", "yes please do", "approved", "/approver", "/denial", "what?", "no way"])
def test_no_decision(text: str) -> None:
    """A sentence is a message like any other."""
    assert not decides(text, None)


def test_a_decision_under_another_name() -> None:
    """R9.10: a short name of the operator's is what it stands for."""
    command, arguments = typed_command("/ja@bot all", {"ja": "approve session"}, name_of=NAMES.get)

    assert (command, arguments, decides("/ja all", command)) == ("approve", "session all", True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/yolo", ("yolo", "")), ("/YOLO now", ("yolo", "now")), ("/fast", ("yolo", "")), ("/reset x", ("new", "x")),
        ("/srv/yolo", (None, "")), ("hi /yolo", (None, "")), ("", (None, "")), (" /yolo", (None, "")),
        ("/mine 1", ("mine", "1")), ("/round", ("round", "")), ("/", ("", "")), ("/yolo\nmore", ("yolo", "more")),
    ],
)  # fmt: skip
def test_the_command_of_a_text(text: str, expected: tuple[str | None, str]) -> None:
    """Hermes-host 9.3: as the host reads it: at the very beginning, any case, never a path; a ring of names ends."""
    aliases = {"fast": "/y2", "y2": "yolo", "round": "/round"}

    assert typed_command(text, aliases, name_of=NAMES.get) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/always", True), ("always", True), ("!remember", True), ("always approve", True),
        ("/approve", False), ("/approve once", False), ("no", False), ("/cancel", False), ("once", False),
        ("yes please", None), ("/status", None), ("", None), ("alwaysly", None),
    ],
)  # fmt: skip
def test_an_answer_to_a_command_that_wants_to_be_confirmed(text: str, expected: bool | None) -> None:
    """The host's own words for once, for good, and not at all."""
    assert confirms(text) is expected


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        ("yolo", "", True), ("yolo", "off", True), ("approvals", "", False), ("approvals", "off", True),
        ("memory", "", False), ("memory", "pending", False), ("memory", "approval off", True),
        ("memory", "APPLY 1", True),
        ("skills", "diff 1", False), ("skills", "approve 1", True), ("status", "", False), (None, "yolo", False),
    ],
)  # fmt: skip
def test_what_only_the_owner_may_type(command: str | None, arguments: str, expected: bool) -> None:
    """R9.10: what changes the asking, or answers for the owner, is the owner's; a look at it is everybody's."""
    assert is_owners_alone(command, arguments) is expected


# --- against the installed host ------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", sorted(APPROVAL_WORDS))
def test_each_word_has_a_command_that_decides_the_same(word: str) -> None:
    """R5.4: a host that lacks the words is told by its command; a yes for once stays one for once."""
    command = as_command(f" {word.upper()} ")

    no = word in ("deny", "no", "reject", "cancel", "n", "👎")
    how = next((how for how in (" always", " session") if how.strip() in word), "")
    assert command == ("/deny" if no else f"/approve{how}")
    assert decides(command, None)


def host_trees() -> list[ast.AST]:
    import gateway

    files = sorted(Path(gateway.__file__).parent.glob("run*.py"))
    return [node for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]


def sets_named(nodes: list[ast.AST], name: str) -> list[set[Any]]:
    return [
        {one.value for one in node.value.elts if isinstance(one, ast.Constant)}
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Set)
        if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]


def words_asked_for() -> list[set[str]]:
    """The words of a host that keeps them in a method of its runner."""
    from gateway.run import GatewayRunner

    ask = getattr(GatewayRunner, "_plaintext_approval_words", None)
    return [] if ask is None else [{*ask(object.__new__(GatewayRunner))}]


@pytest.mark.host
def test_the_hosts_own_words_are_known() -> None:
    """R9.10: each word that the installed host takes for a yes or a no is one here too."""
    nodes = host_trees()
    sets = [*sets_named(nodes, "_approve_words"), *sets_named(nodes, "_deny_words"), *words_asked_for()]

    assert sets
    assert [word for words in sets for word in words if not decides(str(word), None)] == []


REVIEWED = {
    "approve",
    "approvals",
    "deny",
    "yolo",
    "memory",
    "skills",
    "suggestions",
    "reload-mcp",
    "cron",
    "blueprint",
    "config",
}


@pytest.mark.host
def test_each_command_that_speaks_of_approval_was_looked_at() -> None:
    """R9.10: a host that learns another switch of the asking fails here, until somebody has read what it does."""
    from hermes_cli.commands import COMMAND_REGISTRY

    speaks = {
        one.name
        for one in COMMAND_REGISTRY
        if not one.cli_only and any(word in one.description.lower() for word in ("approv", "dangerous", "permission"))
    }

    assert {"yolo", "approve", "deny"} <= speaks <= REVIEWED
    assert command_name("reset") == command_name("new") and command_name("no-such-thing") is None
