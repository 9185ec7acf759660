"""What of the host's metadata goes onto a message: options, Canon metadata, and a bounded rest under ``hermes``.

The host passes one dictionary for its own purposes and for ours. Its markers stay behind; so do keys by which a caller
could name a message id or bring in a reply authority. What has no JSON form is left out, because the message matters
more than its decoration, and everything is copied, because the host goes on using its dictionary.

Source: canon-adapter R7.9; defect D31.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from canon_ops.wire.fields import as_object

__all__ = ["Split", "split_metadata"]

HERMES_BYTES: Final = 1_024  # ours: a quarter of what all metadata may have (Canon wire 4.4)
CANON_BYTES: Final = 3_000  # ours: leaves room for what a message in parts must carry

_OURS: Final = frozenset({"canon_options", "canon_metadata"})
_MARKERS: Final = frozenset(
    {"expect_edits", "notify", "_interim_send", "is_approval_prompt", "reply_to_message_id", "thread_id"}
)
_NEVER_OPTIONS: Final = frozenset({"messageId", "replyAuthority"})


@dataclass(frozen=True, slots=True)
class Split:
    """For a message: its metadata and its further options."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


def split_metadata(host_metadata: object) -> Split:
    """Sort the host's metadata; anything but an object says nothing."""
    source = as_object(host_metadata)
    options = _json_copy(source.get("canon_options"), leave_out=_NEVER_OPTIONS)
    if isinstance(source.get("canon_metadata"), Mapping):
        metadata = _json_copy(source["canon_metadata"])
        return Split(metadata if _size(metadata) <= CANON_BYTES else {}, options)
    rest = _json_copy(source, leave_out=_OURS | _MARKERS)
    return Split({"hermes": rest} if rest and _size(rest) <= HERMES_BYTES else {}, options)


def _json_copy(source: object, *, leave_out: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The entries of an object that have a JSON form, copied through it."""
    copied: dict[str, Any] = {}
    for key, value in as_object(source).items():
        if not isinstance(key, str) or key in leave_out:
            continue
        try:
            copied[key] = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError, RecursionError):
            continue
    return copied


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
