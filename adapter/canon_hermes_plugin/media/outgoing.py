"""Files of the agent on their way to Canon: read or fetched, uploaded, and made into what a message carries.

An upload that is repeated leaves a file behind that nobody refers to, and nothing else, so it is repeated as a read
would be. What refers to the file, the message, is the outbox's business.

Source: Canon adapter R7.30; Canon wire 10.1, 10.2; defect D14.
"""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import unquote

from canon_hermes_plugin.media.captures import FILE_BYTES
from canon_hermes_plugin.media.download import Fetched
from canon_hermes_plugin.media.kinds import ANYTHING, mime_of, plain_mime
from canon_hermes_plugin.media.names import display_name, safe_leaf
from canon_hermes_plugin.turn.events import OutgoingFile
from canon_ops.errors import NotFoundError, RefusedError
from canon_ops.wire.fields import JsonObject, as_object, text_of
from canon_ops.wire.messages import Attachment

__all__ = ["FileMissing", "FileTooLarge", "FileWish", "Outgoing", "read_file", "wish_of"]

_FAMILIES: Final = ("image", "audio", "video")


class FileMissing(NotFoundError):
    """The host names a file that is not there, or cannot be read."""

    code = "media_missing"


class FileTooLarge(RefusedError, ValueError):
    """Canon takes no file of this size."""

    code = "media_too_large"


@dataclass(frozen=True, slots=True)
class FileWish:
    """What the host wants to send.

    Attributes:
        source: a path, a ``file://`` address, or the address of a picture on the web.
        kind: ``image``, ``audio``, ``video`` or ``file``, as the host's method says.
        is_link: whether ``source`` may be an address; a path may look like one.
        caption: the words with it.
        name: what to call it, when not by its own name.
        mime: its type, when the host knows.
        duration_ms: of a recording, when the host knows.
        as_document: shown as a plain file, whatever its type is.
    """

    source: str
    kind: str
    is_link: bool = False
    caption: str = ""
    name: str | None = None
    mime: str | None = None
    duration_ms: int | None = None
    as_document: bool = False

    @classmethod
    def of_file(cls, path: str, kind: str, caption: str | None, more: Mapping[str, Any]) -> Self:
        """A file of this machine; what else the host knows of it depends on who sends it."""
        name, mime, duration_ms = more.get("file_name"), more.get("mime_type"), more.get("duration_ms")
        return cls(
            str(path),
            kind,
            caption=caption or "",
            name=name if isinstance(name, str) and name else None,
            mime=mime if isinstance(mime, str) else None,
            duration_ms=duration_ms if isinstance(duration_ms, int) else None,
        )


class Outgoing:
    """The way of a file to Canon.

    Args:
        store: uploads a body and gives back Canon's answer, with the quick attempts of its policy.
        fetch: gets the file behind a link.
        read: reads a file of this machine without holding the loop up.
    """

    def __init__(
        self,
        store: Callable[[JsonObject], Awaitable[JsonObject]],
        *,
        fetch: Callable[[str], Awaitable[Fetched]],
        read: Callable[[str], Awaitable[bytes]],
    ) -> None:
        self._store = store
        self._fetch = fetch
        self._read = read

    async def upload(self, conversation_id: str, wish: FileWish) -> OutgoingFile:
        """Bring a file to Canon; what a message says of it.

        Raises:
            FileMissing, FileTooLarge: it cannot be sent.
            CanonOpsError: it could not be fetched, or Canon did not take it.
        """
        data, name, mime = await self._get(wish)
        if not data:
            raise FileMissing(f"the file {name} is empty")
        body = {
            "conversationId": conversation_id,
            "data": base64.b64encode(data).decode("ascii"),
            "mimeType": mime,
            "fileName": name,
        }
        answer = await self._store(body)
        attachment = _attachment(answer, wish, mime=mime, name=name, size=len(data))
        family = str(attachment.get("kind"))
        return OutgoingFile(attachment, family if family in _FAMILIES else wish.kind, wish.caption)

    async def _get(self, wish: FileWish) -> tuple[bytes, str, str]:
        """Bytes, name and type."""
        source = wish.source
        if wish.is_link and not source.startswith("file://"):
            fetched = await self._fetch(source)
            stated = Attachment(kind=wish.kind, url=source, mime_type=wish.mime)
            mime = mime_of(stated, fetched.content_type, fetched.data)
            return fetched.data, safe_leaf(wish.name) if wish.name else display_name(stated, mime), mime
        path = unquote(source.removeprefix("file://")) if source.startswith("file://") else source
        name = safe_leaf(wish.name or path)
        data = await self._read(path)
        return data, name, plain_mime(wish.mime) or mimetypes.guess_type(name)[0] or ANYTHING


def read_file(path: str) -> bytes:
    """The whole of a file; blocks.

    Raises:
        FileMissing: it is not there, or is no file that can be read.
        FileTooLarge: it has more than 10 MiB.
    """
    name = safe_leaf(path)
    try:
        file = Path(path).expanduser()
        if not file.is_file():
            raise FileMissing(f"there is no file {name}")
        with file.open("rb") as stream:
            data = stream.read(FILE_BYTES + 1)
    except RuntimeError as error:  # the home of a person whom nobody knows
        raise FileMissing(f"there is no file {name}") from error
    except OSError as error:
        raise FileMissing(f"the file {name} cannot be read: {error.strerror}") from error
    if len(data) > FILE_BYTES:
        raise FileTooLarge(f"the file {name} is larger than {FILE_BYTES:,} bytes")
    return data


def wish_of(path: str, *, is_voice: bool = False, as_document: bool = False) -> FileWish:
    """A file by its name alone, for a host that only says where it lies."""
    family = (mimetypes.guess_type(path)[0] or "").partition("/")[0]
    kind = "audio" if is_voice else family if family in _FAMILIES else "file"
    return FileWish(path, "file" if as_document else kind, as_document=as_document)


def _attachment(answer: JsonObject, wish: FileWish, *, mime: str, name: str, size: int) -> dict[str, Any]:
    """Canon's own object, unknown keys kept, or one made of what is known."""
    given: Mapping[str, Any] = as_object(answer.get("attachment"))
    family = mime.partition("/")[0]
    made = dict(given) or {
        "kind": family if family in _FAMILIES else "file",
        "url": text_of(answer, "url"),
        "mimeType": mime,
        "fileName": name,
        "sizeBytes": size,
    }
    if wish.as_document:
        made["kind"] = "file"
    elif family in ("image", "video"):
        made["kind"] = family
    if made.get("kind") == "audio" and wish.duration_ms is not None:
        made["durationMs"] = wish.duration_ms
    return made
