"""The files of one Hermes home arrive in the settings room as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from canon_ops.errors import CanonOpsError
from canon_ops.hermes.surroundings import canon_paths_from_disk, surroundings_from_disk
from canon_ops.settings.credentials import resolve
from canon_ops.settings.provenance import Source


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "hermes"
    folder.mkdir()
    return folder


def test_an_empty_home_gives_empty_surroundings(home: Path, tmp_path: Path) -> None:
    """Nothing there is not an error, and nothing is made."""
    found = surroundings_from_disk(home, {"HOME": str(tmp_path)})

    assert (found.dotenv, found.platform, found.agents) == (None, {}, None)
    assert found.agents_file == str(tmp_path / ".canon" / "agents.json")
    assert list(home.iterdir()) == []


def test_env_and_config_are_both_read(home: Path, tmp_path: Path) -> None:
    """A key in .env and its environment in config.yaml resolve together, each with its file."""
    home.joinpath(".env").write_text("CANON_API_KEY=agk_live_sandbox_1\n")
    home.joinpath("config.yaml").write_text("platforms:\n  canon:\n    extra: {environment_id: canon-dev-v1}\n")

    found = resolve(surroundings_from_disk(home, {"HOME": str(tmp_path)}))

    assert found.connection.environment_id == "canon-dev-v1"
    assert [found.settings[name].origin.source for name in ("api_key", "environment_id")] == [
        Source.DOTENV,
        Source.CONFIG,
    ]
    assert found.settings["api_key"].origin.file == str(home / ".env")


def test_the_agents_file_may_be_moved_by_env(home: Path, tmp_path: Path) -> None:
    """CANON_HOME in .env moves agents.json, for us as for the gateway."""
    home.joinpath(".env").write_text("CANON_HOME=~/elsewhere\n")
    tmp_path.joinpath("elsewhere").mkdir()
    tmp_path.joinpath("elsewhere", "agents.json").write_text("{}")
    environ = {"HOME": str(tmp_path), "CANON_HOME": "/not/this"}

    found = surroundings_from_disk(home, environ)

    assert (found.agents, found.agents_file) == (b"{}", str(tmp_path / "elsewhere" / "agents.json"))
    assert canon_paths_from_disk(home, environ).home == tmp_path / "elsewhere"


def test_a_block_that_the_host_parsed_is_not_read_again(home: Path, tmp_path: Path) -> None:
    """Inside the gateway the host's block counts, even beside a file that is broken by now."""
    home.joinpath("config.yaml").write_text("a: {")

    found = surroundings_from_disk(home, {"HOME": str(tmp_path)}, platform={"token": "t"})

    assert found.platform == {"token": "t"}


def test_a_file_that_cannot_be_opened_is_an_error(home: Path, tmp_path: Path) -> None:
    """It is never taken for an absent one."""
    home.joinpath(".env").mkdir()

    with pytest.raises(CanonOpsError, match=r"\.env is not a regular file"):
        surroundings_from_disk(home, {"HOME": str(tmp_path)})


@pytest.mark.parametrize("where", ["command line", "gateway"])
def test_the_administrators_value_wins_everywhere(home: Path, tmp_path: Path, where: str) -> None:
    """Over .env and over the process; in a gateway, whose environment has it already, too."""
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / ".env").write_text("CANON_AGENT='pinned'\n")
    home.joinpath(".env").write_text("CANON_AGENT=ops\n")
    own = "pinned" if where == "gateway" else "shell"
    environ = {"HOME": str(tmp_path), "HERMES_MANAGED_DIR": str(tmp_path / "policy"), "CANON_AGENT": own}

    surroundings = surroundings_from_disk(home, environ)
    found = surroundings.find("CANON_AGENT")

    assert found is not None
    assert (found.value, found.origin.source) == ("pinned", Source.MANAGED)
    assert found.origin.describe() == f"CANON_AGENT in {tmp_path / 'policy' / '.env'}"
    shells = [] if where == "gateway" else [Source.PROCESS]
    assert [each.origin.source for each in found.shadows] == [Source.DOTENV, *shells]
    assert surroundings.gateway_environ["CANON_AGENT"] == "pinned"


@pytest.mark.host
def test_the_hosts_own_environment_is_the_same(home: Path, tmp_path: Path) -> None:
    """What the gateway's loader leaves in its environment is what is found here."""
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / ".env").write_text("CANON_AGENT='pinned'\n")
    home.joinpath(".env").write_text("CANON_AGENT=ops\nTZ=CET\n")
    environ = {"HOME": str(tmp_path), "HERMES_HOME": str(home), "HERMES_MANAGED_DIR": str(tmp_path / "policy")}
    script = (
        "import os; from hermes_cli.env_loader import load_hermes_dotenv; load_hermes_dotenv(); "
        "print(os.environ['CANON_AGENT'], os.environ['TZ'])"
    )

    ran = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True)

    merged = surroundings_from_disk(home, environ).gateway_environ
    assert ran.stdout.split() == [merged["CANON_AGENT"], merged["TZ"]] == ["pinned", "CET"]
