"""``setup borgee`` and ``install borgee`` as programs: options, documents, answer files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from borgee_hermes.loopback.server import BorgeeSandbox
from tests.support.borgee_boxes import borgee_box
from tests.unit.cli.conftest import Runner


@pytest.fixture
def borgee() -> Iterator[BorgeeSandbox]:
    with borgee_box() as box:
        yield box


def address(box: BorgeeSandbox) -> tuple[str, ...]:
    return ("--base-url", box.endpoints.base_url, "--allow-insecure-loopback", "--change-shared")


def test_setup_without_a_person(program: Runner, home: Path, borgee: BorgeeSandbox) -> None:
    """The key comes over stdin, and is in the home's ``.env`` and nowhere else."""
    key = borgee.endpoints.agent_key

    ran = program("setup", "borgee", *address(borgee), "--api-key-stdin", "--json", stdin=f"{key}\n")

    data = ran.json["data"]
    assert (ran.code, data["agent_id"], data["store"], data["pinned"]) == (0, "agent_sandbox", "file", False)
    assert [one["path"] for one in data["shared"]] == ["group_sessions_per_user", "display.busy_input_mode"]
    assert (home / ".hermes" / ".env").read_text() == f"BORGEE_API_KEY={key}\n"
    assert key not in ran.out + ran.err


def test_people_are_told_what_holds_for_every_platform(program: Runner, home: Path, borgee: BorgeeSandbox) -> None:
    """B3: in words; and the next step, since nothing has enabled the plugin."""
    file = home / "key.txt"
    file.write_text(borgee.endpoints.agent_key)

    ran = program("setup", "borgee", *address(borgee), "--api-key-file", str(file), terminal=True)

    assert ran.code == 0
    assert "group_sessions_per_user is false for every platform of this gateway." in " ".join(ran.out.split())
    assert "Next: canon-ops install borgee" in ran.out


def test_a_missing_answer_names_its_option(program: Runner, home: Path) -> None:
    """Exit 2, nothing on stdout, nothing written."""
    ran = program("setup", "borgee", "--no-input")

    assert (ran.code, ran.out) == (2, "")
    assert "--base-url" in ran.err
    assert not (home / ".hermes").exists() or list((home / ".hermes").iterdir()) == []


def test_answers_go_from_machine_to_machine(program: Runner, home: Path, borgee: BorgeeSandbox, tmp_path: Path) -> None:
    """Saved without the key, and enough with it."""
    file, key = tmp_path / "answers.toml", borgee.endpoints.agent_key
    words = ("setup", "borgee", "--api-key-stdin")
    assert program(*words, *address(borgee), "--save-answers", str(file), stdin=key).code == 0
    first = (home / ".hermes" / "config.yaml").read_text()
    for name in ("config.yaml", ".env"):
        (home / ".hermes" / name).unlink()

    again = program(*words, "--answers", str(file), stdin=key)

    assert (again.code, (home / ".hermes" / "config.yaml").read_text()) == (0, first)
    assert key not in file.read_text()


@pytest.mark.parametrize("line", ["owner-phone = '+1'", "change-shared = 'yes'", "base-url = true"])
def test_an_answer_of_another_kind_is_refused(program: Runner, tmp_path: Path, line: str) -> None:
    """Also one that belongs to the other platform."""
    file = tmp_path / "answers.toml"
    file.write_text(f"{line}\n")

    ran = program("setup", "borgee", "--answers", str(file), "--json")

    assert (ran.code, ran.json["errors"][0]["code"]) == (2, "answers_file")


@pytest.mark.host
def test_install_enables_borgee_and_leaves_access_alone(program: Runner, home: Path) -> None:
    """W27: Borgee alone decides whom its agent hears; no switch of the gateway is touched."""
    first = program("install", "borgee", "--skip-package", "--json")
    second = program("install", "borgee", "--skip-package", "--json")

    config = yaml.safe_load((home / ".hermes" / "config.yaml").read_text())
    assert config == {"plugins": {"enabled": ["borgee"]}, "borgee": {"enabled": True}}
    assert not (home / ".hermes" / ".env").exists()
    assert (first.code, first.json["data"]["platform"], first.json["data"]["access"]) == (0, "borgee", "kept")
    assert first.json["data"]["next"] == ["canon-ops setup borgee", "hermes gateway run"]
    assert (second.json["data"]["changed"], second.code) == (False, 0)


@pytest.mark.host
def test_both_platforms_in_one_call(program: Runner, home: Path) -> None:
    """One after the other; and both are taken back in one call, each file as it was."""
    config = home / ".hermes" / "config.yaml"
    config.parent.mkdir()
    config.write_text("# mine\nmodel: {default: x}\n")

    ran = program("install", "canon", "borgee", "--skip-package", "--json")
    tree = yaml.safe_load(config.read_text())
    taken = program("uninstall", "canon", "borgee", "--skip-package", "--yes", "--json")

    assert [one["platform"] for one in ran.json["data"]["platforms"]] == ["canon", "borgee"]
    assert tree["plugins"]["enabled"] == ["canon-hermes", "borgee"]
    assert (tree["borgee"]["enabled"], tree["platforms"]["canon"]["enabled"]) == (True, True)
    assert [one["platform"] for one in taken.json["data"]["platforms"]] == ["borgee", "canon"]
    assert config.read_text() == "# mine\nmodel: {default: x}\n"


@pytest.mark.host
def test_install_then_setup_in_one_call(program: Runner, home: Path, borgee: BorgeeSandbox) -> None:
    """``--setup`` leads on; what is there already is kept."""
    program("setup", "borgee", *address(borgee), "--api-key-stdin", stdin=borgee.endpoints.agent_key)

    ran = program("install", "borgee", "--skip-package", "--setup", "--no-input", "--json")

    assert (ran.code, ran.json["data"]["setup"]) == (0, None)
    assert ran.json["data"]["borgee_setup"]["agent_id"] == "agent_sandbox"


def test_a_purge_takes_the_key(program: Runner, home: Path, borgee: BorgeeSandbox) -> None:
    """Variable and history; Canon's profiles are nobody's business then."""
    key = borgee.endpoints.agent_key
    profiles = home / ".canon" / "agents.json"
    profiles.parent.mkdir()
    profiles.write_text(json.dumps({"ops": {"clientType": "hermes", "apiKey": "agk_live_sandbox_x"}}))
    program("install", "borgee", "--skip-package")
    program("setup", "borgee", *address(borgee), "--api-key-stdin", stdin=key)

    ran = program("uninstall", "borgee", "--skip-package", "--purge", "--yes", "--json")

    below = b"".join(file.read_bytes() for file in (home / ".hermes").rglob("*") if file.is_file())
    assert (ran.code, ran.json["data"]["purged_profile"]) == (0, None)
    assert key.encode() not in below
    assert "agk_live_sandbox_x" in profiles.read_text()


def test_the_platform_of_the_programs_name(program: Runner, home: Path, borgee: BorgeeSandbox) -> None:
    """``hermes borgee setup`` means Borgee."""
    words = ("setup", *address(borgee), "--api-key-stdin", "--json")

    ran = program(*words, stdin=borgee.endpoints.agent_key, name="hermes borgee")

    assert ran.json["schema"] == "canon-ops.setup.borgee/1"
