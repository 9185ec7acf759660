"""Commands as Canon's approvals: what is shown, who is asked, and what an answer means."""

from __future__ import annotations

from typing import Any

import pytest

from canon_hermes_plugin.interactions.command_approval import (
    Asked,
    asked_of,
    choice_of,
    command_request,
    fits_the_card,
    whole_command,
    with_whole_command,
)

RULE = {"status": "allow", "sessionRule": {"type": "approve-all"}}


@pytest.mark.parametrize(
    ("command", "responder", "owner", "more", "asked"),
    [
        pytest.param("rm x", "m9", "o1", {}, Asked("m9", False, False), id="S9.2-a member"),
        pytest.param("sudo rm x", "m9", "o1", {}, Asked(None, True, True), id="S9.2-sudo of a member"),
        pytest.param("rm x", None, "o1", {}, Asked(None, False, True), id="S9.3-nobody's"),
        pytest.param("rm x", "o1", "o1", {}, Asked("o1", False, True), id="S9.4-the owner"),
        pytest.param("rm x", "o1", None, {}, Asked("o1", False, False), id="the owner is not known"),
        pytest.param("rm x", "o1", "o1", {"smart_denied": True}, Asked("o1", False, False), id="S9.13-smart denied"),
        pytest.param("rm x", "o1", "o1", {"allow_session": False}, Asked("o1", False, False), id="S9.13-no session"),
    ],
)
def test_who_is_asked(command: str, responder: str | None, owner: str | None, more: Any, asked: Asked) -> None:
    """S9.2, S9.3, S9.4, S9.13: the human of the turn, and for other rights the owner; rules are the owner's alone."""
    assert asked_of(command, responder, owner, **more) == asked


@pytest.mark.parametrize(
    ("asked", "user", "allowed"),
    [
        (Asked("m9", False, False), "m9", True),
        (Asked("m9", False, False), "o1", True),
        (Asked("m9", False, False), "m8", False),
        (Asked(None, True, True), "m9", False),
        (Asked(None, True, True), "o1", True),
        (Asked(None, False, True), "m9", False),
        (Asked("m9", False, False), None, False),
    ],
)
def test_whose_yes_counts(asked: Asked, user: str | None, allowed: bool) -> None:
    """R9.10: wherever it is said, it is the owner's, or the yes of the human who was asked."""
    assert asked.may_allow(user, "o1") is allowed
    assert not asked.may_allow("stranger", None)


@pytest.mark.parametrize(
    ("response", "allows_rule", "choice"),
    [
        (RULE, True, "session"),
        (RULE, False, "once"),
        ({"status": "allow", "sessionRule": {"type": "approve-tool"}}, True, "session"),
        ({"status": "allow", "sessionRule": {"type": "deny-tool"}}, True, "once"),
        ({"status": "allow", "sessionRule": "approve-all"}, True, "once"),
        ({"status": "allow"}, True, "once"),
        ({"status": "deny", "sessionRule": {"type": "approve-all"}}, True, "deny"),
        ({"status": "timeout"}, True, "deny"),
        ({"status": "unknown"}, True, "deny"),
        ({"status": "ALLOW"}, True, "deny"),
        ({}, True, "deny"),
    ],
)
def test_the_hosts_word(response: dict[str, Any], allows_rule: bool, choice: str) -> None:
    """S9.5, R9.13: a rule counts where it was offered; whatever is no yes is a no."""
    assert choice_of(response, allows_rule=allows_rule) == choice


def rows_of(command: str) -> list[dict[str, Any]]:
    request = command_request("c1", "a1", command, "why", Asked(None, False, True), session_key="k", expires_at_ms=5)
    return list(request.body()["details"])


