"""What the Canon platform relies on of Hermes: one row a symbol.

The rows mirror what ``canon_hermes_plugin`` takes of a host: symbols in ``host.py``, the members that ``adapter.py``
overrides, and what any of its files reads of the host's adapter, runner and events. A test reads those files and fails
when they use something that stands in no row.
"""

from __future__ import annotations

from typing import Final

from canon_ops.hermes.contract import Need, Use
from canon_ops.hermes.contract_both import BASE, TOOLS_ASKED_ANEW, called, overridden

__all__ = ["CANON_NEEDS", "HOOKS"]

HOOKS: Final = "hermes_cli.plugins:VALID_HOOKS"
"""The names of the hooks that a plugin may register."""


_HOST_DECIDES: Final = "Hermes decides what a message does to a running turn, whatever its author asked for"


CANON_NEEDS: Final[tuple[Need, ...]] = (
    # who the host is, and where
    Need("hermes_cli:__version__", Use.VALUE, "the audited table is asked with it"),
    Need("hermes_constants:get_hermes_home", Use.CALL, "the home whose config.yaml is read"),
    Need("agent.secret_scope:is_multiplex_active", Use.CALL, "one process must not answer as several agents"),
    # registration
    Need(
        "hermes_cli.plugins:PluginContext.register_platform",
        Use.CALL,
        "registers Canon",
        keywords=("name", "label", "adapter_factory", "check_fn", "validate_config", "required_env", "install_hint"),
    ),
    Need("hermes_cli.plugins:PluginContext.register_hook", Use.CALL, "registers the activity hooks", 2),
    Need(
        "hermes_cli.plugins:PluginContext.register_tool",
        Use.CALL,
        "offers the agent Canon's tools",
        keywords=("name", "toolset", "schema", "handler", "check_fn", "is_async", "description", "emoji"),
    ),
    Need("tools.registry:registry", Use.VALUE, "the same", without="the toolset has one name only"),
    Need(
        "tools.registry:ToolRegistry.register_toolset_alias",
        Use.CALL,
        "the tools' older name in a configuration",
        2,
        without="the toolset has one name only",
    ),
    *TOOLS_ASKED_ANEW,
    Need(
        "hermes_cli.plugins:PluginContext.register_cli_command",
        Use.CALL,
        "registers `hermes canon`",
        keywords=("name", "help", "setup_fn", "handler_fn", "description"),
        without="`hermes canon` is not offered",
    ),
    Need(
        HOOKS,
        Use.VALUE,
        "tool calls are shown as activity; a run that a stop cut off is known",
        holds=(
            "pre_tool_call", "post_tool_call", "subagent_stop", "post_api_request", "api_request_error",
            "on_session_end",
        ),
        without="Canon shows less activity; half an answer may count as one when the gateway stops",
    ),
    Need(
        "gateway.platform_registry:PlatformEntry",
        Use.VALUE,
        "what a platform may say about itself",
        holds=(
            "name", "label", "adapter_factory", "check_fn", "validate_config", "is_connected", "required_env",
            "install_hint", "setup_fn", "env_enablement_fn", "cron_deliver_env_var", "standalone_sender_fn",
            "allowed_users_env", "allow_all_env", "max_message_length", "pii_safe", "allow_update_command",
            "platform_hint",
        ),
        without="the argument is left out",
    ),
    # the dialogue of `hermes gateway setup`
    Need("hermes_cli.setup:prompt", Use.CALL, "asks in Hermes' own dialogue", 1, ("default", "password")),
    Need("hermes_cli.setup:prompt_choice", Use.CALL, "asks in Hermes' own dialogue", 3),
    Need("hermes_cli.setup:prompt_yes_no", Use.CALL, "asks in Hermes' own dialogue", 2),
    Need("hermes_cli.setup:print_info", Use.CALL, "speaks in Hermes' own dialogue", 1),
    Need("hermes_cli.setup:print_success", Use.CALL, "speaks in Hermes' own dialogue", 1),
    Need("hermes_cli.setup:print_error", Use.CALL, "speaks in Hermes' own dialogue", 1),
    # classes and values
    Need("gateway.config:Platform", Use.VALUE, "the platform's name as the host's enum"),
    Need("gateway.config:DEFAULT_STREAMING_CURSOR", Use.VALUE, "the glyph behind unfinished drafts"),
    Need("gateway.config:GatewayConfig.streaming", Use.ATTRIBUTE, "the configured glyph"),
    Need("gateway.config:StreamingConfig.cursor", Use.ATTRIBUTE, "the configured glyph"),
    Need(
        "gateway.platforms.base:MessageType",
        Use.VALUE,
        "what kind a message is",
        holds=("TEXT", "COMMAND", "PHOTO", "VIDEO", "VOICE", "DOCUMENT"),
    ),
    Need("gateway.platforms.base:cache_image_from_bytes", Use.CALL, "keeps a picture for the model", 2),
    Need("gateway.platforms.base:cache_audio_from_bytes", Use.CALL, "keeps a recording for the model", 2),
    Need("gateway.platforms.base:cache_video_from_bytes", Use.CALL, "keeps a film for the model", 2),
    Need("gateway.platforms.base:cache_document_from_bytes", Use.CALL, "keeps a document for the model", 2),
    Need(
        "gateway.platforms.base:MessageEvent",
        Use.CALL,
        "hands a message to the host",
        keywords=(
            "text", "message_type", "source", "raw_message", "message_id", "media_urls", "media_types",
            "reply_to_message_id", "channel_prompt", "channel_context", "metadata",
        ),
    ),
    Need("gateway.platforms.base:MessageEvent.internal", Use.ATTRIBUTE, "a session that the host resumes by itself"),
    Need(
        "gateway.platforms.base:ProcessingOutcome",
        Use.VALUE,
        "how a run ended",
        holds=("SUCCESS", "FAILURE", "CANCELLED"),
    ),
    Need("gateway.config:PlatformConfig.extra", Use.ATTRIBUTE, "the settings that make a session's key"),
    Need(
        "gateway.platforms.base:SendResult",
        Use.CALL,
        "answers a send",
        keywords=("success", "message_id", "error", "raw_response", "retryable"),
    ),
    Need(
        "gateway.session:build_session_key",
        Use.CALL,
        "turns are found by the session's key",
        1,
        ("group_sessions_per_user", "thread_sessions_per_user"),
    ),
    Need("gateway.session_context:get_session_env", Use.CALL, "a tool's call belongs to a conversation", 2),
    # the base class: what the host calls
    Need(BASE, Use.CALL, "the adapter's base class", 2),
    overridden("name", "the platform's name in logs", is_async=False),
    overridden("authorization_is_upstream", "Canon has admitted the sender", is_async=False),
    overridden("message_len_fn", "lengths count in bytes", is_async=False),
    overridden("streaming_overflow_limit", "a draft may outgrow one message", is_async=False),
    overridden("connect", "the platform starts", "is_reconnect"),
    overridden("disconnect", "the platform stops"),
    overridden("get_chat_info", "names a conversation", "chat_id"),
    overridden("send", "whatever the host says", "chat_id", "content", "reply_to", "metadata"),
    overridden(
        "edit_message", "a draft grows", "chat_id", "message_id", "content", "finalize", "metadata"
    ),
    overridden(
        "send_clarify", "the agent asks its human",
        "chat_id", "question", "choices", "clarify_id", "session_key", "metadata",
    ),
    overridden("send_image", "a picture of the answer", "chat_id", "image_url", "caption", "reply_to", "metadata"),
    overridden("send_image_file", "the same", "chat_id", "image_path", "caption", "reply_to", "metadata"),
    overridden("send_voice", "a recording of it", "chat_id", "audio_path", "caption", "reply_to", "metadata"),
    overridden("send_video", "a film of it", "chat_id", "video_path", "caption", "reply_to", "metadata"),
    overridden(
        "send_document", "a file of it", "chat_id", "file_path", "caption", "file_name", "reply_to", "metadata"
    ),
    overridden("send_typing", "typing dots", "chat_id", "metadata"),
    overridden("stop_typing", "typing dots", "chat_id"),
    overridden("handle_message", "what is no answer to a question never becomes one", "event"),
    overridden("on_processing_start", "a turn opens", "event"),
    overridden("on_processing_complete", "a turn closes", "event", "outcome"),
    overridden("get_pending_message", "a queued message gets a turn of its own", "session_key", is_async=False),
    overridden("interrupt_session_activity", "a stopped turn ends as that", "session_key", "chat_id", "metadata"),
    overridden(
        "set_message_handler", "what comes while the host goes down is not answered with a notice", "handler",
        is_async=False,
    ),
    overridden(
        "set_busy_session_handler", "a message's own intent is honoured in a busy session", "handler", is_async=False
    ),
    # the base class: what we call
    called("handle_message", "hands a message to the host", 1, is_async=True),
    called(
        "build_source", "says where a message comes from", 0,
        "chat_id", "chat_name", "chat_type", "user_id", "user_name", "message_id",
    ),
    called("_set_fatal_error", "tells why the platform is down", 2, "retryable"),
    called("_notify_fatal_error", "makes the host act on it", is_async=True),
    called("_mark_connected", "tells that the platform is up"),
    called("_mark_disconnected", "tells that it is down on purpose"),
    called("pause_typing_for_chat", "rests the typing dots", 1),
    called("resume_typing_for_chat", "goes on with them", 1),
    Need(
        f"{BASE}.gateway_runner",
        Use.ATTRIBUTE,
        "leads to the configured glyph and the queue",
        without="our class declares it, and the host then sets it",
    ),
    Need(f"{BASE}.config", Use.ATTRIBUTE, "the platform's settings"),
    Need(f"{BASE}._pending_messages", Use.ATTRIBUTE, "how many messages wait, and correcting one of them"),
    Need(
        f"{BASE}._text_debounce",
        Use.ATTRIBUTE,
        "the same, while a burst is collected",
        without="a burst is corrected once it stands in the queue",
    ),
    Need(f"{BASE}._active_sessions", Use.ATTRIBUTE, "which sessions are busy"),
    Need("gateway.platforms.base:MessageEvent.is_command", Use.CALL, "a command is the host's, also in a busy session"),
    Need("gateway.platforms.base:MessageEvent.get_command", Use.CALL, "a /steer lifts a silence"),
    Need("gateway.platforms.base:MessageEvent.get_command_args", Use.CALL, "the same"),
    Need(
        "gateway.run:GatewayRunner._queue_or_replace_pending_event",
        Use.CALL,
        "a message waits for its session's turn to end",
        2,
        without=_HOST_DECIDES,
    ),
    Need(
        "gateway.run:GatewayRunner._running_agents",
        Use.ATTRIBUTE,
        "the agent that is interrupted, or takes words in the middle of its work",
        without=_HOST_DECIDES,
    ),
    Need(
        "gateway.run:GatewayRunner._is_user_authorized",
        Use.CALL,
        "who may do that",
        1,
        without=_HOST_DECIDES,
    ),
    Need(
        "gateway.run:GatewayRunner._agent_has_active_subagents",
        Use.CALL,
        "an interruption that would tear down sub-agents waits",
        1,
        without=_HOST_DECIDES,
    ),
    Need(  # a plain function on 0.18, awaited later; both are taken
        "gateway.run:GatewayRunner._session_has_compression_in_flight",
        Use.ATTRIBUTE,
        "an interruption that would fork a session waits",
        without=_HOST_DECIDES,
    ),
    Need(
        "gateway.run:GatewayRunner._plaintext_approval_words",
        Use.CALL,
        "a plain yes or no decides about a command where the host lacks the words",
        without="such a host takes each of the words itself",
    ),
    Need(
        "gateway.run:GatewayRunner._promote_queued_event",
        Use.CALL,
        "each queued message gets a turn of its own, and leaves the queued shelf when it begins",
        3,
        without="messages behind the first share its turn, and look queued on Canon until it ends",
    ),
    Need(
        "run_agent:AIAgent._pending_steer",
        Use.ATTRIBUTE,
        "words that no model has read forbid a silence",
        without="it is taken from the order of the model's requests",
    ),
    Need(
        "run_agent:AIAgent._drain_pending_steer",
        Use.CALL,
        "words that came too late for a run wait as a message",
        without="they may reach the model twice",
    ),
    Need(
        "tools.approval:has_blocking_approval",
        Use.CALL,
        "a plain yes or no answers an approval",
        1,
        without="it waits like any other message",
    ),
    Need(
        "tools.clarify_gateway:get_pending_for_session",
        Use.CALL,
        "a text that answers a question leaves the queued shelf",
        1,
        ("include_choice_prompts",),
        without="it looks queued on Canon until the session is idle",
    ),
    Need(
        "tools.slash_confirm:get_pending",
        Use.CALL,
        "only who typed a command confirms it",
        1,
        without="anybody in the session confirms a command that the host asks about",
    ),
    Need(
        "hermes_cli.commands:resolve_command",
        Use.CALL,
        "a command is known under each of its names",
        1,
        without="a command of the owner's is known under its own name only",
    ),
    Need("gateway.run:GatewayRunner._queued_events", Use.ATTRIBUTE, "the same, behind the first of them"),
    Need(
        "gateway.run:GatewayRunner._startup_restore_queue",
        Use.ATTRIBUTE,
        "the same, while the gateway starts",
        without="what came during the start is answered as it was",
    ),
    Need("gateway.run:GatewayRunner.config", Use.ATTRIBUTE, "the configured glyph"),
    Need(
        "gateway.run:GatewayRunner._startup_restore_in_progress",
        Use.ATTRIBUTE,
        "a message that was only queued is not settled, and resumed sessions get their time",
    ),
    Need("gateway.run:GatewayRunner._draining", Use.ATTRIBUTE, "a run that the gateway took down has not failed"),
    # what waits for people
    Need("tools.approval:resolve_gateway_approval", Use.CALL, "a person decides about a command", 2),
    Need("tools.clarify_gateway:resolve_gateway_clarify", Use.CALL, "a person answers a question", 2),
    Need("tools.clarify_gateway:mark_awaiting_text", Use.CALL, "a question can be answered in the chat as well", 1),
    Need(
        "tools.clarify_gateway:_entries",
        Use.VALUE,
        "a question that was answered in the chat is over on Canon too",
        without="such a question stays on Canon until its time is over",
    ),
    Need(
        "tools.clarify_gateway:get_clarify_timeout",
        Use.CALL,
        "nobody is shown a longer time than the host waits",
        without="Canon shows our own time",
    ),
    Need(
        "tools.approval:_get_approval_timeout",
        Use.CALL,
        "nobody is shown a longer time than the host waits",
        without="Canon shows our own time",
        elsewhere=("tools.approval_context:_get_approval_timeout",),
    ),
    Need(
        "tools.approval:list_gateway_approvals",
        Use.CALL,
        "an answer means the command that it was given for",
        1,
        without="a command is found in the host's own queue",
    ),
    Need(
        "tools.approval:_gateway_queues",
        Use.VALUE,
        "the same, on a host whose commands have no ids",
        without="commands are asked for as text",
    ),
    Need(
        "tools.approval:_lock",
        Use.VALUE,
        "the same",
        without="commands are asked for as text",
    ),
    Need(
        "gateway.run:_redact_approval_command",
        Use.CALL,
        "a command is found by what the host shows of it",
        1,
        without="a command with a secret in it is asked for as text",
    ),
    # what the host offers
    Need(
        "hermes_cli.commands:COMMAND_REGISTRY", Use.VALUE, "the host's commands in Canon's apps",
        without="no commands are offered",
    ),
    Need(
        "hermes_cli.commands:_is_gateway_available", Use.CALL, "only what a gateway takes is offered", 2,
        without="what is for the command line only is left out",
    ),
    Need(
        "hermes_cli.commands:_resolve_config_gates", Use.CALL, "commands that a setting opens",
        without="such commands are not offered",
    ),
    Need(
        "hermes_cli.commands:ACTIVE_SESSION_BYPASS_COMMANDS", Use.VALUE, "what can be used while a turn runs",
        without="a host that says it of each command is asked there",
    ),
    Need(
        "hermes_cli.commands:_iter_plugin_command_entries", Use.CALL, "commands of plugins",
        without="plugins' commands are not offered",
    ),
    Need("agent.skill_bundles:get_skill_bundles", Use.CALL, "bundles of skills", without="bundles are not offered"),
    Need("agent.skill_commands:get_skill_commands", Use.CALL, "skills", without="skills are not offered"),
    Need(
        "agent.skill_utils:get_disabled_skill_names", Use.CALL, "skills that are switched off for Canon",
        keywords=("platform",), without="they are offered all the same",
    ),
    Need(
        "gateway.session_context:set_session_vars", Use.CALL, "skills are looked up as in a session of Canon",
        keywords=("platform",), without="they are looked up for no platform",
    ),
    Need(
        "gateway.config:GatewayConfig.quick_commands", Use.ATTRIBUTE, "the operator's own commands",
        without="quick commands are not offered",
    ),
    # what some audited version lacks: rows of host.py with a stand-in of ours
    Need(
        "gateway.session:neutralize_untrusted_inline_text",
        Use.CALL,
        "a stranger's name on one line",
        1,
        without="our own neutraliser, which agrees with it",
    ),
    Need(
        "gateway.stream_consumer:ensure_closed_code_fences",
        Use.CALL,
        "the glyph is taken off behind a closed fence",
        1,
        without="such a host closes no fences in its drafts",
    ),
    Need(
        "tools.url_safety:_global_allow_private_urls",
        Use.CALL,
        "whether files may come from private addresses",
        without="the variable HERMES_ALLOW_PRIVATE_URLS alone is asked",
    ),
    Need(
        "agent.delegation_context:is_delegated_child_context",
        Use.CALL,
        "a delegated child's tools are not the turn's",
        without="such a host runs no child in its parent's context",
    ),
)  # fmt: skip
