"""Where Canon's local files are."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.settings.paths import CanonPaths

HOME = Path("/home/a")


@pytest.mark.parametrize(
    ("environ", "folder", "agents"),
    [
        ({}, "/home/a/.canon", "/home/a/.canon/agents.json"),
        ({"CANON_HOME": "/srv/canon"}, "/srv/canon", "/srv/canon/agents.json"),
        ({"CANON_HOME": "~/c"}, "/home/a/c", "/home/a/c/agents.json"),
        ({"CANON_HOME": "~"}, "/home/a", "/home/a/agents.json"),
        ({"CANON_HOME": "  "}, "/home/a/.canon", "/home/a/.canon/agents.json"),
        ({"CANON_AGENTS_PATH": "/x/p.json"}, "/home/a/.canon", "/x/p.json"),
        ({"CANON_AGENTS_FILE": "/x/f.json", "CANON_AGENTS_PATH": "/x/p.json"}, "/home/a/.canon", "/x/f.json"),
        ({"CANON_HOME": "/srv", "CANON_AGENTS_FILE": ""}, "/srv", "/srv/agents.json"),
    ],
)
def test_the_variables_move_the_files(environ: dict[str, str], folder: str, agents: str) -> None:
    """CANON_HOME moves all of them, the two other variables only agents.json."""
    paths = CanonPaths.from_environ(environ, HOME)

    assert paths == CanonPaths(
        home=Path(folder),
        agents_file=Path(agents),
        pending_file=Path(folder) / "pending-registrations.json",
        detached_approvals_file=Path(folder) / "detached-approvals.json",
    )
