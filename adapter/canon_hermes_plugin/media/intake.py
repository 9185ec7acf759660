"""What people attach, on its way to the agent: fetched, kept for the host or held for trusted tools, and let go.

The shell around gathering.py. The files of a message are fetched one after the other, and few messages at a time, so
that what is in memory has a bound whatever people send. A file that cannot be had never holds its message up: the
message says so instead.

What is held lives as long as its turn. A turn that begins with a message is told here, and so is its end; a message
that the host put into another's run is let go when its session is idle.

Source: Canon adapter R4.1-R4.27; C6, C8; defects D29, D30, D36.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from canon_hermes_plugin.inbound.gate import Media, Request, Wake
from canon_hermes_plugin.media import gathering as gatherings
from canon_hermes_plugin.media.captures import CanonInboundMedia, Captured, Captures
from canon_hermes_plugin.media.download import Fetched
from canon_hermes_plugin.media.gathering import Gathering, Kept
from canon_hermes_plugin.media.kinds import FileKind, how_to_keep, mime_of
from canon_hermes_plugin.media.names import display_name, file_name_for_disk
from canon_hermes_plugin.media.policy import Scope, is_protected
from canon_ops.client.deadline import within
from canon_ops.errors import CanonOpsError
from canon_ops.runtime.clock import Clock
from canon_ops.wire.messages import Attachment

__all__ = ["Intake", "Keeper"]

logger = logging.getLogger(__name__)

AT_ONCE: Final = 8  # messages whose files are being fetched; ours, as are the next two
MESSAGE_S: Final = 180.0  # a message waits no longer for its files
FILES: Final = 32  # what a message has beyond that is not looked at; Canon takes 10
TURNS_REMEMBERED: Final = 1_024

Keeper = Callable[[FileKind, bytes, str], Awaitable[str]]
"""Puts a file where the host's tools find it, under a name or with an ending; its path."""


class Intake:
    """The files of one connection.

    Args:
        fetch: gets the file behind a link.
        keep: gives a file to the host.
        session_of: the host's session of a message.
        holds: whether the host has a message waiting.
    """

    def __init__(
        self,
        scope: Scope,
        captures: Captures,
        *,
        fetch: Callable[[str], Awaitable[Fetched]],
        keep: Keeper,
        session_of: Callable[[Request], str],
        holds: Callable[[str], bool],
        clock: Clock,
    ) -> None:
        self._scope = scope
        self._captures = captures
        self._fetch = fetch
        self._keep = keep
        self._session_of = session_of
        self._holds = holds
        self._clock = clock
        self._room = asyncio.Semaphore(AT_ONCE)
        self._turns: OrderedDict[str, tuple[str, str | None]] = OrderedDict()  # turn -> conversation, message
        self._handed: OrderedDict[tuple[str, str], str] = OrderedDict()  # conversation, message -> session

    @property
    def names_files(self) -> bool:
        """Whether a model may read the names of files."""
        return self._scope is Scope.NONE

    async def take(self, wake: Wake) -> Media:
        """Get the files of a message that starts a turn."""
        slots = wake.created.message.slots
        if not slots:
            return Media()
        message_id = wake.created.message.id
        gathered = Gathering(self._scope, self._captures.bounds)
        async with self._room:
            ends_s = self._clock.monotonic_s() + MESSAGE_S
            for index, attachment in enumerate(slots):
                left_s = ends_s - self._clock.monotonic_s()
                if attachment is None or not attachment.url or index >= FILES or left_s <= 0:
                    gathered = gatherings.lost(gathered, attachment)
                    continue
                try:
                    fetched = await within(self._clock, left_s, self._download(attachment.url))
                except (CanonOpsError, OSError, ValueError) as error:  # a time-out is an OSError
                    why = str(error) or "the message has waited long enough"
                    logger.warning("Canon: attachment %d of message %s is missing: %s", index, message_id, why)
                    gathered = gatherings.lost(gathered, attachment)
                    continue
                gathered = await self._sort_in(gathered, index, attachment, fetched, message_id)
            is_registered = self._captures.register(wake.conversation_id, message_id, gatherings.batch(gathered))
        if gathered.overflowed:
            logger.warning("Canon: the attachments of message %s are too much for trusted tools", message_id)
        return gatherings.concluded(gathered, is_registered=is_registered)

    async def _download(self, url: str) -> Fetched:
        return await self._fetch(url)

    async def _sort_in(
        self, gathered: Gathering, index: int, attachment: Attachment, fetched: Fetched, message_id: str | None
    ) -> Gathering:
        mime = mime_of(attachment, fetched.content_type, fetched.data)
        name = display_name(attachment, mime)
        hidden = is_protected(self._scope, attachment, fetched.content_type, fetched.data)
        if not hidden:
            kind, told, ending = how_to_keep(mime, name, fetched.data)
            try:
                label = file_name_for_disk(name) if kind is FileKind.DOCUMENT else ending
                path = await self._keep(kind, fetched.data, label)
            except Exception as error:  # the disk, the host's own limits, or whatever else its code stumbles over
                logger.warning("Canon: attachment %d of message %s cannot be kept: %s", index, message_id, error)
                return gatherings.lost(gathered, attachment)
            gathered = gatherings.kept(gathered, Kept(kind, path, told))
        return gatherings.fetched(gathered, Captured(index, fetched.data, mime, name), is_protected=hidden)

    # --- for as long as the turn ----------------------------------------------------------------------------------

    def of(self, conversation_id: str, message_id: str) -> tuple[CanonInboundMedia, ...]:
        """What is held of a message; from any thread."""
        return self._captures.of(conversation_id, message_id)

    def handed(self, request: Request) -> None:
        """The host has a message."""
        if request.message_id is not None and self._captures.has(request.conversation_id, request.message_id):
            self._handed[request.conversation_id, request.message_id] = self._session_of(request)
            if len(self._handed) > TURNS_REMEMBERED:
                self._handed.popitem(last=False)

    def begins(self, turn_id: str, conversation_id: str, message_id: str | None) -> None:
        """A run begins with a message, or goes on with it."""
        self._turns[turn_id] = (conversation_id, message_id)
        if len(self._turns) > TURNS_REMEMBERED:
            self._turns.popitem(last=False)

    def ended(self, turn_id: str) -> None:
        """A turn is over, in whichever way."""
        conversation_id, message_id = self._turns.pop(turn_id, ("", None))
        self.let_go(conversation_id, message_id)

    def idle(self, session: str) -> None:
        """The host has nothing of a session any more: what it was given is in the runs that are over (C8)."""
        for key in [key for key, known in self._handed.items() if known == session and not self._holds(key[1])]:
            self.let_go(*key)

    def close(self) -> None:
        """Let everything go."""
        self._captures.clear()

    def let_go(self, conversation_id: str, message_id: str | None) -> None:
        """Nobody needs the files of a message any more."""
        self._captures.discard(conversation_id, message_id)
        self._handed.pop((conversation_id, message_id or ""), None)
