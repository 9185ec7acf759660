"""The keyring through its child process: every answer, every refusal, and the limit. The child is always a real one."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from canon_ops.errors import ExitCode
from canon_ops.keyring.access import (
    Keyring,
    KeyringEntryMissing,
    KeyringFailed,
    KeyringLocked,
    KeyringMissing,
    KeyringOff,
    KeyringProblem,
    KeyringSilent,
)
from canon_ops.settings.profiles import KeyReference
from canon_ops.settings.secret import Secret
from tests.support.keyring_backend import entries_of, keyring_variables

REFERENCE = KeyReference("canon-ops", "ops@1f2e3d4c")
KEY = Secret("agk_live_0123456789abcdef")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "entries.json"


def keyring(file: Path, mood: str = "", limit_s: float = 10.0, **more: str) -> Keyring:
    """A keyring whose children see the test's backend; the limit is generous for a busy machine."""
    return Keyring({"PATH": os.environ["PATH"], **keyring_variables(file, mood), **more}, limit_s)


def test_what_is_put_can_be_got_and_deleted(file: Path) -> None:
    """The whole life of an entry; deleting twice is no fault."""
    ring = keyring(file)

    assert ring.find(REFERENCE) is None
    ring.put(REFERENCE, KEY)
    assert ring.find(REFERENCE) == KEY
    assert entries_of(file) == {"canon-ops/ops@1f2e3d4c": KEY.reveal()}
    assert (ring.delete(REFERENCE), ring.delete(REFERENCE)) == (True, False)
    assert ring.find(REFERENCE) is None


def test_a_reference_to_nothing_is_a_credential_error_with_its_fix(file: Path) -> None:
    """The keyring works; what is missing is the entry."""
    with pytest.raises(KeyringEntryMissing, match="no entry canon-ops/ops@1f2e3d4c") as caught:
        keyring(file).get(REFERENCE, fix="setup again")

    assert (caught.value.exit_code, caught.value.fix) == (ExitCode.CREDENTIAL, "setup again")


@pytest.mark.parametrize(
    ("mood", "error", "words"),
    [
        ("locked", KeyringLocked, "KeyringLocked: the collection is locked"),
        ("broken", KeyringFailed, "InitError: no such interface"),
        ("crashing", KeyringFailed, "without an answer"),
    ],
)
def test_every_failure_of_a_backend_is_one_sentence(
    file: Path, mood: str, error: type[KeyringProblem], words: str
) -> None:
    """BR-44: whatever a backend raises, or when its process dies, becomes a typed error of the outside."""
    with pytest.raises(error, match=words) as caught:
        keyring(file, mood).find(REFERENCE)

    assert caught.value.exit_code is ExitCode.OUTSIDE


def test_a_backend_that_keeps_nothing_is_found_out_at_once(file: Path) -> None:
    """What was put is read again before anybody relies on it."""
    with pytest.raises(KeyringFailed, match="did not give back"):
        keyring(file, "forgetful").put(REFERENCE, KEY)


def test_an_error_text_that_quotes_the_secret_is_masked(file: Path) -> None:
    """A backend's own words are passed on without the secret."""
    with pytest.raises(KeyringFailed) as caught:
        keyring(file, "quoting").put(REFERENCE, KEY)

    assert "agk_live" not in caught.value.what
    assert "cannot store [REDACTED]" in caught.value.what


def test_a_backend_that_prints_does_not_spoil_the_answer(file: Path) -> None:
    """The answer has its pipe for itself."""
    ring = keyring(file, "noisy")
    ring.put(REFERENCE, KEY)

    assert ring.find(REFERENCE) == KEY


