"""A durable message as an operation: cut, named, sent part by part, and settled or kept.

The danger is not that a send fails but that nobody knows whether it did. So an operation is *reserved* before its first
part is sent: its texts, ids, metadata and options are fixed, and every later attempt repeats them to the byte. Canon
stores a message id once, so a repetition is harmless, while a new operation with the same text is a new message.

Order of calls, one operation of a turn at a time::

    reserve(book, final)  ->  Reserved(book, operation)        the same again while it is unsettled
                          ->  Refused                          other content while it is unsettled
    for each message of operation.remaining: send it, then sent(book, operation)
    recall(book, operation)                                    it was reserved before a restart, or put aside
    settle(book, operation)                                    all parts are on Canon: the next one gets a new ordinal
    release(book, operation, may_have_landed=…)                a part failed: forget it only if that is certainly safe
    put_aside(book, operation)                                 nobody tries it now: the disk alone remembers it

The book is immutable and holds plain data: a store can keep the same operations on disk.

Source: canon-adapter R7.12-R7.20; Canon wire 7.7, 7.8; defects D6, D54.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias, TypeVar

from canon_hermes_plugin.turn.effects import Final as FinalMessage
from canon_hermes_plugin.turn.events import FileStaged
from canon_ops.wire.dispatch import ReplyBehavior, TurnSemantics
from canon_ops.wire.ids import TurnId, is_unasked, message_id, part_id
from canon_ops.wire.requests import SendMessage
from canon_ops.wire.splitting import split
from canon_ops.wire.trail import fits_metadata, without_repeated_speech

__all__ = [
    "Book",
    "Operation",
    "Refused",
    "Reserved",
    "Retry",
    "leading_metadata",
    "put_aside",
    "recall",
    "release",
    "reserve",
    "sent",
    "settle",
]

TURNS_REMEMBERED: Final = 1_024  # ours: a turn has one operation, so only late replays ask for an older one

_ONLY_LAST: Final = ("turnSemantics", "turnComplete", "turnTrail", "messageChunk")

V = TypeVar("V")
Contents: TypeAlias = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One durable message in one or more parts.

    Attributes:
        turn_id: what the ids are made from.
        ordinal: 1 for the first operation of the turn.
        messages: the parts, in order; the last one notifies.
        confirmed: how many of them Canon has.
    """

    turn_id: TurnId
    ordinal: int
    messages: tuple[SendMessage, ...]
    confirmed: int = 0

    @property
    def base_id(self) -> str | None:
        """The id of the whole; it is the group id of several parts."""
        chunk = self.messages[-1].metadata.get("messageChunk")
        return chunk.get("groupId") if chunk else self.messages[-1].message_id

    @property
    def is_unasked(self) -> bool:
        """Nobody asked for it, so that its parts pass Canon's policy for such messages."""
        return is_unasked(self.turn_id)

    @property
    def is_answer(self) -> bool:
        """It answers a message, with the leave to answer that one."""
        return any(message.reply_authority is not None for message in self.messages)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(message.text for message in self.messages)

    @property
    def contents(self) -> Contents:
        """What it says and shows: the same again is a repetition, anything else is another message."""
        return tuple((message.text, *_links(message.attachments)) for message in self.messages)

    @property
    def remaining(self) -> tuple[SendMessage, ...]:
        """The parts that are still to be sent; a part that failed is the first of them."""
        return self.messages[self.confirmed :]

    @property
    def is_complete(self) -> bool:
        return self.confirmed == len(self.messages)


