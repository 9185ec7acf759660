"""The adapter class that the host builds: a thin layer of the host's names over :class:`~.runtime.CanonRuntime`.

The class is made for one host (:func:`build_adapter_class`) because its base class is the host's. It converts: a host
event into an :class:`~.ports.Arrival`, a :class:`~.ports.Reply` into the host's result, host settings into options.
It decides nothing.

Source: Canon adapter R1.14-R1.16, R6.3, R7.1; Appendix D.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from canon_hermes_plugin import host as host_door
from canon_hermes_plugin.busy.dispatcher import BusySessions
from canon_hermes_plugin.busy.door import Door
from canon_hermes_plugin.connection.descriptor import describe
from canon_hermes_plugin.gateway_runtime import make_runtime
from canon_hermes_plugin.host import MAX_MESSAGE_BYTES, Host
from canon_hermes_plugin.hosting.asking import asking_for_commands
from canon_hermes_plugin.hosting.commands import read_commands
from canon_hermes_plugin.hosting.people import HostPeople
from canon_hermes_plugin.hosting.queue import ABSORBED, HostQueue
from canon_hermes_plugin.inbound.gate import Request
from canon_hermes_plugin.inbound.inert import inert_name
from canon_hermes_plugin.media.kinds import FileKind
from canon_hermes_plugin.media.outgoing import FileWish
from canon_hermes_plugin.ports import Arrival, PeoplePort, Reply
from canon_hermes_plugin.runtime import CanonRuntime
from canon_ops.hermes.offering import forget_tool_checks
from canon_ops.wire.fields import JsonObject
from canon_ops.wire.splitting import PART_BYTES, byte_length

__all__ = ["adapter_class", "build_adapter_class"]

OVERFLOW_PARTS: Final = 16  # the host may grow one draft to this many parts; Canon adapter R7.10
_ARRIVAL: Final = "canon_arrival"


@cache
def adapter_class() -> type[Any]:
    """The adapter class of the host of this process."""
    return build_adapter_class(host_door.load_host())


def build_adapter_class(
    host: Host,
    *,
    refusal: Callable[[], str | None] = host_door.multiplex_refusal,
    runtime_for: Callable[..., CanonRuntime] = make_runtime,
) -> type[Any]:
    """Make the adapter class for ``host``.

    Args:
        refusal: why no adapter may exist in this process, asked before anything is read.
        runtime_for: makes the runtime from the port and the host's platform settings.
    """
    base: Any = asking_for_commands(host, lambda reply: _result(host, reply))

    async def send_file(adapter: Any, chat_id: str, wish: FileWish, reply_to: str | None, metadata: Any) -> Any:
        return _result(host, await adapter._canon.send_file(chat_id, wish, reply_to=reply_to, metadata=metadata))

    class CanonAdapter(base):  # type: ignore[misc]  # the host ships no types
        """Canon for the Hermes gateway."""

        REQUIRES_EDIT_FINALIZE = True
        MAX_MESSAGE_LENGTH = MAX_MESSAGE_BYTES
        splits_long_messages = True
        gateway_runner: Any = None  # 0.18 sets it only where a class has it; later hosts declare it themselves

        def __init__(self, config: Any) -> None:
            if sentence := refusal():
                raise RuntimeError(sentence)
            super().__init__(config, host.platform)
            self.send_clarify = self._send_clarify  # not in the class: the host would ask again in words (0090)
            self._port = _Port(self, host)
            self._canon = runtime_for(self._port, config)
            self._port.busy = BusySessions(
                self,
                self._port.queue,
                self._canon.busy,
                arrival_of=_arrival,
                has_blocking_approval=host_door.has_blocking_approval,
                is_asking=host_door.is_asking,
                session_of=lambda event: _session_key(self, host, event.source),
            )
            self._port.door = Door(
                self._port.busy,
                self._canon.busy,
                arrival_of=_arrival,
                quick_commands=self._port.quick_commands,
            )

        @property
        def name(self) -> str:
            return "Canon"

        @property
        def authorization_is_upstream(self) -> bool:
            """Canon admitted the sender; the allowlist of people is enforced by the runtime (decisions C2)."""
            return True

        @property
        def message_len_fn(self) -> Callable[[str], int]:
            return byte_length

        def streaming_overflow_limit(self) -> int:
            return PART_BYTES * OVERFLOW_PARTS

        async def connect(self, *, is_reconnect: bool = False) -> bool:
            connected: bool = await self._canon.connect()
            return connected

        async def disconnect(self) -> None:
            await self._canon.disconnect()

        async def get_chat_info(self, chat_id: str) -> dict[str, Any]:
            info: dict[str, Any] = await self._canon.chat_info(chat_id)
            return info

        async def send(self, chat_id: str, content: str, reply_to: str | None = None, metadata: Any = None) -> Any:
            return _result(host, await self._canon.send(chat_id, content, reply_to=reply_to, metadata=metadata))

        async def edit_message(
            self, chat_id: str, message_id: str, content: str, *, finalize: bool = False, metadata: Any = None
        ) -> Any:
            edited = self._canon.edit(chat_id, message_id, content, finalize=finalize, metadata=metadata)
            return _result(host, await edited)

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
            """A question of the agent; ``_later`` takes what other versions say besides (D1)."""
            return _result(host, await self._canon.clarify(chat_id, question, choices, clarify_id, session_key))

        async def send_image(
            self,
            chat_id: str,
            image_url: str,
            caption: str | None = None,
            reply_to: str | None = None,
            metadata: Any = None,
        ) -> Any:
            wish = FileWish(image_url, "image", is_link=True, caption=caption or "")
            return await send_file(self, chat_id, wish, reply_to, metadata)

        async def send_image_file(
            self,
            chat_id: str,
            image_path: str,
            caption: str | None = None,
            reply_to: str | None = None,
            metadata: Any = None,
            **more: Any,
        ) -> Any:
            return await send_file(
                self, chat_id, FileWish.of_file(image_path, "image", caption, more), reply_to, metadata
            )

        async def send_voice(
            self,
            chat_id: str,
            audio_path: str,
            caption: str | None = None,
            reply_to: str | None = None,
            metadata: Any = None,
            **more: Any,
        ) -> Any:
            return await send_file(
                self, chat_id, FileWish.of_file(audio_path, "audio", caption, more), reply_to, metadata
            )

        async def send_video(
            self,
            chat_id: str,
            video_path: str,
            caption: str | None = None,
            reply_to: str | None = None,
            metadata: Any = None,
            **more: Any,
        ) -> Any:
            return await send_file(
                self, chat_id, FileWish.of_file(video_path, "video", caption, more), reply_to, metadata
            )

        async def send_document(
            self,
            chat_id: str,
            file_path: str,
            caption: str | None = None,
            file_name: str | None = None,
            reply_to: str | None = None,
            metadata: Any = None,
            **more: Any,
        ) -> Any:
            wish = FileWish.of_file(file_path, "file", caption, {**more, "file_name": file_name})
            return await send_file(self, chat_id, wish, reply_to, metadata)

        async def send_typing(self, chat_id: str, metadata: Any = None) -> None:
            await self._canon.typing(chat_id, on=True, metadata=metadata)

        async def stop_typing(self, chat_id: str) -> None:
            await self._canon.typing(chat_id, on=False)

        async def handle_message(self, event: Any) -> None:
            """The host's way in, for whoever brings an event; what is no answer does not become one."""
            key = _session_key(self, host, event.source)
            await self._port.door.receive(event, key, super().handle_message)

        async def on_processing_start(self, event: Any) -> None:
            """A start without a text is the host's own: after a crash it resumes sessions, not saying for what."""
            is_resumed = bool(getattr(event, "internal", False)) and not event.text
            key = _session_key(self, host, event.source)
            self._port.busy.begins(event)
            adopted = await self._canon.turn_started(_arrival(event), key, is_resumed=is_resumed)
            if adopted is not None:
                _fill(event, adopted, host.message_types)
                self._port.remember(adopted)

        async def on_processing_complete(self, event: Any, outcome: Any) -> None:
            key = _session_key(self, host, event.source)
            await self._canon.turn_completed(key, outcome.value, str(event.source.chat_id))

        async def interrupt_session_activity(self, session_key: str, chat_id: str, metadata: Any = None) -> None:
            """The host ends the run of a session, for a command; its end may yet reach us as a success."""
            self._canon.busy.interrupting(session_key)
            self._port.busy.stopping(session_key)
            known = {} if metadata is None else {"metadata": metadata}  # Hermes 0.18 has none
            await super().interrupt_session_activity(session_key, chat_id, **known)

        def set_message_handler(self, handler: Any) -> None:
            """The host's own handler; its word that it takes no more messages is no answer to the one it got."""

            def is_unread(event: Any) -> bool:
                return self._port.is_stopping() and not self._canon.has_run(_session_key(self, host, event.source))

            super().set_message_handler(self._port.door.heard(handler, is_unread))

        def set_busy_session_handler(self, handler: Any) -> None:
            """The host hands its own handler over; ours stands in front of it."""
            super().set_busy_session_handler(self._port.busy.wire(handler))

        def get_pending_message(self, session_key: str) -> Any:
            """The host takes a queued message here: to answer it in the run that goes on, or to throw it away.

            Which, is known where it is taken for an answer (busy/dequeue.py); on a host without that, it counts as one.
            """
            event = super().get_pending_message(session_key)
            if event is not None and not self._port.busy.has_seam:
                self._port.busy.announce(session_key, event)
            return event

    return CanonAdapter


