"""The keyring against a real Secret Service (gnome-keyring on a session bus of its own), and against bad ones.

`make test-keyring` installs what this needs. In CI a missing service is a failure; elsewhere it is a skip.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from canon_ops.keyring.access import Keyring, KeyringMissing, KeyringProblem, KeyringSilent
from canon_ops.settings.profiles import KeyReference
from canon_ops.settings.secret import Secret
from tests.support.secret_service import MISSING_TOOLS, session

REFERENCE = KeyReference("canon-ops", "ops@1f2e3d4c")
KEY = Secret("agk_live_0123456789abcdef")

pytestmark = pytest.mark.skipif(
    bool(MISSING_TOOLS) and not os.environ.get("CI"), reason=f"not installed: {', '.join(MISSING_TOOLS)}"
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a session with an unlocked gnome-keyring."""
    with session(tmp_path_factory.mktemp("session"), "unlocked") as environ:
        yield dict(environ)


def test_a_real_secret_service_keeps_a_key(service: dict[str, str]) -> None:
    """Put, get, delete through the system's own store, each in a process of its own."""
    ring = Keyring(service)

    assert ring.probe() == "SecretService Keyring"
    assert ring.find(REFERENCE) is None
    ring.put(REFERENCE, KEY)
    assert Keyring(service).find(REFERENCE) == KEY
    assert ring.delete(REFERENCE)
    assert ring.find(REFERENCE) is None


def test_what_it_stores_is_not_plain_text(service: dict[str, str]) -> None:
    """The key is in no file below the session's home."""
    Keyring(service).put(REFERENCE, KEY)

    files = [file for file in Path(service["HOME"]).rglob("*") if file.is_file()]

    assert files
    assert not [file for file in files if KEY.reveal().encode() in file.read_bytes()]


def test_a_bus_without_a_service_has_no_keyring(tmp_path: Path) -> None:
    """BR-44: the bus answers, and nobody on it keeps secrets."""
    with session(tmp_path, "none") as environ, pytest.raises(KeyringMissing):
        Keyring(environ).probe()


@pytest.mark.parametrize("kind", ["mute", "locked"])
def test_one_that_never_answers_costs_three_seconds_and_a_sentence(tmp_path: Path, kind: str) -> None:
    """BR-43: a service that takes the call and stays silent, and one whose unlock dialogue nobody sees."""
    with session(tmp_path, "mute" if kind == "mute" else "locked") as environ:
        ring, started = Keyring(environ), time.monotonic()

        with pytest.raises(KeyringProblem) as caught:
            ring.probe()

        assert time.monotonic() - started < 5
    assert caught.value.retryable
    assert isinstance(caught.value, KeyringSilent) or kind == "locked"  # without a display it may refuse at once
