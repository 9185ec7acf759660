"""Registration with each plugin's own command against the sandbox: ours, and the published ones in their dialogue."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.homes import build_home
from tests.support.published import CONTRACT, PublishedHost, register_by_itself
from tests.support.sandboxes import canon_box

pytestmark = [pytest.mark.host, pytest.mark.timeout(900)]

STEPS = ["POST register", "GET status", "POST ack"]


def step(row: dict[str, object]) -> str:
    """``GET status`` for a poll, whatever its request."""
    parts = str(row["path"]).split("/")
    return f"{row['method']} {'ack' if parts[-1] == 'ack' else parts[2]}"


@pytest.mark.parametrize("host", CONTRACT)
def test_an_agent_comes_to_its_key(host: PublishedHost, tmp_path: Path) -> None:
    """Identity first, one request, polled until the owner agrees, saved, acknowledged; no key before there is one."""
    with canon_box(auto_approve=True) as box:
        home = build_home(tmp_path, model_url=box.endpoints.api, dotenv={})

        register_by_itself(host, box, home)

        calls, (request,) = box.journal(), box.human.registrations()
        registering = [row for row in calls if row["path"].startswith(("/agents/register", "/agents/status"))]
    (saved,) = json.loads((home.canon_folder / "agents.json").read_text()).values()
    assert (request["name"], request["status"], request["acknowledged"]) == ("Ops", "approved", True)
    assert list(dict.fromkeys(map(step, registering))) == STEPS
    assert {row["path"] for row in calls[: calls.index(registering[0])]} == {"/healthz/", "/health"}
    assert not any("authorization" in row["headers"] for row in registering)
    assert {row["status"] for row in calls} <= {200, 201}
    assert (saved["agentId"], saved["apiKey"][:17]) == (request["agent_id"], "agk_live_sandbox_")
