"""The doctor's checks of the Borgee platform; the command line adds them to its own.

Most homes serve no Borgee, so what looks at the inbox, at locks and over the network is loaded only where there is
something to look at (:mod:`borgee_hermes.state_checks`, :mod:`borgee_hermes.setting_checks`).

Source: command-line contract 7; Borgee 2, 3, 4; decisions B2, B3, T4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Final

from borgee_hermes.inbox.place import inbox_file
from canon_ops.doctor.check import HOST_LIMIT_S, About, Answer, Check, Finding, Status
from canon_ops.doctor.examination import Examination

__all__ = ["CHECKS", "is_used"]

_UNUSED: Final = Finding(Status.OK, "Borgee is not set up here.")
_NAMES: Final = ("BORGEE_API_KEY", "BORGEE_API_KEY_REF")


def is_used(examination: Examination) -> bool:
    """Whether anything in this home says that it serves Borgee, or did.

    Raises:
        FactMissing: its files cannot be read, so nobody knows.
    """
    config = examination.config()
    listed = (*(config.enabled_plugins or ()), *config.disabled_plugins)
    if "borgee" in listed or config.tree.get("borgee") is not None or config.platform("borgee"):
        return True
    variables = examination.variables()
    return (
        any(found is not None and bool(found.value) for found in map(variables.find, _NAMES))
        or (inbox_file(examination.home.path)).exists()
    )


def _looking(module: str, name: str) -> Callable[[Examination], Answer]:
    """A check whose work is loaded where Borgee is used."""

    def look(examination: Examination) -> Answer:
        if not is_used(examination):
            return _UNUSED
        answer: Answer = getattr(import_module(f"borgee_hermes.{module}"), name)(examination)
        return answer

    return look


async def _server(examination: Examination) -> Answer:
    import asyncio

    if not await asyncio.to_thread(is_used, examination):
        return _UNUSED
    from borgee_hermes.server_check import look_at_server

    return await look_at_server(examination)


def _check(
    name: str,
    title: str,
    question: str,
    run: Callable[[Examination], Answer | Awaitable[Answer]],
    about: About,
    *,
    network: bool = False,
    limit_s: float = 30.0,
) -> Check:
    return Check(f"borgee.{name}", title, question, run, limit_s=limit_s, network=network, about=about)


CHECKS: Final = (
    _check(
        "plugin",
        "Borgee's plugin",
        "Is Borgee's plugin in the host, enabled and switched on?",
        _looking("plugin_checks", "look_at_plugin"),
        About(
            "The package was put there for Canon alone, the plugin was disabled, or the platform switched off.",
            "Hermes starts as ever, says nothing, and answers nobody on Borgee.",
            "Add borgee to plugins.enabled in config.yaml and set borgee.enabled to true.",
            ("plugins.enabled", "plugins.disabled", "borgee.enabled"),
        ),
        limit_s=HOST_LIMIT_S,
    ),
    _check(
        "contract",
        "Borgee's contract",
        "Has the host everything that Borgee relies on?",
        _looking("plugin_checks", "look_at_contract"),
        About(
            "This Hermes was changed by hand, or is of a version that nobody has tried Borgee on.",
            "The platform does not start, or fails at the first message that needs what is missing.",
            "Install an audited Hermes again: `canon-ops host list` names them.",
        ),
        limit_s=HOST_LIMIT_S,
    ),
    _check(
        "config",
        "Borgee's settings",
        "Can an adapter be made of Borgee's settings?",
        _looking("setting_checks", "look_at_config"),
        About(
            "A value was mistyped, the address is no origin, or somebody put the key into config.yaml.",
            "The adapter refuses to start; everybody who reads or shares the file would have the key.",
            "Repair the value that the finding names. The key belongs into .env, as BORGEE_API_KEY.",
            ("borgee.base_url", "borgee.allow_insecure_loopback", "borgee.max_concurrent_dispatches", "borgee.api_key"),
        ),
    ),
    _check(
        "key",
        "Borgee's key",
        "Is there a key for Borgee?",
        _looking("setting_checks", "look_at_key"),
        About(
            "No agent was set up here yet, or the line left .env.",
            "The gateway has nothing to connect with.",
            "Set BORGEE_API_KEY in the .env of this Hermes profile.",
            ("BORGEE_API_KEY", "BORGEE_API_KEY_REF"),
        ),
    ),
    _check(
        "sessions",
        "Shared sessions",
        "Does everybody in a channel share one session?",
        _looking("setting_checks", "look_at_sessions"),
        About(
            "Hermes gives each person of a group a session unless group_sessions_per_user is false.",
            "The adapter refuses to start: messages of one channel would run out of order, in several conversations.",
            "Set group_sessions_per_user to false in config.yaml. That holds for every platform of the gateway.",
            ("group_sessions_per_user",),
        ),
    ),
    _check(
        "busy_mode",
        "Queue mode",
        "Do messages wait while a turn runs?",
        _looking("setting_checks", "look_at_busy_mode"),
        About(
            "Hermes interrupts a running turn for a new message unless display.busy_input_mode is queue.",
            "The adapter refuses to start: its durable queue and Hermes' interruptions contradict each other.",
            "Set display.busy_input_mode to queue in config.yaml. That holds for every platform of the gateway.",
            ("display.busy_input_mode", "borgee.display.busy_input_mode"),
        ),
    ),
    _check(
        "streaming",
        "Streaming by platform",
        "Does anything try to switch streaming where no Hermes looks?",
        _looking("setting_checks", "look_at_streaming"),
        About(
            "Borgee's page names platforms.<name>.display.streaming.enabled; no audited Hermes reads it.",
            "The platform streams, or does not, as the other settings say, and the line misleads its readers.",
            "Say display.platforms.<name>.streaming instead, and take the line out.",
            ("display.platforms.borgee.streaming", "streaming.enabled"),
        ),
    ),
    _check(
        "gateway",
        "Borgee's connection",
        "Has the gateway that runs connected Borgee?",
        _looking("state_checks", "look_at_gateway"),
        About(
            "The gateway is older than the settings, its key was refused, the server is away, or its loop hangs.",
            "Nothing that people say to the agent on Borgee arrives.",
            "Read logs/gateway.log of the home; restart the gateway once the other findings are mended.",
            ("gateway_state.json", "plugins/borgee/health.json", "logs/gateway.log"),
        ),
    ),
    _check(
        "inbox",
        "Borgee's inbox",
        "Is the inbox whole, private, and worked off?",
        _looking("state_checks", "look_at_inbox"),
        About(
            "A disk lost something, a copy came with another mode, a newer version wrote it, or nobody works it off.",
            "The adapter refuses an inbox that it cannot trust; what people said waits in it.",
            "chmod 600 the file; or start the gateway, which takes up what waits.",
            ("plugins/borgee/inbox.sqlite3",),
        ),
    ),
    _check(
        "quarantine",
        "In doubt",
        "Does any session wait for a person's decision?",
        _looking("state_checks", "look_at_quarantine"),
        About(
            "A gateway was killed in the middle of a turn, or a command took too long: nobody knows how far it came.",
            "Later messages of that session wait, for as long as nobody decides.",
            "Look at the receipt; discard it, or requeue it when a second effect of it is acceptable.",
            ("plugins/borgee/inbox.sqlite3",),
        ),
    ),
    _check(
        "locks",
        "Borgee's locks",
        "Has nobody else this home, or its key?",
        _looking("state_checks", "look_at_locks"),
        About(
            "A second gateway was started on this home, or another home uses the same key.",
            "The second one refuses to connect Borgee.",
            "Stop one of the two, or give it an agent of its own.",
            ("HERMES_GATEWAY_LOCK_DIR", "BORGEE_API_KEY"),
        ),
    ),
    _check(
        "server",
        "Borgee's server",
        "Does the server take the key, as that agent?",
        _server,
        About(
            "The key was revoked or is another agent's, the agent was switched off, or the server is down.",
            "The gateway cannot connect. While one is connected nothing is asked: it would lose its place.",
            "Look at the agent in Borgee; give its key with canon-ops setup borgee.",
            ("BORGEE_API_KEY", "borgee.base_url", "borgee.agent_id"),
        ),
        network=True,
    ),
)
