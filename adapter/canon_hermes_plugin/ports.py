"""What passes between the adapter class, which knows the host, and the runtime, which does not.

The runtime is given a :class:`HostPort`; the adapter is given back plain values. Neither side sees the other's types,
so the runtime is tested with a fake port of a few lines, and another host version changes only the adapter side.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from canon_hermes_plugin.inbound.gate import Request
from canon_hermes_plugin.inbound.own_messages import is_own
from canon_hermes_plugin.media.kinds import FileKind
from canon_ops.wire.fields import JsonObject
from canon_ops.wire.messages import ReplyAuthority
from canon_ops.wire.requests import Disposition

__all__ = ["Arrival", "HostPort", "PeoplePort", "Reply", "Waiting", "WaitingCommand"]


@dataclass(frozen=True, slots=True)
class Arrival:
    """What the runtime must know of a message when its turn starts.

    Attributes:
        message_id: the Canon message that opens the turn; None for an internal start without one.
        responder_id: the person who may be asked back; None when an agent opened the turn.
        authority: the server's leave to answer that message.
        item_id: what the inbox knows the message by.
        turn_id: the turn that this one is, decided before it starts; None leaves that open.
        is_recovered: an earlier run of the message died with its gateway.
        is_said: somebody said it on Canon, so Canon wants to hear when it is read.
        is_queued: it stands on the queued shelf there until it is released.
        has_attachments: it came with some, whether the host got their bytes or not.
        absorbed: the messages that the host has merged into it.
    """

    conversation_id: str
    message_id: str | None = None
    responder_id: str | None = None
    authority: ReplyAuthority | None = field(default=None, repr=False)
    item_id: str | None = None
    turn_id: str | None = None
    is_recovered: bool = False
    is_said: bool = False
    is_queued: bool = False
    has_attachments: bool = False
    absorbed: tuple[Arrival, ...] = ()

    @classmethod
    def of(cls, request: Request) -> Arrival:
        """What starting ``request`` means."""
        message = request.raw.get("message")
        metadata = message.get("metadata") if isinstance(message, Mapping) else None
        disposition = metadata.get("inboundDisposition") if isinstance(metadata, Mapping) else None
        return cls(
            request.conversation_id,
            request.message_id,
            request.user_id,
            request.authority,
            request.item_id,
            request.turn_id,
            request.is_recovered,
            is_said=isinstance(message, Mapping) and not is_own(request.raw),
            is_queued=disposition == Disposition.QUEUED,
            has_attachments=isinstance(message, Mapping) and bool(message.get("attachments")),
        )

    @property
    def repeats(self) -> bool:
        """Whether an earlier run of one of its messages died with its gateway."""
        return any(one.is_recovered for one in (self, *self.absorbed))

    @property
    def message_ids(self) -> tuple[str, ...]:
        """The Canon messages that it stands for, its own first."""
        return tuple(one.message_id for one in (self, *self.absorbed) if one.message_id is not None)

    @property
    def item_ids(self) -> tuple[str, ...]:
        """Likewise, as the inbox knows them."""
        return tuple(one.item_id for one in (self, *self.absorbed) if one.item_id is not None)

    @property
    def merged_items(self) -> tuple[str, ...]:
        """The items of the messages that the host has merged into it."""
        return tuple(one.item_id for one in self.absorbed if one.item_id is not None)


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a send or an edit; the adapter turns it into the host's ``SendResult``."""

    success: bool
    message_id: str | None = None
    error: str | None = None
    raw: Mapping[str, Any] | None = None
    retryable: bool = False


class Waiting(Protocol):
    """An agent's thread that waits for a person. Callable from the loop; nothing here waits."""

    def is_open(self) -> bool:
        """Whether nobody has answered, by whatever way."""
        ...

    def resolve(self, answer: str) -> bool:
        """Answer; False when it waits no longer, and then nothing was done."""
        ...


class WaitingCommand(Waiting, Protocol):
    """Likewise, with a command that somebody has to allow; the answer is ``once``, ``session`` or ``deny``."""

    @property
    def is_matched(self) -> bool:
        """Whether the host tells this command from others, so that an answer can mean it."""
        ...


class PeoplePort(Protocol):
    """What waits inside the host for people."""

    def question(self, clarify_id: str) -> Waiting:
        """A question that the host is about to wait with."""
        ...

    def approval(self, session_key: str, command: str, description: str) -> WaitingCommand:
        """A command that the host waits with, by what it shows of it."""
        ...

    def oldest_question(self, session_key: str) -> str | None:
        """The question that the next text in a session would answer; None when it waits with none."""
        ...

    def is_answered(self, clarify_id: str) -> bool:
        """Whether a question has its answer, which its thread has not taken yet."""
        ...

    def has_more_commands(self, session_key: str, known: int) -> bool:
        """Whether more commands wait in a session than ``known``."""
        ...

    def confirming(self, session_key: str) -> str | None:
        """The command of a session that the host wants confirmed, by its own name."""
        ...

    def clarify_limit_s(self) -> float | None:
        """How long the host waits with a question; it reads a file. None: nobody knows."""
        ...

    def approval_limit_s(self) -> float | None:
        """How long the host waits with a command; likewise."""
        ...


