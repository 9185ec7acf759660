"""How a host that is not as it was released is put back, and what to put in the place of one that is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from canon_ops.doctor.checks.host import _reinstall
from canon_ops.hermes.audited import Refused
from canon_ops.hermes.discovery import HostInstallation, HowFound, Layout
from canon_ops.hermes.installer import Installer


@pytest.mark.parametrize(
    ("version", "python", "platform", "command"),
    [
        pytest.param("0.19.0", "3.12.1", "linux",
                     "/opt/h/bin/python -m pip install --force-reinstall --no-deps hermes-agent==0.19.0", id="run"),
        pytest.param("0.21.0", "3.13.1", "darwin", "Install Hermes 0.21.0 again, from where it came.", id="on paper"),
    ],
)  # fmt: skip
def test_a_version_known_on_paper_is_not_asked_of_an_index(
    version: str, python: str, platform: str, command: str
) -> None:
    """Only what was run is known to be on a package index."""
    facts: Any = SimpleNamespace(hermes=SimpleNamespace(version=version), python=python, platform=platform)
    interpreter = Path("/opt/h/bin/python")
    pip = Installer("pip", (str(interpreter), "-m", "pip"))

    host = HostInstallation(interpreter, None, HowFound.OPTION, Layout.VENV, pip, facts)

    assert _reinstall(host).command == command


@pytest.mark.parametrize(
    ("installer", "command"),
    [
        pytest.param(Installer("pip", ("/opt/my host/bin/python", "-m", "pip")),
                     "'/opt/my host/bin/python' -m pip install hermes-agent==0.19.0", id="pip"),
        pytest.param(Installer("uv", ("/opt/uv", "pip")),
                     "/opt/uv pip install --python '/opt/my host/bin/python' hermes-agent==0.19.0", id="uv"),
        pytest.param(None, "pip install hermes-agent==0.19.0", id="neither"),
    ],
)  # fmt: skip
def test_the_advice_is_about_the_environment_that_was_refused(installer: Installer | None, command: str) -> None:
    """S1.13: ``pip`` on PATH is mostly somebody else's; the advice names the host's interpreter."""
    facts: Any = SimpleNamespace(hermes=SimpleNamespace(version="0.11.0"), python="3.11.4", platform="linux")
    host = HostInstallation(Path("/opt/my host/bin/python"), None, HowFound.OPTION, Layout.VENV, installer, facts)

    verdict = host.audit()

    assert isinstance(verdict, Refused)
    assert verdict.fix == f"Install an audited Hermes: {command}"