class _Port:
    """The host as the runtime sees it."""

    busy: BusySessions
    door: Door

    def __init__(self, adapter: Any, host: Host) -> None:
        self._adapter = adapter
        self._host = host
        self.queue = HostQueue(adapter, lambda event: _arrival(event).message_id)
        self._people = HostPeople(host_door.load_human_modules)

    def remember(self, request: Request) -> None:
        """What the host has from now on."""
        self.queue.handed(
            request.message_id,
            request.text,
            markers=request.markers,
            files=request.media_urls,
            arrival=Arrival.of(request),
        )

    async def hand_over(self, request: Request) -> None:
        self.remember(request)
        await self.busy.hand_over(self._event(request), self.session_of(request))

    def amend_waiting(self, message_id: str, text: str | None) -> bool:
        event = self.queue.event_of(message_id) if text is not None else None
        if event is not None and not self.door.may_say(event, text or "", self._key_of(event)):
            text = None  # what would be refused now does not come to its turn later
        return self.queue.amend(message_id, text)

    def _key_of(self, event: Any) -> str:
        return _session_key(self._adapter, self._host, event.source)

    def set_fatal(self, code: str, sentence: str, *, retryable: bool) -> None:
        self._adapter._set_fatal_error(code, sentence, retryable=retryable)

    async def tell_fatal(self) -> None:
        await self._adapter._notify_fatal_error()

    def mark_connected(self) -> None:
        self._adapter._mark_connected()

    def tools_changed(self) -> None:
        forget_tool_checks()

    def mark_disconnected(self) -> None:
        self._adapter._mark_disconnected()

    def pause_typing(self, conversation_id: str) -> None:
        self._adapter.pause_typing_for_chat(conversation_id)

    def resume_typing(self, conversation_id: str) -> None:
        self._adapter.resume_typing_for_chat(conversation_id)

    def streaming_cursor(self) -> str:
        runner = getattr(self._adapter, "gateway_runner", None)
        streaming = getattr(getattr(runner, "config", None), "streaming", None)
        cursor = getattr(streaming, "cursor", None)
        return cursor if isinstance(cursor, str) else self._host.default_cursor

    def close_code_fences(self, text: str) -> str:
        return self._host.close_code_fences(text)

    def inert_name(self, name: str) -> str:
        return inert_name(self._host.neutralize_inline(name))

    def session_of(self, request: Request) -> str:
        return _session_key(self._adapter, self._host, self._source(request))

    def is_busy(self, session_key: str) -> bool:
        return self.queue.is_busy(session_key)

    def stop_now(self, request: Request) -> bool:
        event = self._event(request)
        return self.door.stop_now(event, self._key_of(event))

    def command_of(self, text: str) -> str | None:
        return host_door.command_name(self.door.command_of(text)[0] or "")

    def keep_file(self, kind: FileKind, data: bytes, name: str) -> str:
        return str(self._host.cache_media[kind.value](data, name))

    def allows_private_urls(self) -> bool:
        return self._host.allows_private_urls()

    def holds(self, message_id: str) -> bool:
        return self.queue.holds(message_id)

    def note_joined(self, message_id: str) -> bool:
        return self.queue.note_joined(message_id)

    def is_gate_open(self) -> bool:
        """A runner that does not say counts as starting: a message that it only queued must not be settled."""
        runner = getattr(self._adapter, "gateway_runner", None)
        return runner is None or not getattr(runner, "_startup_restore_in_progress", True)

    def is_stopping(self) -> bool:
        """A runner that does not say counts as stopping: the end of a run without evidence then decides nothing."""
        runner = getattr(self._adapter, "gateway_runner", None)
        return runner is not None and bool(getattr(runner, "_draining", True))

    def queue_depth(self, session_key: str) -> int:
        return self.queue.depth(session_key)

    def waiting_in(self, conversation_id: str) -> list[tuple[str, str | None]]:
        return self.queue.waiting_in(conversation_id)

    def drop_queue(self, session_key: str) -> None:
        self.busy.drop(session_key)

    async def serve_waiting(self) -> None:
        await self.busy.serve()

    def can_steer(self) -> bool:
        return self.busy.can_route

    def has_unread_steering(self, session_key: str) -> bool:
        return self.busy.has_unread(session_key)

    def steering_read(self, session_key: str) -> int:
        return self.busy.read_up_to(session_key)

    def run_ended(self, session_key: str, unread: Collection[int], *, is_stopped: bool) -> None:
        self.busy.run_ended(session_key, unread, is_stopped=is_stopped)

    def follow_up_over(self, session_key: str, *, has_begun: bool) -> bool:
        return self.busy.follow_up_over(session_key, has_begun=has_begun)

    def descriptor(self) -> JsonObject:
        return describe(*read_commands(host_door.load_command_sources(), self.quick_commands()))

    def quick_commands(self) -> object:
        """The operator's short names, as the host's configuration has them."""
        runner = getattr(self._adapter, "gateway_runner", None)
        return getattr(getattr(runner, "config", None), "quick_commands", None)

    @property
    def people(self) -> PeoplePort:
        return self._people

    def _source(self, request: Request) -> Any:
        return self._adapter.build_source(
            chat_id=request.conversation_id,
            chat_name=request.chat_name,
            chat_type="group" if request.is_group else "dm",
            user_id=request.user_id,
            user_name=request.user_name,
            message_id=request.message_id,
        )

    def _event(self, request: Request) -> Any:
        """The host's event: keywords only, because its fields change places between versions."""
        intent = request.delivery_intent.value if request.delivery_intent is not None else None
        event = self._host.message_event(
            text=request.text,
            message_type=self._host.message_types[request.type.value],
            source=self._source(request),
            raw_message=dict(request.raw),
            message_id=request.message_id,
            media_urls=list(request.media_urls),
            media_types=list(request.media_types),
            reply_to_message_id=request.reply_to,
            channel_prompt=request.channel_prompt,
            channel_context=request.channel_context,
            metadata={"deliveryIntent": intent} if intent else {},
        )
        event.delivery_intent = intent
        setattr(event, _ARRIVAL, Arrival.of(request))
        return event


