"""What the Borgee platform relies on of Hermes: one row a symbol.

The rows mirror ``borgee_hermes/host.py`` and ``adapter.py``; a test holds them against the real host.
"""

from __future__ import annotations

from typing import Final

from canon_ops.hermes.contract import Need, Use
from canon_ops.hermes.contract_both import BASE, TOOLS_ASKED_ANEW, called, overridden

__all__ = ["BORGEE_NEEDS"]

_STORE: Final = "gateway.session:SessionStore"


BORGEE_NEEDS: Final[tuple[Need, ...]] = (
    # who the host is, and where
    Need("hermes_cli:__version__", Use.VALUE, "the audited table is asked with it"),
    Need("hermes_constants:get_hermes_home", Use.CALL, "the home whose inbox is opened"),
    Need("agent.secret_scope:is_multiplex_active", Use.CALL, "one process serves one agent"),
    # registration
    Need(
        "hermes_cli.plugins:PluginContext.register_platform",
        Use.CALL,
        "registers Borgee",
        keywords=("name", "label", "adapter_factory", "check_fn", "validate_config", "required_env", "install_hint"),
    ),
    Need(
        "hermes_cli.plugins:PluginContext.register_tool",
        Use.CALL,
        "gives the model Borgee's tools",
        keywords=("name", "toolset", "schema", "handler", "check_fn", "requires_env", "is_async", "description"),
    ),
    *TOOLS_ASKED_ANEW,
    Need(
        "gateway.platform_registry:PlatformEntry",
        Use.VALUE,
        "what a platform may say about itself",
        holds=(
            "name", "label", "adapter_factory", "check_fn", "validate_config", "is_connected", "required_env",
            "install_hint", "setup_fn", "apply_yaml_config_fn", "cron_deliver_env_var", "max_message_length",
            "pii_safe", "allow_update_command", "platform_hint", "emoji",
        ),
        without="the argument is left out",
    ),
    # commands, questions, locks, sessions
    Need("hermes_cli.commands:resolve_command", Use.CALL, "knows commands before they are stored", 1),
    Need("hermes_cli.commands:should_bypass_active_session", Use.CALL, "lets commands pass a running turn", 1),
    Need("hermes_cli.plugins:get_plugin_command_handler", Use.CALL, "knows plugins' commands", 1),
    Need(
        "tools.clarify_gateway:get_pending_for_session",
        Use.CALL,
        "an answer passes the turn that asks",
        1,
        ("include_choice_prompts",),
    ),
    Need("tools.clarify_gateway:mark_awaiting_text", Use.CALL, "a question with choices is answered in the channel", 1),
    Need(
        "tools.clarify_gateway:_entries",
        Use.VALUE,
        "a question says whether several choices may be taken",
        without="people are told to take one",
    ),
    Need("gateway.status:acquire_scoped_lock", Use.CALL, "one process for a home and a key", 3),
    Need("gateway.status:release_scoped_lock", Use.CALL, "frees them", 2),
    Need(f"{_STORE}.list_sessions", Use.CALL, "interrupted sessions are suspended before anything runs"),
    Need(f"{_STORE}.peek_session_id", Use.CALL, "whether the host knows a session", 1),
    Need(f"{_STORE}.suspend_session", Use.CALL, "a session in doubt begins afresh", 1),
    Need(f"{_STORE}.reset_session", Use.CALL, "a person's decision begins afresh", 1),
    # classes and values
    Need("gateway.config:Platform", Use.VALUE, "the platform's name as the host's enum"),
    Need("gateway.platforms.base:MessageType", Use.VALUE, "what kind a message is", holds=("TEXT",)),
    Need(
        "gateway.platforms.base:MessageEvent",
        Use.CALL,
        "hands a message to the host",
        keywords=(
            "text", "message_type", "source", "raw_message", "message_id", "reply_to_message_id", "channel_prompt",
            "timestamp",
        ),
    ),
    Need(
        "gateway.platforms.base:SendResult",
        Use.CALL,
        "answers a send",
        keywords=("success", "message_id", "error", "retryable"),
    ),
    Need(
        "gateway.session:build_session_key",
        Use.CALL,
        "receipts are ordered by the session's key",
        1,
        ("group_sessions_per_user", "thread_sessions_per_user"),
    ),
    # the base class: what the host calls
    Need(BASE, Use.CALL, "the adapter's base class", 2),
    overridden("name", "the platform's name in logs", is_async=False),
    overridden("authorization_is_upstream", "Borgee has applied membership", is_async=False),
    overridden("connect", "the platform starts", "is_reconnect"),
    overridden("disconnect", "the platform stops"),
    overridden("get_chat_info", "names a channel", "chat_id"),
    overridden("send", "whatever the host says", "chat_id", "content", "reply_to", "metadata"),
    overridden("edit_message", "a draft grows", "chat_id", "message_id", "content", "finalize", "metadata"),
    overridden(
        "send_clarify", "the agent asks its human",
        "chat_id", "question", "choices", "clarify_id", "session_key", "metadata",
    ),
    overridden("delete_message", "a message is taken away", "chat_id", "message_id"),
    overridden("send_typing", "nothing: reports about work say it", "chat_id", "metadata"),
    overridden("set_message_handler", "watches what a command's handler raises", "handler", is_async=False),
    overridden("on_processing_start", "a turn begins", "event"),
    overridden("on_processing_complete", "a turn ends", "event", "outcome"),
    overridden("get_pending_message", "a text put aside is taken into a turn", "session_key", is_async=False),
    overridden("interrupt_session_activity", "a stopped turn ends as that", "session_key", "chat_id", "metadata"),
    # the base class: what we call and look at
    called("handle_message", "hands a message to the host", 1, is_async=True),
    called(
        "build_source", "says where a message comes from", 0,
        "chat_id", "chat_name", "chat_type", "user_id", "user_name", "message_id",
    ),
    called("_unwrap_ephemeral", "reads the answer of a plugin's command", 1),
    called("_send_with_retry", "sends the answer of a plugin's command", 0, "chat_id", "content", "reply_to",
            is_async=True),
    called("_heal_stale_session_lock", "frees a session whose task is gone", 1),
    called("cancel_background_tasks", "ends turns at the end of a drain", is_async=True),
    called("_set_fatal_error", "tells why the platform is down", 2, "retryable"),
    called("_notify_fatal_error", "makes the host act on it", is_async=True),
    called("_mark_connected", "tells that the platform is up"),
    called("_mark_disconnected", "tells that it is down on purpose"),
    Need(f"{BASE}._active_sessions", Use.ATTRIBUTE, "which sessions are busy"),
    Need(f"{BASE}._background_tasks", Use.ATTRIBUTE, "what a drain waits for"),
    Need(f"{BASE}._busy_text_mode", Use.ATTRIBUTE, "text for a busy session is queued"),
    Need(f"{BASE}._session_store", Use.ATTRIBUTE, "the host's sessions"),
    Need(f"{BASE}._message_handler", Use.ATTRIBUTE, "runs a plugin's command"),
    Need(f"{BASE}._session_tasks", Use.ATTRIBUTE, "whose end frees a session",
         without="a session whose task vanished stays busy until its next message"),
    Need("gateway.run:GatewayRunner._startup_restore_queue", Use.ATTRIBUTE, "a message that was only put aside",
         without="it counts as done when the host says so"),
    Need("gateway.run:GatewayRunner._draining", Use.ATTRIBUTE, "an interrupted turn is no success",
         without="it counts as done when the host says so"),
    Need("gateway.run:GatewayRunner._external_drain_active", Use.ATTRIBUTE, "a host that drains is given no turn",
         without="a message that comes while it drains for somebody else gets its notice and no answer"),
    Need("gateway.run:GatewayRunner._session_run_generation", Use.ATTRIBUTE, "a text that it refused unread waits",
         without="a message that comes in the moment when it begins to drain may get its notice and no answer"),
)  # fmt: skip
