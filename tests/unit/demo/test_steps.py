"""The demo's later steps see what is wrong: an edit that somebody wrote over, a trail that was cut, a silent agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from canon_hermes_plugin.approvals.events import Reserve
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.state.owner import Owner
from canon_ops.demo import listening
from canon_ops.demo.approving import list_and_audit
from canon_ops.demo.furniture import furnish
from canon_ops.demo.stage import DemoFailed, DemoOptions, Stage
from canon_ops.demo.steps import edit_the_configuration, undo_the_edit
from canon_ops.files.transaction import ChangedUnderUs
from canon_ops.hermes.surroundings import canon_paths_from_disk
from canon_ops.operate.changes import list_changes
from canon_ops.runtime.clock import SystemClock
from canon_ops.runtime.scratch import scratch_folder
from canon_ops.sandbox.options import CanonOptions, ModelEndpoints
from canon_ops.sandbox.server import CanonSandbox
from tests.unit.demo.test_play import Audience


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A furnished home; no host, no servers."""
    model = ModelEndpoints(base_url="http://127.0.0.1:1/v1", model="m", api_key="k")
    with scratch_folder() as folder, ExitStack() as undo:
        made = Stage(DemoOptions(), {"PATH": "/usr/bin"}, Audience(), undo, folder)
        furnish(made.home.path, model, prompt="Be brief.")
        yield made


def registry(stage: Stage) -> ApprovalStore:
    """One approval that was asked for a moment ago."""
    file = canon_paths_from_disk(stage.home.path, stage.environ).detached_approvals_file
    file.parent.mkdir(parents=True, mode=0o700)
    store, ends_ms = ApprovalStore(file, process="a gateway"), SystemClock().now_ms() + 60_000
    store.apply_one("hermes-a", Reserve("hermes-a", "c1", "claim", ends_ms, Owner("env", "agent_1"), "Pay?"))
    stage.approval_id = "hermes-a"
    return store


def test_an_edit_is_taken_back_to_the_byte(stage: Stage) -> None:
    """The history holds both; the diff of the second is that of the first, turned round."""
    before = stage.home.config_file.read_bytes()

    edit_the_configuration(stage)
    edited = stage.home.config_file.read_bytes()
    said = undo_the_edit(stage)

    assert (edited != before, stage.home.config_file.read_bytes()) == (True, before)
    assert stage.edit_id in said
    assert [change.state for change in list_changes(stage.home, stage.environ)] == ["undo", "undone"]


def test_an_edit_that_somebody_wrote_over_is_not_taken_back(stage: Stage) -> None:
    """As ``undo`` itself refuses it; the foreign text stays."""
    edit_the_configuration(stage)
    foreign = stage.home.config_file.read_bytes() + b"mine: 1\n"
    stage.home.config_file.write_bytes(foreign)

    with pytest.raises(ChangedUnderUs):
        undo_the_edit(stage)

    assert stage.home.config_file.read_bytes() == foreign


def test_one_approval_with_its_history_is_listed(stage: Stage) -> None:
    registry(stage)

    assert list_and_audit(stage) == "one approval, 1 steps; the trail is whole"


@pytest.mark.parametrize("damage", ["cut", "foreign"])
def test_a_registry_that_does_not_fit_ends_the_demo(stage: Stage, damage: str) -> None:
    """A trail that was cut, and an approval that is not the demo's."""
    store = registry(stage)
    if damage == "cut":
        store.trail.file.write_bytes(b"")
    else:
        stage.approval_id = "hermes-b"

    with pytest.raises(DemoFailed):
        list_and_audit(stage)


def test_an_agent_that_stays_silent_ends_the_demo(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence ends with what the gateway said last."""

    class SilentGateway:
        def tail(self) -> str:
            return "its last words"

    monkeypatch.setattr(listening, "_ANSWER_S", 0.05)
    stage.gateway = SilentGateway()  # type: ignore[assignment]
    with CanonSandbox(CanonOptions()) as stage.canon:
        stage.agent_id, stage.conversation_id = "agent_sandbox", "conv_direct"
        message = stage.canon.human.say(None, "Anybody?")

        with pytest.raises(DemoFailed) as failed:
            listening.listen_for_answer(stage, message)

    assert failed.value.what.startswith("No answer came")
    assert failed.value.what.endswith("its last words")
