"""A command's end: ask the gateway that owns the inbox, or do it here when none does.

Who holds the inbox's lock owns the inbox. So the command tries the lock: free, it keeps it while it does the work on
the file; taken, a gateway has it, and is asked through its socket. A lock is free when its holder is gone, however it
went; what that one had claimed is in doubt then, and can be decided about without waiting for another gateway.

Between the two stand moments in which the lock is taken and nobody listens: a gateway that starts or ends, and another
command. Those are waited for. And a gateway may run that has no Borgee, or another one's adapter that knows nothing of
the lock: beside these nothing is decided.

Source: decisions B2; Borgee 4.10.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Final

from borgee_hermes.control.protocol import MAX_LINE, Request, ask_line, read_answer, socket_path
from borgee_hermes.control.server import runtime_folder
from borgee_hermes.inbox import operator, store
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.inbox.problems import RiskNotConfirmed
from borgee_hermes.inbox.records import UNDECIDED, Receipt
from borgee_hermes.inbox.schema import SCHEMA
from borgee_hermes.locks.identity import PROFILE_SCOPE, profile_identity
from canon_ops.durable import read_once, write_once
from canon_ops.errors import ConflictError
from canon_ops.files.lock import FileLock, LockTimeout, holder_of
from canon_ops.hermes.scoped_locks import lock_owner
from canon_ops.runtime.ownership import is_ours

__all__ = ["GatewaySilent", "Where", "decide"]

ANSWER_S: Final = 30.0
LOOK_S: Final = 0.1
LOOKS: Final = int(ANSWER_S / LOOK_S)  # a gateway that starts listens by then, or has given up
LOOKS_BESIDE: Final = LOOKS // 3  # one that runs has the lock by then, or has no Borgee


class Where(Enum):
    """Who carried a decision out."""

    GATEWAY = "gateway"
    HERE = "here"


class GatewaySilent(ConflictError):
    """Somebody owns the inbox and does not answer."""

    code = "borgee_gateway_silent"


class _NobodyListens(Exception):
    """There is no socket, or nobody at its other end; nothing was asked."""


class _HasStarted(Exception):
    """A gateway came while the session was being reset; nothing was decided."""


def _no_gateway() -> int | None:
    return None


def decide(
    home: Path,
    request: Request,
    *,
    reset_session: Callable[[str], object],
    gateway: Callable[[], int | None] = _no_gateway,
    environ: Mapping[str, str] = os.environ,
    now_s: Callable[[], float] = time.time,
    pause: Callable[[float], None] = time.sleep,
) -> tuple[bool, Where]:
    """Discard or requeue a receipt of ``home`` that is quarantined, or that a gateway which is gone had claimed.

    Returns:
        Whether it has changed, and who did it.

    Args:
        reset_session: begins a host's session afresh, if there is one; called only when no gateway owns the inbox.
        gateway: the process of this home's gateway, if one runs, whatever it has of Borgee.

    Raises:
        NoDatabase: there is no inbox.
        GatewaySilent: it is owned, and its owner does not answer; or another adapter of this home is at work.
        CanonOpsError: what the gateway says, or what is wrong with the file; nothing was decided.
    """
    if request.op == "requeue" and not request.confirm:
        raise RiskNotConfirmed(request.ingest_seq)
    path = inbox_file(home)
    read_once(path, SCHEMA, store.terminal_watermark)  # there is one, and it can be read
    lock = path.with_name("inbox.lock")
    for look in range(LOOKS + 1):
        process = gateway()
        if process is None or look == LOOKS_BESIDE:
            try:
                with FileLock(lock, 0):
                    _require_nobody_at_work(home, environ)
                    _require_no_gateway(process)
                    return _here(home, request, reset_session, gateway, now_s()), Where.HERE
            except (LockTimeout, _HasStarted):
                pass  # whoever has it, or will have it, is asked
        try:
            return _ask(_socket_of(path.parent, environ), path.parent, request), Where.GATEWAY
        except _NobodyListens as exc:
            if look == LOOKS:
                raise _silent(lock) from exc
        except OSError as exc:
            raise _silent(lock) from exc
        pause(LOOK_S)
    raise AssertionError("the last look returns or raises")


def _here(
    home: Path,
    request: Request,
    reset_session: Callable[[str], object],
    gateway: Callable[[], int | None],
    now_s: float,
) -> bool:
    path, seq = inbox_file(home), request.ingest_seq
    receipt: Receipt | None = read_once(path, SCHEMA, store.get, seq)
    if receipt is None or receipt.status not in UNDECIDED:
        return False
    had_session = bool(reset_session(receipt.session_key))
    if gateway() is not None:  # it may have read the session before, and waits for the lock
        raise _HasStarted
    return write_once(
        path,
        SCHEMA,
        operator.decide_alone,
        request.op,
        seq,
        had_session=had_session,
        risk_confirmed=request.confirm,
        now_s=now_s,
    )


def _require_nobody_at_work(home: Path, environ: Mapping[str, str]) -> None:
    """Refuse while a process has this home for Borgee: the published plugin knows nothing of the inbox's lock."""
    owner = lock_owner(PROFILE_SCOPE, profile_identity(home), environ)
    if owner is not None and owner.is_alive:
        raise GatewaySilent(
            f"process {owner.pid} has this home for Borgee and may be at work on it",
            fix="hermes gateway status, and stop the gateway first",
        )


def _require_no_gateway(process: int | None) -> None:
    """Refuse while a gateway serves this home without Borgee: it keeps all sessions in its memory and writes all of
    them at each change, so a reset from outside would not last, and could take back what it has written meanwhile."""
    if process is not None:
        raise GatewaySilent(
            f"the gateway (process {process}) runs without Borgee, and has every session in its memory",
            fix="hermes gateway stop, and decide before you start it again",
        )


def _ask(path: Path, folder: Path, request: Request) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_S)
        try:
            if not is_ours(path.lstat(), folder):  # in a shared folder anybody could have put one there
                raise PermissionError(f"{path} is somebody else's socket")
            connection.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError) as exc:
            raise _NobodyListens from exc
        try:
            connection.sendall(ask_line(request))
            with connection.makefile("rb") as answers:
                line = answers.readline(MAX_LINE)
        except OSError as exc:
            raise _unanswered(request) from exc
    if not line:
        raise _unanswered(request)
    return read_answer(line).changed


def _silent(lock: Path) -> GatewaySilent:
    process = holder_of(lock)
    who = f"process {process}" if process else "another process"
    return GatewaySilent(
        f"{who} holds {lock} and does not answer", fix="hermes gateway status, and stop the gateway first"
    )


def _unanswered(request: Request) -> GatewaySilent:
    """Nobody knows whether it was carried out, so it is not asked again."""
    return GatewaySilent(
        "the gateway was asked, and did not say whether it has decided",
        fix=f"canon-ops inbox show {request.ingest_seq}",
    )


def _socket_of(folder: Path, environ: Mapping[str, str]) -> Path:
    """Where the gateway said that it listens, or where it would by default."""
    try:
        noted = json.loads((folder / "control.json").read_text(encoding="utf-8"))["socket"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return socket_path(folder, runtime_folder(environ))
    beside = folder / "control.sock"
    return beside if beside.exists() else Path(str(noted))
