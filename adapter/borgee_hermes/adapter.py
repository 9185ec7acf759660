"""The adapter class that the host builds: a thin layer of the host's names over :class:`~.runtime.BorgeeRuntime`.

The class is made for one host because its base class is the host's. It converts and passes on; it decides nothing.

Source: Borgee 4.7, 5.1, 5.6, 6, 8.7.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from borgee_hermes import host as host_door
from borgee_hermes import probe
from borgee_hermes.busy import BusySessions
from borgee_hermes.host import MAX_MESSAGE_CHARS, Host, HostCommands, HostLocks
from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.records import Receipt
from borgee_hermes.parts import Parts
from borgee_hermes.ports import Commands, HostSession, Reply, context_words
from borgee_hermes.question import question_text
from borgee_hermes.runtime import BorgeeRuntime
from canon_ops.errors import OutsideError
from canon_ops.hermes.offering import NOTICE_MARK, forget_tool_checks
from canon_ops.keyring.access import Keyring
from canon_ops.operate.profile_key import key_of_borgee
from canon_ops.runtime.clock import SystemClock
from canon_ops.settings.borgee import MULTIPLEX, BorgeeOptions, read_borgee, startup_refusal
from canon_ops.settings.secret import Secret
from canon_ops.wire.messages import inline_text

__all__ = ["adapter_class", "build_adapter_class"]

SEQ: Final = "borgee_ingest_seq"
LATEST_SECONDS: Final = 100_000_000_000  # a larger time is in milliseconds; Borgee 5.6


@cache
def adapter_class() -> type[Any]:
    """The adapter class of the host of this process."""
    return build_adapter_class(host_door.load_host())


def build_adapter_class(host: Host, *, parts_for: Callable[[Any], Parts] | None = None, **more: Any) -> type[Any]:
    """Make the adapter class for ``host``.

    Args:
        parts_for: makes the runtime's parts from the host's platform settings.
        more: further arguments of the runtime.
    """
    base: Any = host.base_adapter
    make_parts = parts_for or parts_of

    class BorgeeAdapter(base):  # type: ignore[misc]  # the host ships no types
        """Borgee for the Hermes gateway."""

        MAX_MESSAGE_LENGTH = MAX_MESSAGE_CHARS
        supports_async_delivery = True
        splits_long_messages = False
        gateway_runner: Any = None  # 0.18 sets it only where a class has it

        def __init__(self, config: Any) -> None:
            super().__init__(config, host.platform)
            self._borgee = BorgeeRuntime(_Port(self, host), make_parts(config), host_version=host.version, **more)
            self.send_clarify = self._send_clarify  # not in the class: the host would ask again in its words (0090)
            self._active_sessions = BusySessions(self._session_changed)
            self._busy_text_mode = "queue"

        @property
        def name(self) -> str:
            return "Borgee"

        @property
        def authorization_is_upstream(self) -> bool:
            """Borgee has applied membership and require-mention before an event comes here."""
            return True

        async def connect(self, *, is_reconnect: bool = False) -> bool:
            return await self._borgee.connect()

        async def disconnect(self) -> None:
            await self._borgee.disconnect()

        async def close(self) -> None:
            await self._borgee.disconnect()

        async def remediate_receipt(
            self, ingest_seq: int, action: str, *, confirm_duplicate_side_effect_risk: bool = False
        ) -> bool:
            """Discard or requeue a quarantined receipt; false when it is none."""
            risk = confirm_duplicate_side_effect_risk
            return await self._borgee.remediate(ingest_seq, action, confirm_risk=risk)

        async def terminal_watermark(self) -> int:
            """The highest receipt up to which everything is settled."""
            return await self._borgee.terminal_watermark()

        # -- going out --------------------------------------------------------------------------------------------

        async def send(self, chat_id: str, content: str, reply_to: str | None = None, metadata: Any = None) -> Any:
            return _result(host, await self._borgee.send(chat_id, content, reply_to=reply_to))

        async def edit_message(
            self, chat_id: str, message_id: str, content: str, *, finalize: bool = False, metadata: Any = None
        ) -> Any:
            return _result(host, await self._borgee.edit(message_id, content))

        async def _send_clarify(
            self,
            chat_id: str,
            question: str,
            choices: list[Any] | None,
            clarify_id: str,
            session_key: str,
            metadata: Any = None,
            **_later: Any,
        ) -> Any:
            """A question of the agent, in words of ours; the answer is the next message of the channel."""
            asked = question_text(question, choices, takes_several=host_door.takes_several(clarify_id))
            if choices:
                host_door.await_text(clarify_id)
            return await self.send(chat_id, asked, metadata=metadata)

        async def delete_message(self, chat_id: str, message_id: str) -> bool:
            return await self._borgee.delete(message_id)

        async def send_typing(self, chat_id: str, metadata: Any = None) -> None:
            """Nothing: the reports about work say it already (W13)."""

        async def get_chat_info(self, chat_id: str) -> dict[str, Any]:
            return {"name": chat_id, "type": await self._borgee.channel_type(chat_id)}

        # -- the host's turns -------------------------------------------------------------------------------------

        def set_message_handler(self, handler: Any) -> None:
            """Take the host's handler with a watch on it: what it raises for a command, the host only logs."""

            async def watched(event: Any) -> Any:
                dispatcher, seq = self._borgee.dispatcher, _seq(event)
                if dispatcher is None or seq is None:
                    return await handler(event)
                if not dispatcher.handler_entered(seq):
                    return None
                try:
                    answer = await handler(event)
                except Exception as error:
                    dispatcher.handler_raised(seq, error)
                    raise
                return answer if dispatcher.handler_returned(seq, answer) else None

            super().set_message_handler(watched if handler is not None else None)

        async def on_processing_start(self, event: Any) -> None:
            dispatcher, seq = self._borgee.dispatcher, _seq(event)
            if dispatcher is not None and seq is not None:
                dispatcher.turn_started(seq)

        async def on_processing_complete(self, event: Any, outcome: Any) -> None:
            if self._borgee.dispatcher is not None:
                key = _session_key(self, host, event.source)
                self._borgee.dispatcher.turn_completed(_seq(event), key, outcome.value, event)

        async def interrupt_session_activity(self, session_key: str, chat_id: str, metadata: Any = None) -> None:
            """The host ends the run of a session, for a command."""
            if self._borgee.dispatcher is not None:
                self._borgee.dispatcher.session_interrupted(session_key)
            known = {} if metadata is None else {"metadata": metadata}  # Hermes 0.18 has none
            await super().interrupt_session_activity(session_key, chat_id, **known)

        def get_pending_message(self, session_key: str) -> Any:
            """The host takes a message that it had put aside into the turn that runs."""
            event = super().get_pending_message(session_key)
            dispatcher, seq = self._borgee.dispatcher, _seq(event)
            if dispatcher is not None and seq is not None:
                dispatcher.turn_taken_up(seq, session_key)
            return event

        def _session_changed(self, session_key: str, is_busy: bool) -> None:
            if is_busy:
                self._heal_when_over(session_key)
            if self._borgee.dispatcher is not None:
                self._borgee.dispatcher.session_changed(session_key, is_busy=is_busy)

        def _heal_when_over(self, session_key: str) -> None:
            """A task that ends without freeing its session would keep it busy for ever; the host heals that itself,
            but only when it is given another message, and a busy session is given none."""
            task = getattr(self, "_session_tasks", {}).get(session_key)
            if task is not None:
                task.add_done_callback(lambda _: self._look_for_stale_lock(session_key))

        def _look_for_stale_lock(self, session_key: str) -> None:
            if session_key in self._active_sessions and not self._heal_stale_session_lock(session_key):
                self._heal_when_over(session_key)

    return BorgeeAdapter


