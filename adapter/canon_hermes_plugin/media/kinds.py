"""What a file is: by what was said of it, and by its first bytes.

People and other clients name types wrongly, on purpose or not. So two questions are kept apart. *May a model see it?*
(policy.py) is answered by every hint at once, and one that says "picture" suffices. *How does the host take it?* is
answered here by the bytes where they are clear, because a document that is handed to a picture model, or a page of
HTML that is called a picture, only makes trouble.

Source: Canon adapter R4.4, R4.6, R4.9, R4.12; Canon wire 10.2, 10.3.
"""

from __future__ import annotations

import mimetypes
import re
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from canon_ops.wire.messages import Attachment

__all__ = [
    "ANYTHING",
    "IMAGE_ENDINGS",
    "PDF",
    "PICTURE_ENDINGS",
    "FileKind",
    "ending_of",
    "has_pdf_mark",
    "how_to_keep",
    "looks_like_a_picture",
    "mime_of",
    "plain_mime",
    "signature_of",
]

PDF: Final = "application/pdf"
ANYTHING: Final = "application/octet-stream"
PDF_WITHIN: Final = 1_024  # bytes; Canon wire 10.3

AUDIO_ENDINGS: Final = frozenset({".m4a", ".mp3", ".ogg", ".opus", ".wav", ".webm", ".flac"})
IMAGE_ENDINGS: Final = frozenset({".gif", ".jpeg", ".jpg", ".png", ".webp"})
PICTURE_ENDINGS: Final = IMAGE_ENDINGS | {  # no host takes these, and phones and cameras make them
    ".heic", ".heif", ".avif", ".tif", ".tiff", ".bmp", ".dib", ".svg", ".svgz", ".ico", ".jxl", ".jp2", ".j2k",
    ".jfif", ".jpe", ".apng", ".dng", ".raw", ".cr2", ".cr3", ".nef", ".arw", ".psd",
}  # fmt: skip
VIDEO_ENDINGS: Final = frozenset({".avi", ".mkv", ".mov", ".mp4", ".webm", ".3gp"})
_MIME_OF_ENDING: Final = {".m4a": "audio/mp4", ".opus": "audio/ogg"}
_SIGNATURES: Final = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"%PDF-", PDF),
    (b"BM", "image/bmp"),
)
_PICTURE_BRANDS: Final = re.compile(rb"heic|heix|hei[ms]|hev[cx]|he[vi][ms]|mif[12]|msf1|avi[fos]|jp[2xm] |crx ")
_PICTURE_STARTS: Final = (b"\x00\x00\x00\x0cjP  ", b"\xff\x4f\xff\x51", b"\x00\x00\x00\x0cJXL ", b"\xff\x0a", b"8BPS")
_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")  # RFC 6838, 4.2
_HOST_TAKES: Final = {  # what every audited host accepts as a picture
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/bmp": ".bmp",
}


class FileKind(StrEnum):
    """The host's caches, and what an event made of such a file is called."""

    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    DOCUMENT = "document"


def plain_mime(declared: str | None) -> str | None:
    """``image/png`` of ``Image/PNG; x=1``; None for what is no type."""
    base = (declared or "").partition(";")[0].strip().lower()
    return base if "/" in base else None


def ending_of(name: str | None) -> str:
    """The ending of a file name or an address, lower-case and with its dot; empty when it has none."""
    if not name:
        return ""
    try:
        path = urlsplit(name).path if "://" in name else name.partition("?")[0]
    except ValueError:
        return ""
    leaf = path.replace("\\", "/").rpartition("/")[2]
    stem, dot, ending = leaf.rpartition(".")
    return f".{ending.lower()}" if dot and stem and ending else ""


def signature_of(data: bytes) -> str | None:
    """The type that the first bytes prove, of those we know."""
    if len(data) >= 12 and data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for start, mime in _SIGNATURES if data.startswith(start)), None)


def looks_like_a_picture(data: bytes) -> bool:
    """Whether the first bytes are those of a picture, also of the kinds that no host takes for one."""
    if (signature_of(data) or "").startswith("image/") or data.startswith(_PICTURE_STARTS):
        return True
    if data[4:8] == b"ftyp":
        return _PICTURE_BRANDS.match(data, 8) is not None
    start = data[:PDF_WITHIN]
    return start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and b"<svg" in start.lower()


def has_pdf_mark(data: bytes) -> bool:
    """Whether a reader of PDF would take it: the mark may stand behind other bytes."""
    return b"%PDF-" in data[:PDF_WITHIN]


def mime_of(attachment: Attachment, answered: str | None, data: bytes) -> str:
    """What a file is.

    The sender's word, else the server's, else the name; but where that says picture, PDF or nothing in particular, and
    the bytes prove another of these, the bytes have it.

    Args:
        answered: the ``Content-Type`` of the download.
    """
    said = plain_mime(attachment.mime_type) or plain_mime(answered) or _guessed(attachment)
    proven = signature_of(data)
    is_open = said in (ANYTHING, PDF) or said.startswith("image/")
    return proven if proven is not None and is_open else said


def how_to_keep(mime: str, name: str, data: bytes) -> tuple[FileKind, str, str]:
    """Where the host keeps a file, the type that it is told, and the ending of the file.

    A picture that the host would refuse, or whose bytes are none, is a document of no particular type: the agent can
    still look at it with a tool. So is what has a type that is no name of one.
    """
    mime = mime if _TYPE.fullmatch(mime) else ANYTHING
    family, ending = mime.partition("/")[0], ending_of(name)
    if family == "image":
        proven = signature_of(data)
        if proven not in _HOST_TAKES:
            return FileKind.DOCUMENT, ANYTHING, ending
        fits = ending in IMAGE_ENDINGS and proven == _image_mime(ending)
        return FileKind.IMAGE, proven, ending if fits else _HOST_TAKES[proven]
    if family == "audio":
        return FileKind.AUDIO, mime, ending if ending in AUDIO_ENDINGS else ".ogg"
    if family == "video":
        return FileKind.VIDEO, mime, ending if ending in VIDEO_ENDINGS else ".mp4"
    return FileKind.DOCUMENT, mime, ending


def _image_mime(ending: str) -> str:
    return "image/jpeg" if ending == ".jpg" else f"image/{ending[1:]}"


def _guessed(attachment: Attachment) -> str:
    for name in (attachment.file_name, attachment.url):
        ending = ending_of(name)
        if not ending:
            continue
        known = _MIME_OF_ENDING.get(ending) or mimetypes.guess_type(f"file{ending}", strict=True)[0]
        if known:
            return known
        for endings, mime in (
            (VIDEO_ENDINGS, "video/mp4"),
            (IMAGE_ENDINGS, "image/jpeg"),
            (AUDIO_ENDINGS, "audio/mpeg"),
        ):
            if ending in endings:
                return mime
    return ANYTHING
