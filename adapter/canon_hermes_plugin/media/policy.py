"""Who may see a file: the model, as the host's ordinary path has it, or trusted tools alone.

In a trusted-only mode a protected file is never kept where the host could show it to a model, and is never named. All
doubt goes that way: any hint of a picture protects, and a file that could not be fetched counts as protected unless it
was plainly said to be something else.

Source: product, "Trusted-only inbound media"; Canon adapter R4.10, R4.11, R4.13, R4.16, R4.19 (C6); defect D29.
"""

from __future__ import annotations

from enum import Enum

from canon_hermes_plugin.media.kinds import (
    ANYTHING,
    PDF,
    PICTURE_ENDINGS,
    ending_of,
    has_pdf_mark,
    looks_like_a_picture,
    mime_of,
    plain_mime,
)
from canon_ops.settings.options import MediaDelivery, Options
from canon_ops.wire.messages import Attachment

__all__ = ["Scope", "is_protected", "is_withheld", "scope_of"]


class Scope(Enum):
    """What is for trusted tools alone."""

    NONE = "none"
    IMAGE = "image"
    VISUAL = "visual"  # pictures and PDFs


def scope_of(options: Options) -> Scope:
    """The wider of the two settings."""
    if options.inbound_visual_media_delivery is MediaDelivery.TRUSTED_ONLY:
        return Scope.VISUAL
    if options.inbound_image_delivery is MediaDelivery.TRUSTED_ONLY:
        return Scope.IMAGE
    return Scope.NONE


def is_protected(scope: Scope, attachment: Attachment, answered: str | None, data: bytes) -> bool:
    """Whether a file that has been fetched is for trusted tools alone; one hint suffices.

    Args:
        answered: the ``Content-Type`` of the download.
    """
    if scope is Scope.NONE:
        return False
    mimes = (mime_of(attachment, answered, data), plain_mime(answered) or "")
    if _declares_image(attachment) or looks_like_a_picture(data) or any(mime.startswith("image/") for mime in mimes):
        return True
    return scope is Scope.VISUAL and (_declares_pdf(attachment) or PDF in mimes or has_pdf_mark(data))


def is_withheld(scope: Scope, attachment: Attachment | None) -> bool:
    """Whether a file that could not be fetched voids the protected ones of its message.

    Args:
        attachment: None for an entry that is no attachment at all.
    """
    if scope is Scope.NONE:
        return False
    if scope is Scope.VISUAL or attachment is None:
        return True
    return _declares_image(attachment) or not _declares_other(attachment)


def _declares_image(attachment: Attachment) -> bool:
    return (
        (plain_mime(attachment.mime_type) or "").startswith("image/")
        or attachment.kind.strip().lower() == "image"
        or any(ending_of(name) in PICTURE_ENDINGS for name in (attachment.file_name, attachment.url))
    )


def _declares_pdf(attachment: Attachment) -> bool:
    return plain_mime(attachment.mime_type) == PDF or any(
        ending_of(name) == ".pdf" for name in (attachment.file_name, attachment.url)
    )


def _declares_other(attachment: Attachment) -> bool:
    """Plainly said to be no picture: by a type that says something, or as sound or film."""
    return plain_mime(attachment.mime_type) not in (None, ANYTHING) or attachment.kind.strip().lower() in (
        "audio",
        "video",
    )