@pytest.mark.parametrize(
    "backend",
    [
        "keyring.backends.null.Keyring",
        "keyring.backends.fail.Keyring",
        "tests.support.plaintext_keyring.PlaintextKeyring",
        "no.such.backend.Keyring",
    ],
)
def test_null_fail_and_plain_text_are_no_keyrings(file: Path, backend: str) -> None:
    """BR-44: a backend that forgets, fails, or writes plain text is refused, whatever it would answer."""
    ring = keyring(file, PYTHON_KEYRING_BACKEND=backend)

    with pytest.raises(KeyringMissing):
        ring.put(REFERENCE, KEY)

    assert list(file.parent.iterdir()) == []


def test_no_bus_means_no_keyring(tmp_path: Path) -> None:
    """A session without D-Bus, as over SSH: a sentence with a fix, and quickly."""
    bare = Keyring({"PATH": os.environ["PATH"], "HOME": str(tmp_path)})

    with pytest.raises(KeyringMissing, match="There is no keyring to use here") as caught:
        bare.probe()

    assert "--store file" in str(caught.value.fix)


class TestSilence:
    """BR-43: a keyring that never answers is killed with everything that it started, and is not asked again."""

    def test_the_limit_holds_and_nothing_stays(self, file: Path) -> None:
        """The sentence comes after the limit; the backend's own child is gone, too."""
        ring, started = keyring(file, "silent", limit_s=2.0), time.monotonic()

        with pytest.raises(KeyringSilent, match="did not answer within 2 seconds"):
            ring.find(REFERENCE)

        assert time.monotonic() - started < 4
        helper = int(Path(f"{file}.pid").read_text())
        with pytest.raises(ProcessLookupError):
            while True:  # until the kernel has reaped what was killed
                os.kill(helper, 0)
                assert time.monotonic() - started < 10
                time.sleep(0.01)

    def test_it_is_not_asked_twice(self, file: Path) -> None:
        """The answer is remembered for the rest of the command."""
        ring = keyring(file, "silent", limit_s=1.0)
        with pytest.raises(KeyringSilent):
            ring.find(REFERENCE)

        started = time.monotonic()
        with pytest.raises(KeyringSilent):
            ring.probe()

        assert time.monotonic() - started < 0.1

    def test_the_usual_limit_is_three_seconds(self) -> None:
        """Command-line contract, creds."""
        assert Keyring({}).limit_s == 3.0


@pytest.mark.parametrize("word", ["off", "OFF", "0", "false", " no "])
def test_the_switch_turns_it_off_without_starting_anything(file: Path, word: str) -> None:
    """Decision N4: ``CANON_OPS_KEYRING=off``."""
    ring = keyring(file, "crashing", CANON_OPS_KEYRING=word)

    with pytest.raises(KeyringOff):
        ring.probe()


def test_the_secret_is_in_no_argument_and_no_environment(file: Path) -> None:
    """While the child holds it, the process table shows nothing of it, though the caller got it from a variable."""
    ring = keyring(file, "silent", limit_s=4.0, BORGEE_API_KEY=KEY.reveal())
    seen: list[bytes] = []

    def look() -> None:
        deadline = time.monotonic() + 10
        while not seen and time.monotonic() < deadline:
            for entry in Path("/proc").glob("[0-9]*"):
                with suppress(OSError):
                    environ = (entry / "environ").read_bytes()
                    if str(file).encode() in environ:  # children of other tests are none of ours
                        seen.append((entry / "cmdline").read_bytes() + environ)

    watcher = threading.Thread(target=look)
    watcher.start()
    with pytest.raises(KeyringSilent):
        ring.put(REFERENCE, KEY)
    watcher.join()

    assert seen
    assert KEY.reveal().encode() not in b"".join(seen)


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("canon-ops/ops", KeyReference("canon-ops", "ops")),
        (" canon-ops / a/b ", KeyReference("canon-ops", "a/b")),
        ("canon-ops", None),
        ("/ops", None),
        ("canon-ops/", None),
    ],
)
def test_a_reference_as_text(text: str, reference: KeyReference | None) -> None:
    """``BORGEE_API_KEY_REF`` holds one: service, slash, account (decision C1)."""
    assert KeyReference.parse(text) == reference
