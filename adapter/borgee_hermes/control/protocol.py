"""One JSON line each way over a socket that only the home's owner can open. Pure.

A request names an operation on one receipt; the answer is whether the receipt has changed, or why not, in the words of
the gateway. A version that the other side does not know is refused, never guessed at.

Source: decisions B2.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from canon_ops.errors import CanonOpsError, OutsideError, RefusedError

__all__ = [
    "MAX_LINE",
    "Answer",
    "BadLine",
    "Request",
    "answer_line",
    "ask_line",
    "read_answer",
    "read_request",
    "refusal_line",
    "socket_path",
]

VERSION: Final = 1
MAX_LINE: Final = 64 * 1024
OPERATIONS: Final = frozenset({"ping", "discard", "requeue"})
LONGEST_PATH: Final = 100  # bytes: what every system's socket addresses can hold, with room


class BadLine(OutsideError):
    """The other side did not speak this protocol."""

    code = "control_bad_line"


class Declined(RefusedError):
    """The gateway said no, in its own words."""

    code = "control_declined"


@dataclass(frozen=True, slots=True)
class Request:
    """What a command asks."""

    op: str
    ingest_seq: int = 0
    confirm: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it: whether the receipt has changed."""

    changed: bool


def ask_line(request: Request) -> bytes:
    """A request on the wire."""
    content = {"v": VERSION, "op": request.op, "ingest_seq": request.ingest_seq, "confirm": request.confirm}
    return _line(content)


def read_request(line: bytes) -> Request:
    """Understand a request.

    Raises:
        BadLine: it is none.
    """
    content = _object(line)
    op, seq, confirm = content.get("op"), content.get("ingest_seq", 0), content.get("confirm", False)
    if op not in OPERATIONS:
        raise BadLine(f"{op!r} is no operation; there are {', '.join(sorted(OPERATIONS))}")
    if isinstance(seq, bool) or not isinstance(seq, int) or not isinstance(confirm, bool):
        raise BadLine("ingest_seq must be a number and confirm true or false")
    return Request(op, seq, confirm)


def answer_line(answer: Answer) -> bytes:
    """An answer on the wire."""
    return _line({"v": VERSION, "ok": True, "changed": answer.changed})


def refusal_line(error: CanonOpsError) -> bytes:
    """An error on the wire."""
    return _line({"v": VERSION, "ok": False, "code": error.code, "message": error.what, "fix": error.fix})


def read_answer(line: bytes) -> Answer:
    """Understand an answer.

    Raises:
        Declined: the gateway's own refusal, in its words.
        BadLine: it is no answer.
    """
    content = _object(line)
    if content.get("ok") is True and isinstance(content.get("changed"), bool):
        return Answer(content["changed"])
    if content.get("ok") is False and isinstance(content.get("message"), str):
        fix = content.get("fix")
        raise Declined(content["message"], fix=fix if isinstance(fix, str) else None)
    raise BadLine("the gateway gave an answer that is none")


def socket_path(folder: Path, runtime: Path) -> Path:
    """Where the socket of an inbox stands: beside it, or, when that path is too long for one, in ``runtime``."""
    beside = folder / "control.sock"
    if len(os.fsencode(beside)) <= LONGEST_PATH:
        return beside
    return runtime / f"canon-ops-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}.sock"


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _object(line: bytes) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as exc:
        raise BadLine("a line that is no JSON") from exc
    if not isinstance(content, dict):
        raise BadLine("a line that is no object")
    if content.get("v") != VERSION:
        raise BadLine(f"version {content.get('v')!r} of the protocol, where {VERSION} is spoken")
    return content
