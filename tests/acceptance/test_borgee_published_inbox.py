"""A home moves from the published Borgee plugin to ours: its inbox is taken over, nothing is lost or run twice.

The published plugin is a black box in an environment of its own; it is started, talked to, and killed in mid-turn.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from borgee_hermes.control.client import decide
from borgee_hermes.control.protocol import Request
from borgee_hermes.inbox.records import Outcome, Status
from borgee_hermes.loopback.options import BorgeeOptions
from borgee_hermes.loopback.server import BorgeeSandbox
from canon_ops.hermes.gateway import GatewayProcess
from canon_ops.sandbox.model.server import ModelSandbox
from tests.support.borgee_gateways import BorgeeStage, borgee_config
from tests.support.homes import build_home
from tests.support.published_borgee import published_python
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.host, pytest.mark.long, pytest.mark.timeout(600)]  # the published plugin's environment first


def test_an_inbox_of_the_published_plugin_is_taken_over(tmp_path: Path) -> None:
    """Settled stays settled, claimed is quarantined, waiting waits behind it, and a sent id is still known."""
    python = published_python()
    options = BorgeeOptions(require_mention=False)
    with BorgeeSandbox(options) as box, ModelSandbox() as model:
        home = build_home(
            tmp_path,
            model_url=model.endpoints.base_url,
            dotenv={"BORGEE_API_KEY": box.endpoints.agent_key, "BORGEE_HOME_CHANNEL": "dm_owner"},
            config=borgee_config(box.endpoints.base_url),
        )
        theirs = GatewayProcess.start(home.home, python=python, environ=home.environ, log=tmp_path / "published.out")
        stage = BorgeeStage(box, model, home, theirs, tmp_path / "ours.out")
        try:
            theirs.wait_ready(platform="borgee")
            done = box.human.say(None, "[say published]")
            (answer,) = box.wait("answer", to=done, timeout_s=60)
            turn = box.human.say(None, "[wait 20][say too long]")
            model.wait(where=lambda request: "too long" in request.user_text, timeout_s=30)
            behind = box.human.say(None, "[say behind]")
            box.human.edit(done, "edited")
            wait_until(lambda: _rows(home.path) == 4)
        finally:
            theirs.kill()

        stage.start_again()
        try:
            found = {each.message_id: each for each in stage.receipts() if each.outcome != Outcome.IGNORED_EDITED}
            assert (found[done].status, found[done].outcome) == (Status.COMPLETED, Outcome.HERMES_COMPLETED)
            assert found[turn].status is Status.QUARANTINED
            assert found[behind].status is Status.PENDING
            box.human.redeliver(answer["id"])
            box.human.redeliver(done)
            changed, _ = decide(
                home.path, Request("discard", found[turn].ingest_seq), reset_session=pytest.fail, environ=home.environ
            )

            assert changed
            assert stage.answer(behind) == "behind"
            assert sum(each.message_id == done for each in stage.receipts()) == 2  # itself and its edit
        finally:
            stage.gateway.stop()


def _rows(home: Path) -> int:
    """How many receipts the published plugin has stored; its file, read as it lies."""
    with closing(sqlite3.connect(f"file:{home / 'plugins/borgee/inbox.sqlite3'}?mode=ro", uri=True)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM receipts").fetchone()
    return int(count)
