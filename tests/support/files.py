"""Small files of each kind, as people attach them, and a stand-in for the files of messages."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from canon_hermes_plugin.inbound.gate import Media, Request, Wake

__all__ = ["GIF", "HTML", "JPEG", "OGG", "PDF", "PNG", "NoFiles", "an_attachment", "on_disk"]

JPEG: Final = b"\xff\xd8\xff\xe0" + b"j" * 60
PNG: Final = b"\x89PNG\r\n\x1a\n" + b"p" * 60
GIF: Final = b"GIF89a" + b"g" * 60
PDF: Final = b"%PDF-1.7\n" + b"d" * 60
OGG: Final = b"OggS" + b"o" * 60
HTML: Final = b"<!doctype html><title>403</title>"


def an_attachment(**fields: Any) -> dict[str, Any]:
    """An attachment of a message, as the wire has it."""
    return {"kind": "file", "url": "https://files.example/a", **fields}


@contextmanager
def on_disk(folder: Path) -> Iterator[Path]:
    """``folder``, or one on the disk: no host sends a file from below ``/dev``, where a run in memory has its own."""
    if not folder.is_relative_to("/dev"):
        yield folder
        return
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


class NoFiles:
    """Nothing is attached to anything."""

    names_files = True

    async def take(self, wake: Wake) -> Media:
        return Media()

    def handed(self, request: Request) -> None: ...

    def let_go(self, conversation_id: str, message_id: str | None) -> None: ...