def parts_of(config: Any) -> Parts:
    """The parts of a gateway's adapter: its settings, its key, the real client, its home's inbox."""

    def check() -> BorgeeOptions:
        extra = probe.extra_of(config)
        probe.refuse_key_in(config)
        if host_door.is_multiplexing():
            extra = {**extra, MULTIPLEX: True}
        if refusal := startup_refusal(extra):
            raise refusal
        return read_borgee(extra)

    def find_key() -> Secret:
        return key_of_borgee(probe.key_of(os.environ), Keyring())

    def open_session(options: BorgeeOptions, key: Secret, handlers: Any) -> Any:
        from borgee_hermes.bpp.client import BppClient, BppOptions

        wanted = BppOptions(base_url=options.origin, api_key=key)
        return BppClient(wanted, clock=SystemClock(), handlers=handlers)

    return Parts(
        home=host_door.home_folder(),
        check=check,
        find_key=find_key,
        open_session=open_session,
        inbox=lambda home: Inbox(inbox_file(home)),
        locks=HostLocks(),
    )


class _Port:
    """The host as the runtime sees it."""

    def __init__(self, adapter: Any, host: Host) -> None:
        self._adapter = adapter
        self._host = host
        self._commands = HostCommands()

    @property
    def commands(self) -> Commands:
        return self._commands

    def unready(self) -> str | None:
        if getattr(self._adapter, "_session_store", None) is None:
            return "Hermes has given the Borgee adapter no session store"
        if self._adapter._message_handler is None:
            return "Hermes has given the Borgee adapter no message handler"
        return None

    def force_queue_mode(self) -> None:
        self._adapter._busy_text_mode = "queue"

    def session_key(self, channel_id: str, channel_type: str) -> str:
        source = self._adapter.build_source(chat_id=channel_id, chat_type=_chat_type(channel_type))
        return _session_key(self._adapter, self._host, source)

    # -- a turn -------------------------------------------------------------------------------------------------------

    def event(self, receipt: Receipt) -> Any:
        return self._host.message_event(
            text=receipt.effective_body,
            message_type=self._host.text_type,
            source=self._adapter.build_source(
                chat_id=receipt.channel_id,
                chat_name=receipt.channel_id,
                chat_type=_chat_type(receipt.channel_type),
                user_id=receipt.author_id or None,
                user_name=inline_text(receipt.author_name) or receipt.author_id or None,
                message_id=receipt.message_id,
            ),
            raw_message={SEQ: receipt.ingest_seq},
            message_id=receipt.message_id,
            reply_to_message_id=receipt.reply_to_id,
            channel_prompt=_context_prompt(receipt),
            timestamp=_time(receipt.source_created_at),
        )

    async def hand_over(self, event: Any) -> None:
        await self._adapter.handle_message(event)

    async def run_inline(self, event: Any) -> None:
        answer = await self._adapter._message_handler(event)
        text, _ = self._adapter._unwrap_ephemeral(answer)
        if not text:
            return
        sent = await self._adapter._send_with_retry(
            chat_id=event.source.chat_id, content=text, reply_to=event.message_id
        )
        if not sent.success:
            raise OutsideError("the answer of a command was not sent")

    def is_busy(self, session_key: str) -> bool:
        return session_key in self._adapter._active_sessions

    def busy_sessions(self) -> list[str]:
        return list(self._adapter._active_sessions)

    def is_held(self, event: Any) -> bool:
        held = getattr(self._adapter.gateway_runner, "_startup_restore_queue", None) or ()
        return any(each is event for each in held)

    def takes_turns(self) -> bool:
        runner = self._adapter.gateway_runner
        return not (getattr(runner, "_draining", False) or getattr(runner, "_external_drain_active", False))

    def is_stopping(self) -> bool:
        return bool(getattr(self._adapter.gateway_runner, "_draining", False))

    def runs_begun(self, session_key: str) -> int | None:
        begun = getattr(self._adapter.gateway_runner, "_session_run_generation", None)
        return None if begun is None else int(begun.get(session_key, 0))

    def is_notice(self, answer: Any) -> bool:
        return isinstance(answer, str) and answer.startswith(NOTICE_MARK)

    async def drain(self) -> None:
        while running := [task for task in self._adapter._background_tasks if not task.done()]:
            await asyncio.wait(running)

    async def cancel_turns(self) -> None:
        await self._adapter.cancel_background_tasks()

    # -- sessions: all of these block ---------------------------------------------------------------------------------

    def sessions(self) -> list[HostSession]:
        found = [
            HostSession(str(entry.session_key), bool(getattr(entry, "resume_pending", False)))
            for entry in self._adapter._session_store.list_sessions()
        ]
        return [session for session in found if _is_ours(session.key)]

    def has_session(self, session_key: str) -> bool:
        return self._adapter._session_store.peek_session_id(session_key) is not None

    def suspend(self, session_key: str) -> bool:
        return bool(self._adapter._session_store.suspend_session(session_key))

    def reset(self, session_key: str) -> bool:
        return self._adapter._session_store.reset_session(session_key) is not None

    # -- state --------------------------------------------------------------------------------------------------------

    def tools_changed(self) -> None:
        forget_tool_checks()

    def mark_connected(self) -> None:
        self._adapter._mark_connected()

    def mark_disconnected(self) -> None:
        self._adapter._mark_disconnected()

    def set_fatal(self, code: str, sentence: str, *, retryable: bool) -> None:
        self._adapter._set_fatal_error(code, sentence, retryable=retryable)

    async def tell_fatal(self) -> None:
        await self._adapter._notify_fatal_error()