def _fill(event: Any, request: Request, message_types: Mapping[str, Any]) -> None:
    """Make the host's own start of a session the run of a message, before the host looks at it."""
    event.text = request.text
    event.message_type = message_types[request.type.value]
    event.media_urls = list(request.media_urls)
    event.media_types = list(request.media_types)
    event.message_id = request.message_id
    event.raw_message = dict(request.raw)
    event.reply_to_message_id = request.reply_to
    event.channel_prompt = request.channel_prompt
    event.channel_context = request.channel_context
    setattr(event, _ARRIVAL, Arrival.of(request))


def _arrival(event: Any) -> Arrival:
    """What the runtime knows of the event: what it attached itself, or the bare conversation of an internal start."""
    known = getattr(event, _ARRIVAL, None)
    if isinstance(known, Arrival):
        return replace(known, absorbed=tuple(getattr(event, ABSORBED, ())))
    message_id = event.message_id if isinstance(event.message_id, str) else None
    return Arrival(str(event.source.chat_id), message_id, responder_id=event.source.user_id or None)


def _session_key(adapter: Any, host: Host, source: Any) -> str:
    """The key under which the host runs the source; both sides read the same two settings (hermes-host 9.1)."""
    settings: Mapping[str, Any] = adapter.config.extra
    return host.session_key(
        source,
        group_sessions_per_user=settings.get("group_sessions_per_user", True),
        thread_sessions_per_user=settings.get("thread_sessions_per_user", False),
    )


def _result(host: Host, reply: Reply) -> Any:
    return host.send_result(
        success=reply.success,
        message_id=reply.message_id,
        error=reply.error,
        raw_response=dict(reply.raw) if reply.raw is not None else None,
        retryable=reply.retryable,
    )
