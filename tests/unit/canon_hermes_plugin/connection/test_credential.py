"""The gateway follows a reference into the keyring: off the loop, within its limit, and only when it connects."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from canon_hermes_plugin import probe
from canon_hermes_plugin.connection.connecting import refusal_of
from canon_hermes_plugin.connection.credential import find_credential
from canon_hermes_plugin.offload import Offload
from canon_ops.errors import CanonOpsError
from canon_ops.keyring.access import Keyring
from canon_ops.settings.surroundings import Surroundings
from tests.support.canon_files import KEY, as_file, profile_entry
from tests.support.keyring_backend import keyring_variables

REFERENCE = {"service": "canon-ops", "account": "ops@1f2e3d4c"}
SURROUNDINGS = Surroundings(agents=as_file(ops=profile_entry(apiKey=None, apiKeyRef=REFERENCE)))


@pytest.fixture
async def offload() -> AsyncIterator[Offload]:
    threads = Offload("test")
    yield threads
    threads.close()


def ring(folder: Path, mood: str = "", *, entries: dict[str, str] | None = None, limit_s: float = 10.0) -> Keyring:
    """A keyring with these entries, whose child processes use the test's backend."""
    file = folder / "entries.json"
    file.write_text(json.dumps(entries or {}))
    return Keyring({"PATH": os.environ["PATH"], **keyring_variables(file, mood)}, limit_s)


async def test_a_reference_is_followed_at_connect(offload: Offload, tmp_path: Path) -> None:
    """Decision C1: the credential is whole, as if the key stood in the profile."""
    keyring = ring(tmp_path, entries={"canon-ops/ops@1f2e3d4c": KEY})

    credential = await find_credential(offload, lambda: SURROUNDINGS, keyring)

    assert credential.api_key.reveal() == KEY
    assert credential.resolution.profile == "ops"


@pytest.mark.parametrize(
    ("mood", "code", "retryable"),
    [
        ("", "keyring_entry_missing", False),
        ("locked", "connect_failed", True),
        ("broken", "keyring_failed", False),
    ],
)
async def test_what_the_keyring_refuses_decides_whether_the_host_tries_again(
    offload: Offload, tmp_path: Path, mood: str, code: str, retryable: bool
) -> None:
    """A locked one may be unlocked; a missing entry waits for a person."""
    with pytest.raises(CanonOpsError) as caught:
        await find_credential(offload, lambda: SURROUNDINGS, ring(tmp_path, mood))

    refusal = refusal_of(caught.value)
    assert (refusal.code, refusal.retryable) == (code, retryable)


async def test_a_silent_keyring_never_stops_the_loop(offload: Offload, tmp_path: Path) -> None:
    """BR-43: while the child is waited for, the loop goes round; then there is one sentence."""
    rounds, keyring = 0, ring(tmp_path, "silent", limit_s=1.0)

    async def go_round() -> None:
        nonlocal rounds
        while True:
            await asyncio.sleep(0.01)
            rounds += 1

    going = asyncio.create_task(go_round())
    started = time.monotonic()
    with pytest.raises(CanonOpsError, match="did not answer") as caught:
        await find_credential(offload, lambda: SURROUNDINGS, keyring)
    going.cancel()

    assert time.monotonic() - started < 3
    assert rounds > 20
    assert refusal_of(caught.value).retryable


async def test_a_key_in_the_profile_never_asks_the_keyring(offload: Offload, tmp_path: Path) -> None:
    """No process is started for it."""
    surroundings = Surroundings(agents=as_file(ops=profile_entry()))

    credential = await find_credential(offload, lambda: surroundings, ring(tmp_path, "crashing"))

    assert credential.api_key.reveal() == KEY


@pytest.mark.host
def test_the_hosts_questions_never_ask_the_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decision C1: a reference counts as a key there; a backend that dies when it is asked is never asked."""
    for name, value in keyring_variables(tmp_path / "entries.json", "crashing").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    monkeypatch.setenv("CANON_HOME", str(tmp_path))
    (tmp_path / "agents.json").write_bytes(as_file(ops=profile_entry(apiKey=None, apiKeyRef=REFERENCE)))

    assert probe.is_ready()
