"""The files of one Hermes home arrive in the settings room as they are."""

from __future__ import annotations

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
