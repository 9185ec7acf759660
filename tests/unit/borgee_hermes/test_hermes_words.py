"""Borgee inside Hermes' own programs: the subcommand, and the dialogue of ``hermes gateway setup``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from borgee_hermes import registration
from borgee_hermes.cli import SUBCOMMAND
from borgee_hermes.host import HostFacts, host_prompts
from borgee_hermes.loopback.server import BorgeeSandbox
from borgee_hermes.setup_dialogue import run_setup
from canon_ops.cli.lazy import help_of_root
from tests.support.borgee_boxes import borgee_box
from tests.support.hermes_screen import Screen

AUDITED = HostFacts("0.19.0", "3.11", "linux")


class Context:
    """A plugin context that takes notes; it may refuse subcommands."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.platforms: list[dict[str, Any]] = []
        self.commands: list[dict[str, Any]] = []
        self._refuses = refuses

    def register_platform(self, **entry: Any) -> None:
        self.platforms.append(entry)

    def register_cli_command(self, **command: Any) -> None:
        if self._refuses:
            raise ValueError(command["name"])
        self.commands.append(command)


@pytest.mark.host
def test_the_command_line_is_offered_as_hermes_borgee() -> None:
    """Whatever follows it is handed over, options and --help included (decisions L9)."""
    ctx: Any = Context()
    registration.register(ctx, facts=AUDITED)
    (command,) = ctx.commands
    parser = argparse.ArgumentParser(prog="hermes borgee")

    command["setup_fn"](parser)

    words = ["setup", "--json", "-h", "--", "-x"]
    assert command["name"] == "borgee"
    assert vars(parser.parse_args(words)) == {"borgee_words": words}
    assert callable(ctx.platforms[0]["setup_fn"])


@pytest.mark.host
def test_a_host_that_refuses_the_command_gets_the_platform() -> None:
    """The subcommand is a convenience."""
    ctx: Any = Context(refuses=True)

    registration.register(ctx, facts=AUDITED)

    assert [entry["name"] for entry in ctx.platforms] == ["borgee"]


def test_its_exit_code_is_that_of_the_process(capsys: pytest.CaptureFixture[str]) -> None:
    """Hermes does not look at what a handler returns."""
    with pytest.raises(SystemExit) as left:
        SUBCOMMAND.run_command(argparse.Namespace(borgee_words=["--version"]))

    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("hermes borgee ")


@pytest.mark.parametrize(
    ("program", "platform"),
    [("hermes borgee", "borgee"), ("hermes canon", "canon"), ("canon-hermes", "canon"), ("canon-ops", "canon")],
)
def test_the_first_steps_are_of_the_platform_that_the_name_implies(program: str, platform: str) -> None:
    """Whoever asks ``hermes borgee`` for help is not sent to Canon (decisions L9)."""
    steps = help_of_root(program).partition("First steps:\n")[2]

    assert f"  canon-ops install {platform} --dry-run --diff\n  canon-ops install {platform} --setup\n" in steps


# hermes gateway setup ------------------------------------------------------------------------------------------------


@pytest.fixture
def box() -> Iterator[BorgeeSandbox]:
    with borgee_box() as running:
        yield running


@pytest.mark.host
def test_the_dialogue_leads_to_a_home_that_is_set_up(own_home: Path, box: BorgeeSandbox) -> None:
    """Address, plain http, key, consent; told in Hermes' own words, and the key is hidden while it is typed."""
    screen = Screen(box.endpoints.base_url, "y", box.endpoints.agent_key, "y", "")

    run_setup(screen.prompts())

    config = yaml.safe_load(own_home.joinpath("config.yaml").read_text())
    assert config["borgee"]["base_url"] == box.endpoints.base_url
    assert box.endpoints.agent_key in own_home.joinpath(".env").read_text()
    assert "Borgee agent key (hidden)" in screen.asked
    assert [text for kind, text in screen.told if kind == "success"] == [
        f"Borgee is set up: this Hermes answers as Aide at {box.endpoints.base_url}."
    ]


@pytest.mark.host
def test_leaving_and_trouble_stay_inside_the_dialogue(own_home: Path, box: BorgeeSandbox) -> None:
    """Ctrl-C leaves Borgee as it is; a refusal is told with its cure; neither ends Hermes' setup."""
    leaving = Screen(KeyboardInterrupt, "")
    run_setup(leaving.prompts())
    own_home.joinpath("config.yaml").write_text("borgee: {api_key: bgr_live_sandbox_x}\n")
    troubled = Screen("")
    run_setup(troubled.prompts())

    assert ("info", "Borgee is left as it is.") in leaving.told
    assert [kind for kind, _ in troubled.told] == ["error", "info"]
    assert "Press Enter to go on" in troubled.asked
    assert not own_home.joinpath(".env").exists()


@pytest.mark.host
def test_the_real_host_has_the_prompts() -> None:
    """By role, from the host's own module."""
    from hermes_cli import setup

    assert host_prompts().info is setup.print_info
