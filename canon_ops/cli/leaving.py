"""The end of a process that has said everything: without taking apart, object by object, what the system frees at once.

Taking a few hundred modules apart costs a short command a tenth of its time. Everything that a user of this program or
of Python may rely on still happens: what is buffered is written, ``atexit`` functions run, and where a thread is still
at work that Python would wait for, or the streams cannot be flushed, the ordinary end takes its course.
"""

from __future__ import annotations

import atexit
import os
import sys

__all__ = ["leave"]


def leave(exit_code: int) -> int:
    """End the process with this exit code; returns it where the ordinary end is called for."""
    threading = sys.modules.get("threading")  # a run that has not loaded it has no threads
    if threading is not None and any(
        not thread.daemon for thread in threading.enumerate() if thread is not threading.current_thread()
    ):
        return exit_code
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return exit_code
    os._exit(exit_code)
