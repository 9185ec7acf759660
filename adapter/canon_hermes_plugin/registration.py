"""What the plugin tells the host when it is loaded, in this order: tools and skill, hooks, platform.

The host calls :func:`register` in every ``hermes`` process that discovers plugins, also in a short ``hermes status``,
and again after a forced rediscovery. So it imports no adapter and no network library, keeps no "already registered"
flag, and leaves the expensive work to the adapter factory, which only a gateway calls.

On a host that is not audited the platform is registered all the same, with a check function that is false and the
reason as install hint: a plugin that raised here would leave a gateway that looks healthy and never answers.

Source: Canon adapter R1.6-R1.11; decisions H1-H3.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from canon_hermes_plugin import probe
from canon_hermes_plugin.cli import SUBCOMMAND
from canon_hermes_plugin.host import (
    PLATFORM_NAME,
    HostFacts,
    platform_entry_fields,
    read_host_facts,
    register_toolset_alias,
)
from canon_ops.hermes.audited import Refused
from canon_ops.hermes.offering import PluginContext, audit_here, register_refusal
from canon_ops.wire.card_skill import DESCRIPTION, SKILL_NAME

__all__ = ["PLATFORM_HINT", "PluginContext", "register"]

logger = logging.getLogger(__name__)

LABEL: Final = "Canon"
INSTALL_HINT: Final = (
    "Register or reconnect a Canon agent profile: run `canon-ops setup canon`, or `hermes gateway setup`."
)
SKILL: Final = Path(__file__).parent / "skills" / SKILL_NAME / "SKILL.md"
PLATFORM_HINT: Final = (
    "You are chatting on Canon, a messenger for people and their agents. The conversation may be direct or a group. "
    "Be concise: everybody in the conversation reads what you post. Slash commands reach Hermes unchanged. "
    "Canon marks your final answer as the end of the turn, so it notifies once."
)
SKILL_HINT: Final = f"Before you write a card, load canon-hermes:{SKILL_NAME} with skill_view."


def register(ctx: PluginContext, *, facts: HostFacts | None = None) -> None:
    """Register Canon with the host, or the refusal of a host that is not audited.

    Args:
        ctx: the host's plugin context.
        facts: what the host and its interpreter are; read from this process when None.
    """
    found = facts or read_host_facts()
    verdict = audit_here(found.version, found.python, found.platform)
    if isinstance(verdict, Refused):
        register_refusal(ctx, verdict, name=PLATFORM_NAME, label=LABEL)
        return
    register_tools(ctx)
    has_skill = register_skill(ctx)
    register_hooks(ctx)
    SUBCOMMAND.offer(ctx)
    _register_platform(ctx, _entry(has_skill=has_skill))


def register_tools(ctx: PluginContext) -> None:
    """Register the agent's tools and the older name of their toolset; one refusal does not stop the others."""
    from canon_hermes_plugin.tools.offer import ALIAS, TOOLSET, offered_tools

    register_tool = getattr(ctx, "register_tool", None)
    if not callable(register_tool):
        return
    for tool in offered_tools():
        try:
            register_tool(
                name=tool.name,
                toolset=TOOLSET,
                schema=tool.schema,
                handler=tool.handler,
                check_fn=tool.is_available,
                is_async=True,
                description=tool.schema["description"],
                emoji="C",
            )
        except Exception:  # the host's own validation; the platform works without
            logger.error("Hermes refused the tool %s; the agent cannot use it", tool.name, exc_info=True)
    try:
        register_toolset_alias(ALIAS, TOOLSET)
    except Exception:  # as above
        logger.warning("Hermes refused the name %s for the toolset %s", ALIAS, TOOLSET, exc_info=True)


def register_skill(ctx: PluginContext) -> bool:
    """Register the page about cards; whether the host took it (R1.8)."""
    offer = getattr(ctx, "register_skill", None)
    if not callable(offer):
        return False
    try:
        offer(SKILL_NAME, SKILL, DESCRIPTION)
    except Exception:  # the host's own validation; the validator tells an agent what is wrong with a card all the same
        logger.warning("Hermes refused the skill %s; the agent writes cards without it", SKILL_NAME, exc_info=True)
        return False
    return True


def register_hooks(ctx: PluginContext) -> None:
    """Register the activity hooks; a context without hooks is left alone, and one refusal does not stop the others."""
    from canon_hermes_plugin.hooks import HOOK_NAMES, activity_hooks

    register_hook = getattr(ctx, "register_hook", None)
    if not callable(register_hook):
        return
    hooks = activity_hooks()
    for name in HOOK_NAMES:
        try:
            register_hook(name, getattr(hooks, name))
        except Exception:  # the host's own validation; the other hooks still count
            logger.warning("Hermes refused the hook %s; Canon shows less activity", name, exc_info=True)


def _entry(*, has_skill: bool) -> dict[str, Any]:
    """Every argument of the platform entry. Source: Canon adapter R1.8, R1.11."""
    return {
        "name": PLATFORM_NAME,
        "label": LABEL,
        "adapter_factory": _make_adapter,
        "check_fn": probe.is_ready,
        "validate_config": probe.is_configured,
        "is_connected": probe.is_configured,
        "required_env": [],
        "install_hint": INSTALL_HINT,
        "setup_fn": _run_setup,
        "env_enablement_fn": probe.enablement,
        "cron_deliver_env_var": "CANON_HOME_CHANNEL",
        "standalone_sender_fn": _send_standalone,
        "allowed_users_env": "CANON_ALLOWED_USERS",
        "allow_all_env": "CANON_ALLOW_ALL_USERS",
        "max_message_length": 0,  # no limit: a host would cut into messages that each notify; docs/decisions/0019
        "pii_safe": False,
        "allow_update_command": True,
        "platform_hint": f"{PLATFORM_HINT} {SKILL_HINT}" if has_skill else PLATFORM_HINT,
    }


def _register_platform(ctx: PluginContext, entry: Mapping[str, Any]) -> None:
    """Hand over the arguments that this host's platform entry knows: an unknown one would fail the whole plugin."""
    known = platform_entry_fields()
    ctx.register_platform(**{name: value for name, value in entry.items() if name in known})


def _make_adapter(config: Any) -> Any:
    """Build the adapter; only a gateway calls this, and only it pays for the imports."""
    from canon_hermes_plugin.adapter import adapter_class

    return adapter_class()(config)


def _run_setup() -> None:
    """Lead the setup dialogue inside ``hermes gateway setup``."""
    from canon_hermes_plugin.setup_dialogue import run_setup

    run_setup()


async def _send_standalone(*args: Any, **more: Any) -> dict[str, Any]:
    """Deliver a message from a process without a gateway, such as a cron run."""
    from canon_hermes_plugin.outbound.standalone import send_standalone

    result: dict[str, Any] = await send_standalone(*args, **more)
    return result
