"""What a running gateway says of its own end of a platform's stream, in the health file of the platform.

The service may answer everybody and this gateway still be deaf: a connection that a proxy keeps half open, a key that
was refused, a loop that hangs. A gateway that does not run, or whose plugin writes no such file, says nothing here.
"""

from __future__ import annotations

from canon_ops.doctor.check import Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination, FactMissing
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.platform_health import PlatformHealth, StreamState, Trust, health_file
from canon_ops.hermes.platforms import PlatformNames
from canon_ops.hermes.surroundings import read_optional

__all__ = ["held_stream"]

_PATIENCE_S = 30.0  # as long as the longest pause between two attempts of the plugin


def held_stream(examination: Examination, names: PlatformNames, *, stream: str = "event stream") -> Finding | None:
    """What is wrong with the stream that the gateway holds; None when nothing is, or nobody holds one.

    Args:
        stream: what people call it.
    """
    file = health_file(examination.home.path, names.name)
    try:
        state, report = examination.gateway(), PlatformHealth.parse(read_optional(file) or b"")
    except (FactMissing, CanonOpsError):  # gateway.running tells of a damaged state; an unreadable report says nothing
        return None
    if state is None or report is None or state.pid != report.pid:
        return None
    now_ms = examination.clock.now_ms()
    since_s = max(0, now_ms - report.stream_since_ms) // 1_000
    data = {"pid": report.pid, "stream": report.stream.value, "since_s": since_s}
    match report.trust(now_ms=now_ms, is_alive=state.is_alive):
        case Trust.DEAD:
            return None
        case Trust.STALE:
            silent_s = (now_ms - report.written_at_ms) // 1_000
            return Finding(
                Status.WARNING,
                f"The gateway (pid {report.pid}) has not said for {_minutes(silent_s)} how it is doing: it hangs.",
                Fix(examination.home.command("gateway restart")),
                Place(str(file)),
                data,
            )
    trouble = f": {report.last_trouble}" if report.last_trouble else "."
    if report.stream is StreamState.REFUSED:
        return Finding(
            Status.ERROR,
            f"{names.label} refused the gateway's key{trouble}",
            Fix(examination.command(f"setup {names.name}")),
            Place(str(file)),
            data,
        )
    if report.stream in (StreamState.CONNECTING, StreamState.LOST) and since_s > _PATIENCE_S:
        return Finding(
            Status.WARNING,
            f"The gateway (pid {report.pid}) has been without {names.label}'s {stream} for {_minutes(since_s)}"
            f"{trouble}",
            Fix("check the network and the proxy variables of the gateway's process; it goes on trying by itself"),
            Place(str(file)),
            data,
        )
    return None


def _minutes(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} minutes"
