"""The administrator's layer: what it pins, and that Hermes itself sees it so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from canon_ops.hermes.homes import resolve_home
from canon_ops.hermes.managed_scope import ManagedScope, PinnedByAdministrator, managed_scope
from tests.support.hosts import THIS_HOST

CONFIG = "model:\n  default: m\napprovals: {}\nplugins:\n  enabled: [a]\n"
ENV = "# policy\nCANON_AGENT='pinned'\n  TZ = UTC \nnothing\nexport X=1\nQ=\"a'\n"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A process with an administrator's folder."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / ".env").write_text(ENV)
    return {"HERMES_MANAGED_DIR": str(tmp_path)}


def scope_of(environ: dict[str, str]) -> ManagedScope:
    scope = managed_scope(resolve_home({"HOME": "/nonexistent", **environ}))
    assert scope is not None
    return scope


def test_variables_and_leaves_are_pinned(environ: dict[str, str]) -> None:
    """A value, what lies below it, and a mapping that holds one; their neighbours are free."""
    scope = scope_of(environ)

    paths: list[list[str | int]] = [["model", "default"], ["model"], ["plugins", "enabled", 0], ["approvals", "mode"]]
    for path in paths:
        with pytest.raises(PinnedByAdministrator, match="The administrator of this machine decides about"):
            scope.refuse_path(path)
    with pytest.raises(PinnedByAdministrator):
        scope.refuse_variable("TZ")
    scope.refuse_path(["model", "provider"])
    scope.refuse_path(["plugins", "disabled"])
    scope.refuse_variable("CANON_HOME")


def test_nothing_is_pinned_where_nothing_can_be_read(tmp_path: Path) -> None:
    """No folder, a broken configuration, an .env that is no text: all count as absent, as they do for Hermes."""
    (tmp_path / "config.yaml").write_text("a: [\n")
    (tmp_path / ".env").write_bytes(b"A=\xff\n")

    environ = {"HERMES_MANAGED_DIR": str(tmp_path)}

    assert (dict(scope_of(environ).variables), scope_of(environ).leaves) == ({}, frozenset())
    assert managed_scope(resolve_home({"HOME": "/nonexistent", "HERMES_MANAGED_DIR": str(tmp_path / "none")})) is None


@pytest.mark.host
def test_hermes_pins_the_same(environ: dict[str, str], tmp_path: Path) -> None:
    """The host's own functions give the same names."""
    script = (
        "import json; from hermes_cli import managed_scope as m; "
        "print(json.dumps([sorted(m.managed_config_keys()), m.load_managed_env()]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={**environ, "HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )

    keys, variables = json.loads(ran.stdout)

    scope = scope_of(environ)
    assert sorted(".".join(leaf) for leaf in scope.leaves) == keys
    pinned = {"X": "1", "Q": "\"a'"} if THIS_HOST.reads_pins_as_dotenv else {"export X": "1", "Q": "a"}
    assert variables == {"CANON_AGENT": "pinned", "TZ": "UTC", **pinned}
    assert THIS_HOST.reads_pins_as_dotenv or dict(scope.variables) == variables
