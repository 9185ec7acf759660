"""What can happen to a turn. The shell turns host callbacks, timers and ended requests into these values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from canon_ops.wire.dispatch import TurnSemantics
from canon_ops.wire.ids import ConversationId, SessionKey, TurnId
from canon_ops.wire.messages import ReplyAuthority

__all__ = [
    "Due",
    "Ended",
    "FileStaged",
    "FinalDeferred",
    "FinalRejected",
    "FinalSettled",
    "InputAsked",
    "InputClosed",
    "InterruptAsked",
    "Kind",
    "ModelCalled",
    "ModelFailed",
    "Opening",
    "Outcome",
    "OutgoingFile",
    "PreviewEnded",
    "QueueChanged",
    "RunCut",
    "Silenced",
    "Staged",
    "SteeringAccepted",
    "SubagentStopped",
    "ToolFinished",
    "ToolStarted",
    "TurnEvent",
]


class Kind(StrEnum):
    """Where a turn comes from."""

    LIFECYCLE = "lifecycle"  # the host's start hook opened it, its completion hook ends it
    LOOSE = "loose"  # the host sent or streamed while no run was open; its finalised text ends it
    OWN = "own"  # a message beside the running turns (a command's reply, a notice): it shows no draft and no state


class Outcome(StrEnum):
    """How a run ended; the first three are the host's words."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Opening:
    """Everything that is decided about a turn when it opens and never changes afterwards.

    Attributes:
        session: the host's session, None unless it is a lifecycle turn.
        source_message_id: the message that asked for the turn; None for an internal start.
        merged_ids: the messages that the host has put into it.
        authority: the server's leave to answer that message, when it gave one.
        responder_id: the human who may answer this turn's questions.
        quiet: decided once (verbosity.py); a quiet turn writes no narration and carries no trail.
        semantics: what the final message is; ``control`` only for a host's own prompt.
        is_recovered: an earlier run of one of its messages died with its gateway; its answer says that it may repeat.
    """

    turn_id: TurnId
    conversation_id: ConversationId
    quiet: bool
    session: SessionKey | None = None
    source_message_id: str | None = None
    authority: ReplyAuthority | None = None
    responder_id: str | None = None
    kind: Kind = Kind.LIFECYCLE
    semantics: TurnSemantics = TurnSemantics.TURN_COMPLETE
    is_recovered: bool = False
    merged_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Staged:
    """A marked ``send``, or any ``edit_message``: the whole text of one segment so far, cursor glyph removed.

    Attributes:
        stream_message_id: the segment, as the host names it; None when it named the turn itself.
        finalized: the host will not edit this segment any more (``notify`` on a send, ``finalize`` on an edit).
        metadata: for the final message; merged over what earlier segments said.
        options: likewise, without ``messageId`` and ``replyAuthority``.
        after_tools: the host marked the segment as the first speech after a round of tools (and the mark is removed).
            Drafts lag behind tools, so this tells that what is staged already was said before them.
    """

    text: str
    finalized: bool
    stream_message_id: str | None = None
    reply_to: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    after_tools: bool = False


@dataclass(frozen=True, slots=True)
class OutgoingFile:
    """A file of the agent that Canon has, and no message refers to yet.

    Attributes:
        attachment: as Canon named it; it goes into the message as it is.
        content_type: the message's, ``image``, ``audio``, ``video`` or ``file``.
        caption: the words with it.
    """

    attachment: Mapping[str, Any]
    content_type: str
    caption: str = ""


@dataclass(frozen=True, slots=True)
class FileStaged:
    """A file that the run wants to send, or the one of a message beside the runs.

    Attributes:
        metadata: for its message.
        options: likewise.
    """

    file: OutgoingFile
    reply_to: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """The model calls a tool.

    Attributes:
        delegated: the call comes from a delegated child; it is shown, but it ends no speech of this turn.
        request: the model's answer that asked for the call, as the host names it; its calls are one round of tools.
    """

    name: str
    call_id: str | None = None
    args: object = None
    delegated: bool = False
    request: str | None = None


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call returned, failed or was blocked."""

    name: str
    call_id: str | None = None
    args: object = None
    result: object = None
    status: str = "ok"
    duration_ms: object = None


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """A call of the model has ended, whatever it said: the run is more than an event that the host queued.

    Attributes:
        has_read: words that were put into the turn, up to this number, were in the request.
    """

    has_read: int = 0


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A call of the model has failed. When none follows it that ends well, what the run says is the host's own word.

    Attributes:
        delegated: a child of the run called.
    """

    delegated: bool = False


@dataclass(frozen=True, slots=True)
class RunCut:
    """The host has interrupted the run: what it says last may be half of it, and still counts as a success there."""


@dataclass(frozen=True, slots=True)
class SubagentStopped:
    """A delegated child reported back."""

    role: str
    child_session_id: str | None = None
    summary: object = None
    status: str = "ok"
    duration_ms: object = None


@dataclass(frozen=True, slots=True)
class PreviewEnded:
    """The write of :class:`~.effects.WritePreview` has ended; ``delivered`` is False when it failed."""

    delivered: bool


@dataclass(frozen=True, slots=True)
class Due:
    """The time of an earlier :class:`~.effects.WakeAt` has come; early or spare ones do no harm."""


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """Another number of messages waits behind the turn than was last told."""


@dataclass(frozen=True, slots=True)
class InputAsked:
    """A question or an approval waits for a human."""


@dataclass(frozen=True, slots=True)
class InputClosed:
    """The wait is over, by an answer, a refusal or a deadline: the agent goes on either way."""


@dataclass(frozen=True, slots=True)
class InterruptAsked:
    """This adapter interrupted the run.

    A follow-up that is drained inside it then discards the answer so far, and a run that ends well without an answer
    counts as cancelled: whether the host says so depends on who is quicker, the agent that stops or the task that is
    cancelled.
    """


@dataclass(frozen=True, slots=True)
class Silenced:
    """The agent chose ``no_reply``: nothing of this turn may be posted or shown."""


@dataclass(frozen=True, slots=True)
class SteeringAccepted:
    """Words were put into the running turn; they lift a silence.

    Attributes:
        number: their place among all of the adapter's; None when nobody watches whether they are read.
        authority: the server's leave to answer their message, for a turn that has none of its own.
        is_recovered: an earlier run of their message died with its gateway.
    """

    number: int | None = None
    authority: ReplyAuthority | None = field(default=None, repr=False)
    is_recovered: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """The run is over.

    Attributes:
        handed_over: a follow-up continues in the same run, so the conversation's next state is the successor's.
        put_off: the host did not run the message but put it back into its queue: the turn begins again.
        cut_off: the gateway goes down and took the run with it: its message is run again, and nothing said here stays.
    """

    outcome: Outcome
    handed_over: bool = False
    put_off: bool = False
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class FinalSettled:
    """Canon has the final message."""

    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class FinalDeferred:
    """The final message could not be settled yet; the outbox keeps trying and will report again."""

    reason: str


@dataclass(frozen=True, slots=True)
class FinalRejected:
    """Canon refused the final message for good."""

    reason: str


TurnEvent: TypeAlias = (
    Staged
    | FileStaged
    | ToolStarted
    | ToolFinished
    | ModelCalled
    | ModelFailed
    | RunCut
    | SubagentStopped
    | PreviewEnded
    | Due
    | QueueChanged
    | InputAsked
    | InputClosed
    | InterruptAsked
    | Silenced
    | SteeringAccepted
    | Ended
    | FinalSettled
    | FinalDeferred
    | FinalRejected
)
