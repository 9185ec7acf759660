"""The keyring against a real Secret Service (gnome-keyring on a session bus of its own), and against bad ones.

`make test-keyring` installs what this needs. In CI a missing service is a failure; elsewhere it is a skip.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from canon_ops.keyring.access import Keyring, KeyringMissing, KeyringProblem, KeyringSilent
from canon_ops.settings.profiles import KeyReference
from canon_ops.settings.secret import Secret
from tests.support.canon_files import profile_entry
from tests.support.canon_homes import user_at
from tests.support.secret_service import session
from tests.support.tools import needs

REFERENCE = KeyReference("canon-ops", "ops@1f2e3d4c")
KEY = Secret("agk_live_0123456789abcdef")

pytestmark = needs("dbus-run-session", "gnome-keyring-daemon")


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


class TestCommands:
    """``canon-ops`` as people start it, in such a session."""

    def run(self, environ: Mapping[str, str], home: Path, *words: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "canon_ops", *words]
        return subprocess.run(
            program, env={**environ, "HOME": str(home)}, capture_output=True, text=True, timeout=60, check=False
        )

    def test_a_key_moves_to_the_real_keyring_and_back(self, service: dict[str, str], tmp_path: Path) -> None:
        """No file below home holds it in between; afterwards agents.json is what it was."""
        user = user_at(tmp_path)
        user.write_agents(ops=profile_entry(apiKey=KEY.reveal()))
        before = user.agents_file.read_bytes()

        there = self.run(service, tmp_path, "creds", "move", "--to", "keyring")
        files = [file for file in tmp_path.rglob("*") if file.is_file()]
        holding = [file for file in files if KEY.reveal().encode() in file.read_bytes()]
        back = self.run(service, tmp_path, "creds", "move", "--to", "file")

        assert (there.returncode, back.returncode) == (0, 0), there.stderr + back.stderr
        assert holding == []
        assert user.agents_file.read_bytes() == before

    def test_a_keyring_that_never_answers_is_a_sentence_and_exit_3(self, tmp_path: Path) -> None:
        """The file keeps its key; the whole command takes little more than the limit."""
        user = user_at(tmp_path / "user")
        before = user.agents_file.read_bytes()
        with session(tmp_path / "session", "mute") as environ:
            started = time.monotonic()
            ran = self.run(environ, user.home, "creds", "move", "--to", "keyring")
            took_s = time.monotonic() - started

        assert (ran.returncode, ran.stdout) == (3, "")
        assert "The keyring did not answer within 3 seconds" in ran.stderr
        assert "Traceback" not in ran.stderr
        assert took_s < 8
        assert user.agents_file.read_bytes() == before