@dataclass(frozen=True, slots=True)
class Book:
    """What is known of operations, per turn.

    Attributes:
        settled: the ordinal of the last settled operation.
        unsettled: the operation that is reserved, not settled and not put aside; at most one a turn.
    """

    settled: Mapping[TurnId, int] = field(default_factory=dict)
    unsettled: Mapping[TurnId, Operation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reserved:
    """Send ``operation.remaining``; ``is_replay`` says that an earlier attempt may have landed."""

    book: Book
    operation: Operation
    is_replay: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """An operation of this turn is unsettled and says something else; the sentence is for the host's result."""

    operation: Operation
    sentence: str = "Canon refused to replace an unsettled delivery of this turn with a different text"


@dataclass(frozen=True, slots=True)
class Retry:
    """The book after a failure.

    Attributes:
        is_kept: the operation may have landed: only its exact repetition is allowed.
    """

    book: Book
    is_kept: bool


def reserve(book: Book, final: FinalMessage) -> Reserved | Refused:
    """Fix an operation before anything of it is sent.

    Returns:
        The unsettled operation of the turn when the parts are the same, whatever else the caller says now: reply
        target, metadata and options are those of the first attempt.
    """
    turn_id = final.turn_id
    before = book.unsettled.get(turn_id)
    operation = _operation(final, book.settled.get(turn_id, 0) + 1)
    if before is not None:
        return Reserved(book, before, is_replay=True) if before.contents == operation.contents else Refused(before)
    return Reserved(_kept(book, operation), operation, is_replay=False)


def recall(book: Book, operation: Operation) -> Book:
    """Take an unsettled operation over from before a restart; the ordinals before its own are settled."""
    settled = {**book.settled, operation.turn_id: operation.ordinal - 1}
    return _kept(replace(book, settled=settled), operation)


def sent(book: Book, operation: Operation) -> tuple[Book, Operation]:
    """Canon has the next part."""
    after = replace(operation, confirmed=min(operation.confirmed + 1, len(operation.messages)))
    return _kept(book, after), after


def settle(book: Book, operation: Operation) -> Book:
    """The whole operation is on Canon; an equal text from now on is a new message."""
    turn_id = operation.turn_id
    ordinals = {**_without(book.settled, turn_id), turn_id: operation.ordinal}
    if len(ordinals) > TURNS_REMEMBERED:
        oldest = next((known for known in ordinals if known not in book.unsettled), turn_id)
        del ordinals[oldest]
    return Book(ordinals, _without(book.unsettled, turn_id))


def release(book: Book, operation: Operation, *, may_have_landed: bool) -> Retry:
    """A part failed for good as far as this attempt goes.

    An operation in one part is forgotten when it certainly did not land, so that another text may take its place. One
    in several parts is always kept: a reader may have seen a part of it.
    """
    is_single = len(operation.messages) == 1
    if is_single and not may_have_landed:
        return Retry(put_aside(book, operation), is_kept=False)
    return Retry(book, is_kept=True)


def put_aside(book: Book, operation: Operation) -> Book:
    """Nobody tries the operation now, for however long: a book that kept it would grow for as long as Canon refuses."""
    return replace(book, unsettled=_without(book.unsettled, operation.turn_id))


def leading_metadata(metadata: Mapping[str, Any], chunk: Mapping[str, Any] | None) -> dict[str, Any]:
    """The metadata of a part that is not the last: it neither notifies nor asks for an answer. Source: R7.14."""
    kept = {key: value for key, value in metadata.items() if key not in _ONLY_LAST}
    leading = {
        **kept,
        "turnSemantics": TurnSemantics.PROGRESS.value,
        "replyBehavior": ReplyBehavior.SUPPRESS_AUTO_REPLY.value,
    }
    return leading if chunk is None else {**leading, "messageChunk": dict(chunk)}


@dataclass(frozen=True, slots=True)
class _Part:
    """One message to be: some text, or the end of a caption with its file."""

    text: str
    chunk: dict[str, Any] | None = None
    file: FileStaged | None = None


def _operation(final: FinalMessage, ordinal: int) -> Operation:
    base = message_id(final.conversation_id, final.turn_id, ordinal)
    parts = _parts(final, base)
    count = len(parts)
    messages = []
    for index, part in enumerate(parts, start=1):
        is_last, own = index == count, part.file
        source = final if own is None else replace(final, metadata=own.metadata, options=own.options)
        metadata = _final_metadata(source, part.chunk)
        messages.append(
            SendMessage(
                conversation_id=final.conversation_id,
                text=part.text,
                message_id=base if count == 1 or base is None else part_id(base, index),
                reply_to=final.reply_to,
                metadata=metadata if is_last else leading_metadata(metadata, part.chunk),
                content_type=own.file.content_type if own is not None else None,
                attachments=(own.file.attachment,) if own is not None else (),
                reply_authority=final.authority,
                options=source.options if is_last or own is not None else {},
            )
        )
    return Operation(final.turn_id, ordinal, tuple(messages))


def _parts(final: FinalMessage, base: str | None) -> tuple[_Part, ...]:
    """The files in their order, each behind what does not fit into its message; then the text. Source: X5, R7.31."""
    parts: list[_Part] = []
    for file in final.files:
        *before, last = split(file.file.caption)
        parts += [*(_Part(text) for text in before), _Part(last, file=file)]
    if final.text.strip() or not parts:
        texts = split(final.text)
        count = len(texts)
        chunks = [_chunk(index, count, base) for index in range(1, count + 1)] if count > 1 else [None]
        parts += [_Part(text, chunk) for text, chunk in zip(texts, chunks, strict=True)]
    return tuple(parts)


def _links(attachments: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    return (str(attachment.get("url")) for attachment in attachments)


def _chunk(index: int, count: int, base: str | None) -> dict[str, Any]:
    chunk: dict[str, Any] = {"type": "text", "index": index, "count": count}
    return {**chunk, "groupId": base} if base else chunk


def _final_metadata(final: FinalMessage, chunk: Mapping[str, Any] | None) -> dict[str, Any]:
    metadata: dict[str, Any] = {**final.metadata, "turnSemantics": final.semantics.value}
    if final.semantics is TurnSemantics.TURN_COMPLETE:
        metadata["turnComplete"] = True
    if final.names_turn:
        metadata.setdefault("turnId", final.turn_id)
    if chunk:
        metadata["messageChunk"] = dict(chunk)
    trail = without_repeated_speech(final.trail, final.text) if chunk else final.trail
    with_trail = {**metadata, "turnTrail": [dict(block) for block in trail]}
    return with_trail if trail and fits_metadata(with_trail) else metadata


def _kept(book: Book, operation: Operation) -> Book:
    return replace(book, unsettled={**book.unsettled, operation.turn_id: operation})


def _without(entries: Mapping[TurnId, V], turn_id: TurnId) -> dict[TurnId, V]:
    return {known: value for known, value in entries.items() if known != turn_id}
