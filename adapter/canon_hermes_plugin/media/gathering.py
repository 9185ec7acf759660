"""What becomes of the attachments of one message, one after the other. Pure.

    gathering = Gathering(scope, bounds)
    for each attachment, in order:
        protected, or not    ->  fetched(gathering, …)   and, when it was not protected, kept(…) or lost(…)
        not to be had        ->  lost(gathering, attachment)
    batch(gathering)         what to register for trusted tools
    concluded(gathering)     what the host's event gets

Source: Canon adapter R4.7-R4.9, R4.14-R4.19, R4.22; defects D29, D36.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from canon_hermes_plugin.inbound.gate import Media, MessageType
from canon_hermes_plugin.media.captures import Bounds, Captured
from canon_hermes_plugin.media.kinds import FileKind
from canon_hermes_plugin.media.markers import markers
from canon_hermes_plugin.media.policy import Scope, is_withheld
from canon_ops.wire.messages import Attachment

__all__ = ["Gathering", "Kept", "batch", "concluded", "fetched", "kept", "lost"]

_TYPES: Final = {  # the last one wins over those before it
    FileKind.DOCUMENT: MessageType.DOCUMENT,
    FileKind.IMAGE: MessageType.PHOTO,
    FileKind.VIDEO: MessageType.VIDEO,
    FileKind.AUDIO: MessageType.VOICE,
}


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that the host has on its disk."""

    kind: FileKind
    path: str
    mime: str


@dataclass(frozen=True, slots=True)
class Gathering:
    """The attachments so far.

    Attributes:
        captured: for trusted tools; empty for good once there was too much.
        files: for the host.
        protected: how many of those fetched are for trusted tools alone.
        withheld: how many could not be had and void the batch.
        lost: how many others could not be had.
    """

    scope: Scope
    bounds: Bounds
    captured: tuple[Captured, ...] = ()
    overflowed: bool = False
    files: tuple[Kept, ...] = ()
    protected: int = 0
    withheld: int = 0
    lost: int = 0


def fetched(gathering: Gathering, file: Captured, *, is_protected: bool) -> Gathering:
    """A file has come."""
    captured = () if gathering.overflowed else (*gathering.captured, file)
    overflows = gathering.overflowed or not gathering.bounds.hold(captured)
    return replace(
        gathering,
        captured=() if overflows else captured,
        overflowed=overflows,
        protected=gathering.protected + is_protected,
    )


def kept(gathering: Gathering, file: Kept) -> Gathering:
    """The host has a file."""
    return replace(gathering, files=(*gathering.files, file))


def lost(gathering: Gathering, attachment: Attachment | None) -> Gathering:
    """A file cannot be had, or the host cannot keep it; None is an entry that is no attachment."""
    if is_withheld(gathering.scope, attachment):
        return replace(gathering, withheld=gathering.withheld + 1)
    return replace(gathering, lost=gathering.lost + 1)


def batch(gathering: Gathering) -> tuple[Captured, ...]:
    """The files for trusted tools: all of them, or none when one that belongs to them is missing."""
    return () if gathering.withheld else gathering.captured


def concluded(gathering: Gathering, *, is_registered: bool) -> Media:
    """What the message's event says and has.

    Args:
        is_registered: :func:`batch` can be read by tools now.
    """
    available = gathering.protected if is_registered else 0
    lines = markers(
        gathering.scope,
        available=available,
        withheld=gathering.withheld + gathering.protected - available,
        lost=gathering.lost,
    )
    ranked = list(_TYPES)
    grave = max(gathering.files, key=lambda file: ranked.index(file.kind), default=None)
    return Media(
        type=_TYPES[grave.kind] if grave is not None else MessageType.TEXT,
        urls=tuple(file.path for file in gathering.files),
        types=tuple(file.mime for file in gathering.files),
        markers=lines,
        is_protected=is_registered and gathering.protected > 0,
    )