def test_the_request() -> None:
    """R9.8: what Canon shows of a command, and how it finds it again."""
    asked = Asked("m9", False, False)

    body = command_request("c1", "a1", "rm x", "why", asked, session_key="k", expires_at_ms=5).body()

    assert body == {
        "interactionKind": "approval",
        "conversationId": "c1",
        "approvalId": "a1",
        "toolName": "Command",
        "toolSummary": "why",
        "expiresAt": 5,
        "category": "command",
        "risk": "high",
        "riskLevel": "destructive",
        "allowSessionRule": False,
        "responseUserId": "m9",
        "details": [
            {"label": "Command", "value": "rm x", "monospace": True},
            {"label": "Reason", "value": "why"},
        ],
        "native": {"runtime": "hermes", "method": "exec_approval", "requestId": "a1", "sessionKey": "k"},
    }


@pytest.mark.parametrize("command", ["x" * 500, "x" * 501, "x" * 3_500, "é" * 3_500, "🙂" * 1_750, "a\nb" * 900])
def test_a_long_command_is_shown_in_rows(command: str) -> None:
    """S9.16, D19: together the rows are the command, and none is longer than what a server keeps of it."""
    *shown, reason = rows_of(command)

    assert fits_the_card(command)
    assert "".join(row["value"] for row in shown) == command
    assert all(len(row["value"].encode("utf-16-le")) <= 1_000 for row in shown)
    assert len(shown) <= 7 and reason["label"] == "Reason"


@pytest.mark.parametrize("command", ["x" * 3_501, "🙂" * 1_751, "x" * 50_000])
def test_a_command_that_fits_no_card(command: str) -> None:
    """S9.16, D19: the card says that all of it stands above, and shows both ends."""
    rows = {row["label"]: row["value"] for row in rows_of(command)}

    assert not fits_the_card(command)
    assert rows["Command (beginning)"] == command[:200] and rows["Command (end)"] == command[-200:]
    assert str(len(command)) in rows["Length"]


@pytest.mark.parametrize("command", ["x" * 5_000, "echo ```\n", "`" * 9])
def test_the_message_that_shows_all_of_it(command: str) -> None:
    """S9.16: the command stands in it as it is, in a fence that nothing in it can close."""
    lines = whole_command(command).split("\n", 2)
    fence = lines[1]

    assert lines[2] == f"{command}\n{fence}" and fence not in command


def test_the_hosts_prompt_shows_all_of_it() -> None:
    """R9.19, D19: a prompt that holds the command stays as it is, one that cuts it off gets it whole."""
    assert with_whole_command("run `rm x`? /approve", "rm x") == "run `rm x`? /approve"
    assert with_whole_command("run `rm…`? /approve", "rm " + "x" * 300).endswith("x" * 300 + "\n```")


HIDING = "rm -rf /tmp/x #\u202e\u2066 olleh\u061c\u200b\r\x1b[8m\U000e0041"
WRITTEN = r"rm -rf /tmp/x #\u202e\u2066 olleh\u061c\u200b\r\x1b[8m\U000e0041"


def test_a_command_shows_what_nobody_sees() -> None:
    """D19: what turns letters around, goes back to the beginning of the line or has no shape is written out."""
    request = command_request("c1", "a1", HIDING, "why", Asked("m9", False, False), session_key="s", expires_at_ms=1)

    shown = [detail.value for detail in request.details]
    assert shown == [WRITTEN, "why"]
    assert f"\n{WRITTEN}\n" in whole_command(HIDING)
    assert WRITTEN in with_whole_command(f"Allow? {HIDING}", HIDING)


def test_what_has_to_be_written_out_takes_its_room() -> None:
    """D19: such a command fits the card as it is shown, not as it is."""
    assert fits_the_card("x" * 3_000)
    assert not fits_the_card("\u202e" * 3_000)


def test_letters_line_ends_and_tabs_stay() -> None:
    """A command in several lines, and in any script, is shown as it stands."""
    command = "for f in שלום é; do\n\techo 🦊\ndone"

    request = command_request("c1", "a1", command, "why", Asked("m9", False, False), session_key="s", expires_at_ms=1)

    assert request.details[0].value == command
