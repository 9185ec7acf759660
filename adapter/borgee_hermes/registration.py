"""What the plugin tells the host when it is loaded: the tools, the subcommand, the platform.

The host calls :func:`register` in every ``hermes`` process that discovers plugins, so it imports no adapter and no
network library. On a host that is not audited the platform is registered all the same, with a check function that is
false and the reason as install hint: a plugin that raised here would leave a gateway that looks healthy.

Source: Borgee 2.6, 7; decisions H1-H3.
"""

from __future__ import annotations

from typing import Any, Final

from borgee_hermes import probe
from borgee_hermes.cli import SUBCOMMAND
from borgee_hermes.host import MAX_MESSAGE_CHARS, PLATFORM_NAME, HostFacts, platform_entry_fields, read_host_facts
from canon_ops.hermes.audited import Refused
from canon_ops.hermes.offering import PluginContext, audit_here, register_refusal
from canon_ops.settings.borgee_key import BORGEE_KEY

__all__ = ["PLATFORM_HINT", "PluginContext", "register"]

LABEL: Final = "Borgee"
INSTALL_HINT: Final = "Give the agent's key: run `canon-ops setup borgee`, or `hermes gateway setup`."
PLATFORM_HINT: Final = (
    "You are chatting through Borgee, a team chat. A channel is one shared conversation: several people write in it, "
    "so say whom you mean by name. The Server and channel ids of this conversation are in its Borgee context."
)


def register(ctx: PluginContext, *, facts: HostFacts | None = None) -> None:
    """Register Borgee with the host, or the refusal of a host that is not audited.

    Args:
        ctx: the host's plugin context.
        facts: what the host and its interpreter are; read from this process when None.
    """
    found = facts or read_host_facts()
    verdict = audit_here(found.version, found.python, found.platform)
    if isinstance(verdict, Refused):
        register_refusal(ctx, verdict, name=PLATFORM_NAME, label=LABEL)
        return
    register_tool = getattr(ctx, "register_tool", None)
    if callable(register_tool):
        from borgee_hermes.tools.bridge import register_tools

        register_tools(register_tool)
    SUBCOMMAND.offer(ctx)
    known = platform_entry_fields()
    ctx.register_platform(**{name: value for name, value in _entry().items() if name in known})


def _entry() -> dict[str, Any]:
    """Every argument of the platform entry."""
    return {
        "name": PLATFORM_NAME,
        "label": LABEL,
        "adapter_factory": _make_adapter,
        "check_fn": probe.has_key,
        "validate_config": probe.is_configured,
        "is_connected": probe.is_configured,
        "required_env": [BORGEE_KEY],
        "install_hint": INSTALL_HINT,
        "setup_fn": _run_setup,
        "apply_yaml_config_fn": probe.yaml_settings,
        "cron_deliver_env_var": "BORGEE_HOME_CHANNEL",
        "max_message_length": MAX_MESSAGE_CHARS,
        "pii_safe": True,
        "allow_update_command": False,
        "platform_hint": PLATFORM_HINT,
        "emoji": "💬",
    }


def _make_adapter(config: Any) -> Any:
    """Build the adapter; only a gateway calls this, and only it pays for the imports."""
    from borgee_hermes.adapter import adapter_class

    return adapter_class()(config)


def _run_setup() -> None:
    """Lead the setup dialogue inside ``hermes gateway setup``."""
    from borgee_hermes.setup_dialogue import run_setup

    run_setup()
