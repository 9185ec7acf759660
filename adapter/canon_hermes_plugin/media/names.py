"""Names of files, made harmless: a stranger chose them, and they become parts of paths and of what a model reads.

Source: Canon adapter R4.5, R4.20.
"""

from __future__ import annotations

import mimetypes
import re
from typing import Final
from urllib.parse import unquote, urlsplit

from canon_ops.unseen import SHAPELESS, TURNING
from canon_ops.wire.messages import Attachment

__all__ = ["display_name", "file_name_for_disk", "safe_leaf"]

NAME_CHARS: Final = 255
DISK_BYTES: Final = 180  # a file system takes 255, and the host puts a prefix in front
UNNAMED: Final = "canon-media.bin"

_UNSEEN: Final = re.compile(rf"[\x00-\x1f\x7f-\x9f\u200c\u200d\u2028\u2029{TURNING}{SHAPELESS}\ud800-\udfff]")
_NOT_ON_DISK: Final = re.compile(r"[^\w.\- +,=@()]")


def safe_leaf(name: str | None) -> str:
    """The last component over both kinds of slashes, without characters that hide or reorder, at most 255 long."""
    leaf = re.split(r"[/\\]", name or "")[-1]
    leaf = _UNSEEN.sub("", leaf).strip()
    if len(leaf) > NAME_CHARS:
        stem, ending = _cut(leaf)
        leaf = stem[: NAME_CHARS - len(ending)] + ending
    return UNNAMED if leaf in ("", ".", "..") else leaf


def display_name(attachment: Attachment, mime: str) -> str:
    """What a file is called: by its sender, else by its address when that names a file, else by its type."""
    if attachment.file_name and (leaf := safe_leaf(attachment.file_name)) != UNNAMED:
        return leaf
    leaf = _leaf_of_address(attachment.url)
    if "." in leaf and leaf != UNNAMED:
        return leaf
    return f"canon-media{mimetypes.guess_extension(mime) or '.bin'}"


def file_name_for_disk(name: str) -> str:
    """A display name of plain characters that any file system takes; brackets and quotes would pose as structure."""
    plain = _NOT_ON_DISK.sub("_", name).lstrip(".") or UNNAMED
    stem, ending = _cut(plain)
    room = DISK_BYTES - len(ending.encode())
    return stem.encode()[:room].decode(errors="ignore") + ending


def _leaf_of_address(url: str | None) -> str:
    try:
        return safe_leaf(unquote(urlsplit(url or "").path))
    except ValueError:
        return ""


def _cut(leaf: str) -> tuple[str, str]:
    """Stem and ending; what is no short ending belongs to the stem."""
    stem, dot, ending = leaf.rpartition(".")
    return (stem, dot + ending) if stem and len(ending) <= 10 else (leaf, "")