def _seq(event: Any) -> int | None:
    """The receipt of an event; None for one that is not ours."""
    raw = getattr(event, "raw_message", None)
    found = raw.get(SEQ) if isinstance(raw, dict) else None
    return found if isinstance(found, int) else None


def _session_key(adapter: Any, host: Host, source: Any) -> str:
    """Everybody in a channel shares one session, whatever the gateway's own setting says by then."""
    key: str = host.session_key(source, group_sessions_per_user=False, thread_sessions_per_user=False)
    return key


def _is_ours(session_key: str) -> bool:
    parts = session_key.split(":")
    return len(parts) >= 4 and parts[0] == "agent" and parts[2] == "borgee"


def _chat_type(channel_type: str) -> str:
    return "dm" if channel_type == "dm" else "channel"


def _time(created_at: int) -> datetime:
    """A wire's time in milliseconds, or in seconds; now, when it is no time at all."""
    seconds = created_at / 1000 if created_at > LATEST_SECONDS else created_at
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.now(UTC)


def _context_prompt(receipt: Receipt) -> str:
    """Where the conversation stands, for the model: as JSON, so that no id can pose as anything else."""
    return "Borgee conversation context: " + json.dumps(context_words(receipt), ensure_ascii=True, sort_keys=True)


def _result(host: Host, reply: Reply) -> Any:
    return host.send_result(success=reply.success, message_id=reply.message_id, error=reply.error, retryable=False)
