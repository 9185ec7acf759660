"""What keeps a gateway running: the definitions as Hermes writes them, and what they say."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.hermes.service import ServiceKind, find_services, service_name

UNIT = """\
[Unit]
Description=Hermes Agent Gateway

[Service]
Type=simple
ExecStart=/opt/hermes/venv/bin/python -m hermes_cli.main --profile work gateway run
Environment="PATH=/usr/bin:/bin"
Environment="VIRTUAL_ENV=/opt/hermes/venv" "HERMES_HOME=/home/a b/.hermes/profiles/work"
Restart=always
"""
PLIST = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
  <key>Label</key><string>ai.hermes.gateway</string>
  <key>ProgramArguments</key><array><string>/opt/venv/bin/python3</string><string>-m</string></array>
  <key>EnvironmentVariables</key><dict><key>HERMES_HOME</key><string>/Users/a/.hermes</string></dict>
</dict></plist>
"""


def put(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def home_of(user: Path, profile: str | None = None) -> HermesHome:
    (user / ".hermes" / "profiles" / "work").mkdir(parents=True, exist_ok=True)
    return resolve_home({"HOME": str(user)}, profile=profile)


def test_a_unit_of_a_profile(tmp_path: Path) -> None:
    """Its name carries the profile; interpreter and pinned home are read, quotes and several variables a line too."""
    file = put(tmp_path / ".config/systemd/user/hermes-gateway-work.service", UNIT)

    (found,) = find_services(home_of(tmp_path, "work"), {"HOME": str(tmp_path)}, system=tmp_path / "system")

    assert (found.kind, found.name, found.file) == (ServiceKind.SYSTEMD_USER, "hermes-gateway-work", file)
    assert found.python == Path("/opt/hermes/venv/bin/python")
    assert found.hermes_home == Path("/home/a b/.hermes/profiles/work")


def test_the_unit_of_another_profile_is_not_ours(tmp_path: Path) -> None:
    """Each home has a service of its own."""
    put(tmp_path / ".config/systemd/user/hermes-gateway-work.service", UNIT)

    assert find_services(home_of(tmp_path), {"HOME": str(tmp_path)}, system=tmp_path / "system") == ()


def test_all_kinds_in_the_order_in_which_hermes_takes_them(tmp_path: Path) -> None:
    """s6 first, then the user's unit, the system's, and launchd."""
    system = tmp_path / "system"
    (system / "run/service/gateway-default").mkdir(parents=True)
    put(tmp_path / ".config/systemd/user/hermes-gateway.service", UNIT)
    put(system / "etc/systemd/system/hermes-gateway.service", "[Service]\nExecStart=-/usr/bin/hermes gateway run\n")
    put(tmp_path / "Library/LaunchAgents/ai.hermes.gateway.plist", PLIST)

    found = find_services(home_of(tmp_path), {"HOME": str(tmp_path)}, system=system)

    assert [one.kind for one in found] == [
        ServiceKind.S6, ServiceKind.SYSTEMD_USER, ServiceKind.SYSTEMD, ServiceKind.LAUNCHD,
    ]  # fmt: skip
    assert [one.python for one in found] == [
        None, Path("/opt/hermes/venv/bin/python"), None, Path("/opt/venv/bin/python3"),
    ]  # fmt: skip
    assert (found[2].command, found[3].hermes_home) == (("/usr/bin/hermes", "gateway", "run"), Path("/Users/a/.hermes"))


@pytest.mark.parametrize("text", ["", "<plist><dict><key>", "not xml", "<plist version='1.0'><array/></plist>"])
def test_a_damaged_definition_says_nothing(text: str, tmp_path: Path) -> None:
    """It is there, and that is all that is known."""
    put(tmp_path / "Library/LaunchAgents/ai.hermes.gateway.plist", text)

    (found,) = find_services(home_of(tmp_path), {"HOME": str(tmp_path)}, system=tmp_path / "system")

    assert (found.command, found.hermes_home, found.python) == ((), None, None)


def test_a_custom_home_goes_by_a_digest_of_its_path(tmp_path: Path) -> None:
    """As Hermes names it, so that two custom homes never share a service."""
    home = resolve_home({"HOME": str(tmp_path)}, hermes_home=tmp_path / ".hermes" / "elsewhere")

    assert service_name(home) == hashlib.sha256(str(tmp_path / ".hermes" / "elsewhere").encode()).hexdigest()[:8]
