"""The command line as a fuzz target: words in, an exit code of the table and an answer in its form out.

Only commands that look, and writers under ``--dry-run``, are called; they run in this process, in a home of their own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from canon_ops.cli.main import start
from canon_ops.cli.streams import Streams
from canon_ops.errors import ExitCode
from tests.fuzz.targets import Target
from tests.unit.cli.conftest import Paper

__all__ = ["ARGV", "CALLS"]

CALLS = (
    "config get display.skin", "config list", "config path", "config validate", "config set --dry-run display.skin ocean",
    "config set --dry-run --type json a.b [1]", "config add --dry-run plugins.enabled canon-hermes", "config unset --dry-run a",
    "env list", "env get CANON_AGENT", "env lint", "env set --dry-run CANON_AGENT desk", "approvals list --state pending",
    "approvals show apr-1", "approvals export --format csv", "inbox list", "inbox show 1", "outbox list", "history list",
    "explain config_syntax", "schema list", "schema show config.get", "man show config", "profile list", "profile show desk",
    "creds list", "version", "completion show bash", "logs -n 3", "logs --grep a", "undo --dry-run", "preferences list",
)  # fmt: skip
SAFE = frozenset(tuple(word for word in call.split()[:2] if not word.startswith("-")) for call in CALLS)
OPTIONS = (
    "--json", "--plain", "--no-input", "-y", "-q", "-v", "--color", "never", "--profile", "work", "--hermes-home", ".",
    "--timeout", "1", "-h", "--help", "--", "-", "--dry-run", "--diff", "--if-unchanged", "00", "--type", "int", "--jq", ".",
    "--since", "1h", "--all-profiles",
)  # fmt: skip


def call(data: bytes) -> None:
    """A wrong call is exit 2 and a sentence; nothing is a fault of ours, and ``--json`` is one document."""
    words = [word.decode("utf-8", "surrogateescape") for word in data.replace(b"\0", b"").split(b"\n")]
    if not any(tuple(words[: len(safe)]) == safe for safe in SAFE):
        return
    if words[0] in ("config", "env", "undo") and "--dry-run" not in words[:3] and words[1:2] not in LOOKING:
        return
    keyboard, out, err = Paper(), Paper(), Paper()
    code = start("canon-ops", "", words, os.environ, Streams(keyboard, out, err, os.environ))
    assert int(code) in {int(one) for one in ExitCode}
    assert "A fault in canon-ops" not in out.getvalue() + err.getvalue(), err.getvalue()
    if "--json" in words and out.getvalue().startswith("{"):
        document = json.loads(out.getvalue())
        assert document["exit_code"] == int(code)


LOOKING: Sequence[list[str]] = (["get"], ["list"], ["path"], ["validate"], ["lint"])

ARGV = Target(
    call.__doc__ or "",
    call,
    [one.replace(" ", "\n").encode() for one in CALLS],
    [f"\n{option}".encode() for option in OPTIONS] + [b"=", b"\n", b"\n\n", b"--json\n", b"a.b", b"[0]"],
)
