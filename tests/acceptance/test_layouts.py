"""Installed from a third environment into each layout of a real Hermes, found healthy, taken back without a trace.

``make test-layouts``: each of these fills an environment with a whole Hermes, so none is part of every run. What every
run has of installing is done to hosts of a few files, in ``tests/unit/operate/test_package_in_host.py``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.hermes.gateway import GatewayProcess
from canon_ops.hermes.homes import resolve_home
from canon_ops.sandbox.server import CanonSandbox
from tests.support.layouts import LayoutHost, Tool, checkout_host, make_tool, pip_host, uv_host
from tests.support.sandboxes import canon_box

ROOT = Path(__file__).resolve().parents[2]
NOT_THERE = {
    "plugin.installed": "error", "plugin.version": "skipped", "plugin.entry_point": "skipped",
    "plugin.import": "skipped", "plugin.enabled": "error", "platform.enabled": "info", "gateway.running": "info",
}  # fmt: skip

pytestmark = [pytest.mark.host, pytest.mark.checkout, pytest.mark.long, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Tool:
    """canon-ops as a person installs it: from a wheel, into an environment that has no Hermes."""
    folder = tmp_path_factory.mktemp("tool")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return make_tool(folder / "env", wheel)


@pytest.fixture
def box() -> Iterator[CanonSandbox]:
    with canon_box() as running:
        yield running


def plugin_row(host: LayoutHost) -> dict[str, str]:
    """Our row in Hermes' own list of plugins."""
    rows = json.loads(host.hermes("plugins", "list", "--json"))
    listed: list[dict[str, str]] = rows["plugins"] if isinstance(rows, dict) else rows
    (row,) = [row for row in listed if row["name"] == "canon-hermes"]
    return row


def there_and_back(host: LayoutHost, tool: Tool, box: CanonSandbox, *, layout: str, found: str) -> None:
    """The whole way; every stage is looked at from outside."""
    host.furnish(box)
    files, packages = host.files, host.packages

    before = tool.remarks(host, code=1)
    installed = tool(host, "install", "--no-input")["data"]
    healthy = tool.remarks(host)
    listed = plugin_row(host)
    again = tool(host, "install", "--no-input")["data"]
    state = gateway_state(host)
    removed = tool(host, "uninstall", "--yes", "--no-input")["data"]

    assert before == NOT_THERE
    assert (installed["host"]["layout"], installed["host"]["found"]) == (layout, found)
    assert installed["package"]["step"] == "installed"
    assert installed["verified"] == ["Hermes loads canon-hermes from its entrypoint."]
    assert healthy == {"gateway.running": "info"}
    assert listed["status"] == "enabled"
    assert (again["changed"], again["package"]["step"]) == (False, "kept")
    assert state == "connected"
    assert removed["removed"][0] == "canon-ops"
    assert host.files == files
    assert host.packages == packages


def gateway_state(host: LayoutHost) -> str:
    """Start the host's gateway as its user would; what it says about Canon. It changes neither file."""
    before = host.files
    home = resolve_home(host.environ)
    with GatewayProcess.start(home, python=host.python, environ=host.environ, log=host.user / "gateway.out") as gateway:
        state = gateway.wait_ready(platform="canon").platforms["canon"].state
    assert host.files == before
    return state


def test_an_environment_made_by_uv(tmp_path: Path, tool: Tool, box: CanonSandbox) -> None:
    """BR-32: no pip there; the launcher on PATH leads to it, and Hermes' own uv installs into it."""
    host = uv_host(tmp_path)

    there_and_back(host, tool, box, layout="venv", found="launcher")

    assert not list((host.python.parents[1] / "lib").glob("python*/site-packages/pip"))


def test_an_environment_with_pip(tmp_path: Path, tool: Tool, box: CanonSandbox) -> None:
    """Its own pip is what installs; no uv is anywhere."""
    there_and_back(pip_host(tmp_path), tool, box, layout="venv", found="launcher")


def test_a_source_checkout_without_metadata(tmp_path: Path, tool: Tool, box: CanonSandbox) -> None:
    """The official folder, found without a command; its version comes from the code, its pins from its own table."""
    there_and_back(checkout_host(tmp_path), tool, box, layout="checkout", found="checkout")


def test_from_inside_the_host(tmp_path: Path, tool: Tool, box: CanonSandbox) -> None:
    """The copy in the host's own environment looks at itself, compares itself, takes itself out, and still answers."""
    host = uv_host(tmp_path)
    host.furnish(box)
    files = host.files
    tool(host, "install", "--no-input")
    inside = Tool(host.python)
    (wheel,) = host.home.glob(".canon-ops/packages/*/canon_ops-*.whl")

    kept = inside(host, "install", "--no-input")["data"]
    same = inside(host, "upgrade", "--source", str(wheel))["data"]
    removed = inside(host, "uninstall", "--yes", "--no-input")["data"]

    assert (kept["package"]["step"], kept["changed"], kept["host"]["found"]) == ("kept", False, "running")
    assert same["changed"] is False
    assert removed["removed"] == ["canon-ops"]
    assert host.files == files
    assert not [line for line in host.packages if line.startswith("canon-ops")]


def test_the_move_from_the_published_plugin_and_back(tmp_path: Path, tool: Tool, box: CanonSandbox) -> None:
    """It is refused with its name, replaced with consent, its files and profiles kept; rollback returns to it."""
    host = pip_host(tmp_path, "canon-hermes-plugin==0.14.1")
    host.furnish(box)
    subprocess.run(
        [str(host.python), "-m", "canon_hermes_plugin.cli", "install"],
        env=host.environ | {"HERMES_HOME": str(host.home)}, check=True, timeout=120, capture_output=True,
    )  # fmt: skip
    agents = (host.user / ".canon" / "agents.json").read_bytes()
    files, packages = host.files, host.packages

    refused = tool(host, "install", "--no-input", code=1)
    moved = tool(host, "install", "--yes", "--no-input")["data"]
    healthy, state = tool.remarks(host), gateway_state(host)
    back = tool(host, "rollback", "--yes", "--no-input")["data"]
    owner = tool.remarks(host, code=1)

    assert refused["errors"][0]["code"] == "plugin_foreign"
    assert "canon-hermes-plugin 0.14.1" in refused["errors"][0]["message"]
    assert [row["name"] for row in moved["package"]["replaces"]] == ["canon-hermes-plugin"]
    assert (healthy, state) == ({"gateway.running": "info"}, "connected")
    assert back["returned"] == [{"name": "canon-hermes-plugin", "version": "0.14.1"}]
    assert owner["plugin.owner"] == "error"
    assert (host.files, host.packages) == (files, packages)
    assert (host.user / ".canon" / "agents.json").read_bytes() == agents
