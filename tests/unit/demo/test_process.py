"""What the demo says about its gateway comes from the gateway."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.demo.narration import GatewayFacts
from canon_ops.demo.process import gateway_facts
from canon_ops.demo.steps import way_to_a_host
from canon_ops.hermes.audited import Audited, AuditedHost, Evidence, audit
from canon_ops.hermes.homes import HermesHome, HomeChoice
from canon_ops.hermes.platform_health import PlatformHealth, StreamState, health_file

ROWS = (
    AuditedHost("0.19.0", "3.12", "linux", Evidence.RUN),
    AuditedHost("0.21.0", "3.13", "linux", Evidence.DOCUMENT),
    AuditedHost("0.21.0", "3.13", "darwin", Evidence.DOCUMENT),
)
PID = 4321


def a_home(folder: Path, *, reporting: int | None) -> HermesHome:
    """A home whose Canon plugin has reported, from the process that is given."""
    if reporting is not None:
        report = PlatformHealth(
            "canon", "1.0", "0.77.0", reporting, 1_000, "env_test", "agent_test", StreamState.OPEN, 1_000
        )
        file = health_file(folder, "canon")
        file.parent.mkdir(parents=True)
        file.write_bytes(report.data)
    return HermesHome(folder, folder, "default", HomeChoice.HOME_OPTION)


def processes(folder: Path, command: bytes) -> Path:
    file = folder / "proc" / str(PID) / "cmdline"
    file.parent.mkdir(parents=True)
    file.write_bytes(command)
    return folder / "proc"


def test_version_and_program_are_those_of_the_process(tmp_path: Path) -> None:
    """L6: both are what the running process says, whatever was found before it started."""
    table = processes(tmp_path, b"/opt/other/bin/python\0/opt/other/bin/hermes\0gateway\0run\0")

    facts = gateway_facts(a_home(tmp_path, reporting=PID), PID, processes=table, wait_s=0)

    assert facts == GatewayFacts(PID, Path("/opt/other/bin/python"), "0.77.0")


@pytest.mark.parametrize("command", [b"", b"hermes\0gateway\0"], ids=["empty", "no path"])
def test_a_program_that_the_system_does_not_name_is_unknown(tmp_path: Path, command: bytes) -> None:
    """L6: without a full path in the process table nothing is put in its place."""
    home = a_home(tmp_path, reporting=PID)

    assert gateway_facts(home, PID, processes=processes(tmp_path, command), wait_s=0).executable is None


def test_a_system_without_a_process_table_leaves_the_program_unknown(tmp_path: Path) -> None:
    """L6: macOS has no /proc."""
    home = a_home(tmp_path, reporting=PID)

    assert gateway_facts(home, PID, processes=tmp_path / "none", wait_s=0) == GatewayFacts(PID, None, "0.77.0")


@pytest.mark.parametrize("reporting", [None, PID + 1], ids=["no report", "another gateway's"])
def test_a_version_that_the_process_did_not_report_is_unknown(tmp_path: Path, reporting: int | None) -> None:
    """L6: a report of another process is not this one's."""
    home = a_home(tmp_path, reporting=reporting)

    assert gateway_facts(home, PID, processes=tmp_path / "none", wait_s=0).version is None


@pytest.mark.parametrize("python", ["3.11.4", "3.12.0", "3.14.0"])
def test_the_way_to_a_host_ends_on_one_that_was_run(python: str) -> None:
    """The commands name a version and a Python that the demo then admits."""
    told = way_to_a_host("linux", python, ROWS)

    assert told == (
        "python3.12 -m venv demo-venv && demo-venv/bin/pip install hermes-agent==0.19.0 "
        "&& canon-ops demo --python demo-venv/bin/python"
    )
    assert isinstance(audit("0.19.0", "3.12", "linux", rows=ROWS), Audited)


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_where_nothing_was_run_no_command_is_given(platform: str) -> None:
    """A command that ends in the same refusal again would go round in a circle."""
    told = way_to_a_host(platform, "3.13", ROWS)

    assert "pip" not in told and "Linux" in told