class HostPort(Protocol):
    """What the runtime asks of the host. Nothing here blocks the loop, but for the two that say so."""

    async def hand_over(self, request: Request) -> None:
        """Give a message to the host; returns once its work is spawned or queued, not once it is answered."""
        ...

    def amend_waiting(self, message_id: str, text: str | None) -> bool:
        """Change the text of a message that waits for its turn, None takes it away; False when it does not wait."""
        ...

    def set_fatal(self, code: str, sentence: str, *, retryable: bool) -> None:
        """Record why the platform is down; ``retryable`` decides between another attempt and giving up."""
        ...

    async def tell_fatal(self) -> None:
        """After a successful connect: make the host act on a recorded fatal error; it disconnects this adapter."""
        ...

    def mark_connected(self) -> None:
        """The platform is up: what people say reaches us."""
        ...

    def mark_disconnected(self) -> None:
        """The platform is down, on purpose or because the stream is."""
        ...

    def tools_changed(self) -> None:
        """What our tools can do has changed; the host offers them by what it was told last."""
        ...

    def pause_typing(self, conversation_id: str) -> None:
        """Let the host's refresh of the typing dots rest."""
        ...

    def resume_typing(self, conversation_id: str) -> None:
        """Let it go on."""
        ...

    def streaming_cursor(self) -> str:
        """The glyph that the host appends to unfinished drafts; empty when there is none."""
        ...

    def close_code_fences(self, text: str) -> str:
        """``text`` as the host shows it while a code fence is still open."""
        ...

    def inert_name(self, name: str) -> str:
        """A stranger's words on one line, unable to pose as structure."""
        ...

    def session_of(self, request: Request) -> str:
        """The session in which the host will run, or runs, a message."""
        ...

    def is_busy(self, session_key: str) -> bool:
        """Whether something runs in a session, so that a message of it waits."""
        ...

    def stop_now(self, request: Request) -> bool:
        """Stop what runs in the session of a message that is to do so, and drop what waits there; the message follows.

        False: nothing was done, and the message itself is to be handed over as one that stops.
        """
        ...

    def command_of(self, text: str) -> str | None:
        """The command of the host's own registry that a text is, by its own name; None for any other text."""
        ...

    def keep_file(self, kind: FileKind, data: bytes, name: str) -> str:
        """Put a file where the host's tools find it; its path. It writes, so it is called on a thread.

        Args:
            name: the name of a document, the ending of anything else.

        Raises:
            OSError, ValueError: the disk, or the host, does not take it.
        """
        ...

    def allows_private_urls(self) -> bool:
        """Whether the operator lets files come from private addresses; it may read a file, as above."""
        ...

    def holds(self, message_id: str) -> bool:
        """Whether the host has a message waiting."""
        ...

    def note_joined(self, message_id: str) -> bool:
        """Whether the host has put a message into another that waits; it begins with that one then."""
        ...

    def is_gate_open(self) -> bool:
        """Whether messages begin at once; while the host starts it only queues them, and resumes what died."""
        ...

    def is_stopping(self) -> bool:
        """Whether the gateway is on its way down, and takes its runs with it."""
        ...

    def queue_depth(self, session_key: str) -> int:
        """How many messages of the session wait for its turn to end."""
        ...

    def descriptor(self) -> JsonObject:
        """What the host offers now, as Canon describes it; it reads files, so it is called away from the loop."""
        ...

    @property
    def people(self) -> PeoplePort:
        """What waits for people."""
        ...

    def waiting_in(self, conversation_id: str) -> list[tuple[str, str | None]]:
        """The sessions of a conversation in which something waits, each with a person who waits in it."""
        ...

    def drop_queue(self, session_key: str) -> None:
        """Nothing that waits in the session will run."""
        ...

    async def serve_waiting(self) -> None:
        """Begin with what waits for a session in which nothing runs."""
        ...

    def can_steer(self) -> bool:
        """Whether words can be put into a running turn."""
        ...

    def has_unread_steering(self, session_key: str) -> bool:
        """Whether words wait for the model of the session's turn; callable from any thread."""
        ...

    def steering_read(self, session_key: str) -> int:
        """The number of the newest words that a request which ends now has brought to its model; from any thread."""
        ...

    def run_ended(self, session_key: str, unread: Collection[int], *, is_stopped: bool) -> None:
        """A run is over; words that its model has not read wait from now on, unless a person stopped it."""
        ...

    def follow_up_over(self, session_key: str, *, has_begun: bool) -> bool:
        """What the host took to answer next in a run has begun, or never will; whether it waits then."""
        ...
