"""Run by the host's interpreter: begin one of its sessions afresh, while no gateway of that home runs.

Stand-alone: the standard library and the host, nothing of ours. The request is one JSON object on standard input,
``{"v": 1, "session_key": …}``; the answer is what stands on standard output, ``{"v": 1, "existed": …, "reset": …}``
or ``{"v": 1, "error": …}``. What the host prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def reset(session_key: str) -> dict[str, Any]:
    """Reset the session, if the host knows it."""
    from gateway.config import load_gateway_config
    from gateway.session import SessionStore

    config = load_gateway_config()
    store = SessionStore(config.sessions_dir, config)
    if store.peek_session_id(session_key) is None:
        return {"existed": False, "reset": False}
    return {"existed": True, "reset": store.reset_session(session_key) is not None}


def main() -> None:
    answer_stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the host prints is not the answer
    sys.path[:] = [entry for entry in sys.path if entry]  # the working folder is not the host's
    request = json.load(sys.stdin)
    try:
        answer = reset(str(request["session_key"]))
    except Exception as error:  # whatever the host raises is the answer
        answer = {"error": f"{type(error).__name__}: {error}"}
    json.dump({"v": 1, **answer}, answer_stream)
    answer_stream.flush()
    os._exit(0)  # threads that the host left running must not keep us here


if __name__ == "__main__":
    main()
