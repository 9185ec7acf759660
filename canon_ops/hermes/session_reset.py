"""Beginning a host's session afresh from outside, for a home whose gateway does not run (decisions F5)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.host_call import HostUnusable

__all__ = ["reset_session"]

RESET_S = 60.0  # it imports the gateway: about 1.5 s warm


def reset_session(
    python: Path, home: HermesHome, session_key: str, *, environ: Mapping[str, str], timeout_s: float = RESET_S
) -> bool:
    """Reset a session of ``home`` with the host's own store; false when the host knows none of that name.

    Raises:
        HostUnusable: the host did not do it; its session is as it was.
    """
    child = resources.files("canon_ops.hermes").joinpath("session_child.py").read_text(encoding="utf-8")
    clean = {name: text for name, text in environ.items() if not name.startswith("PYTHON")}
    try:
        done = subprocess.run(
            [str(python), "-c", child],
            input=json.dumps({"v": 1, "session_key": session_key}),
            capture_output=True,
            text=True,
            env={**clean, "HERMES_HOME": str(home.path)},
            timeout=timeout_s,
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as exc:
        raise HostUnusable(f"{python} did not reset the session {session_key}", fix="canon-ops host show") from exc
    if answer.get("error") or (answer.get("existed") and not answer.get("reset")):
        raise HostUnusable(
            f"Hermes did not reset the session {session_key}: {answer.get('error', 'it refused')}",
            fix="canon-ops host show",
        )
    return bool(answer.get("existed"))
