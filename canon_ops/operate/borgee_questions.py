"""The questions of ``setup borgee``: each takes an answer given beforehand, or asks, or takes its default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from canon_ops.operate.borgee_answers import BorgeeAgent, BorgeeAnswers, OtherAgent, SharedChange, SharedRefused
from canon_ops.operate.prompts import Prompts, Question
from canon_ops.operate.setup_answers import BadAnswer
from canon_ops.settings.borgee import canonical_origin
from canon_ops.settings.problems import BadEndpoint
from canon_ops.settings.provenance import Setting

__all__ = ["ask_address", "ask_keep", "ask_shared", "settle_pin"]

_WHAT_CHANGES: Final = {
    "group_sessions_per_user": "everybody in a group or channel shares one session",
    "display.busy_input_mode": "a message waits while a turn runs, and does not interrupt it",
}


def ask_address(prompts: Prompts, answers: BorgeeAnswers, *, known: str | None, allowed: bool) -> tuple[str, bool]:
    """The server's origin in its canonical form, and whether plain http to this machine is fine.

    Args:
        known: what config.yaml has now.
        allowed: plain http to this machine was agreed to before.
    """

    def complaint(text: str) -> str | None:
        try:
            canonical_origin(text, allow_insecure_loopback=True)
        except BadEndpoint as error:
            return error.what
        return None

    if answers.base_url is not None:
        if (why := complaint(answers.base_url)) is not None:
            raise BadAnswer("--base-url", why)
        text = answers.base_url
    else:
        default = known if known and complaint(known) is None else None
        question = Question("Address of the Borgee server", "--base-url", "an https origin: https://chat.example.com")
        text = prompts.text(question, default=default, validate=complaint)
    origin = canonical_origin(text, allow_insecure_loopback=True)
    if urlsplit(origin).scheme == "https":
        return origin, False
    loopback = answers.allow_insecure_loopback
    if loopback is None:
        question = Question(
            "That is plain http, which is only for a server on this very machine. Allow it?",
            "--allow-insecure-loopback",
        )
        loopback = prompts.confirm(question, default=allowed)
    if not loopback:
        fix = "give the https address of the server, or add --allow-insecure-loopback: it is on this very machine"
        raise BadAnswer("--base-url", "plain http is not allowed", fix=fix)
    return origin, True


def ask_keep(prompts: Prompts, answers: BorgeeAnswers, there: Setting) -> bool:
    """Whether the key that is there stays."""
    if answers.api_key is not None:
        return False
    if answers.keep_key is not None:
        return answers.keep_key
    question = Question(f"Keep the key that is there ({there.origin.describe()})?", "--keep-key")
    return prompts.confirm(question, default=True)


def settle_pin(prompts: Prompts, answers: BorgeeAnswers, agent: BorgeeAgent, pinned: str) -> str:
    """What ``borgee.agent_id`` becomes; empty where any agent will do.

    Raises:
        OtherAgent: the key is not of the agent that is asked for.
    """
    if answers.agent_id and answers.agent_id != agent.agent_id:
        raise OtherAgent(
            f"The Borgee key belongs to {agent.agent_id}, not to {answers.agent_id}",
            fix="give the key of that agent, or leave out --agent-id",
        )
    if answers.agent_id or pinned in ("", agent.agent_id):
        return answers.agent_id or pinned
    question = Question(
        f"borgee.agent_id asks for {pinned}, and the key is {agent.agent_id}'s. Run as {agent.agent_id} from now on?",
        "--agent-id",
    )
    if not prompts.confirm(question, default=False):
        raise OtherAgent(
            f"The Borgee key belongs to {agent.agent_id}, and borgee.agent_id asks for {pinned}",
            fix=f"give the key of {pinned}, or --agent-id {agent.agent_id}",
        )
    return agent.agent_id


def ask_shared(prompts: Prompts, answers: BorgeeAnswers, changes: Sequence[SharedChange]) -> None:
    """Get consent to what changes for every platform of the gateway. Source: decisions B3.

    Raises:
        SharedRefused: they say no, or nobody can be asked and no option says yes.
    """
    prompts.note("group_sessions_per_user: false and the queue mode hold for every platform of this gateway.")
    if not changes:
        return
    agreed = answers.change_shared
    if agreed is None:
        told = ", ".join(f"{one.path}: {_word(one.after)} (now {_word(one.before)})" for one in changes)
        effects = "; ".join(_WHAT_CHANGES.get(one.path.removeprefix("gateway."), "") for one in changes)
        question = Question(f"For every platform, set {told}?", "--change-shared", f"Then {effects}.")
        agreed = prompts.confirm(question, default=False)
    if not agreed:
        raise SharedRefused(tuple(changes))


def _word(value: object) -> str:
    if value is None:
        return "Hermes' default"
    return str(value).lower() if isinstance(value, bool) else str(value)
