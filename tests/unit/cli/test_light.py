"""What the most common commands may load: an edit of one key waits for nothing that it does not need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from canon_ops.cli.main import run_as
code = run_as("canon-ops", "", sys.argv[1:])
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""
HEAVY = {
    "rich", "questionary", "prompt_toolkit", "httpx", "anyio", "starlette", "uvicorn", "ruamel.yaml", "tomlkit",
    "asyncio", "difflib", "traceback", "canon_ops.settings.environments", "canon_ops.settings.credentials",
    "canon_ops.wire.messages",
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "also"),
    [
        (
            ("config", "set", "streaming.enabled", "true"),
            {
                "canon_ops.cli.secrets_of_home",
                "canon_ops.settings.dotenv",
                "click",
                "dataclasses",
                "inspect",
                "typing",
                "_hashlib",
            },
        ),
        (
            ("config", "get", "streaming.enabled"),
            {"yaml_edit", "canon_ops.cli.secrets_of_home", "click", "dataclasses", "typing"},
        ),
        (("--version",), {"click", "yaml"}),
    ],
)
def test_a_common_command_loads_little(tmp_path: Path, words: tuple[str, ...], also: set[str]) -> None:
    """None of the heavy modules, and nothing that only other commands need."""
    (tmp_path / ".hermes").mkdir()
    (tmp_path / ".hermes" / "config.yaml").write_text("streaming:\n  enabled: false\n")
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    ran = subprocess.run([sys.executable, "-c", PROGRAM, *words], env=environ, capture_output=True, text=True)

    loaded = set(ran.stderr.split())
    assert ran.returncode == 0
    assert loaded & (HEAVY | also) == set()
