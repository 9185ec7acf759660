"""A keyring backend for tests, as the keyring library loads it in the child process: entries in a file, and moods."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import InitError, KeyringLocked

ROOT = Path(__file__).parents[2]
FILE_VARIABLE, MOOD_VARIABLE = "TEST_KEYRING_FILE", "TEST_KEYRING_MOOD"
NAME = "tests.support.keyring_backend.FileKeyring"


class FileKeyring(KeyringBackend):
    """What a real keyring does, or one of the ways in which one fails."""

    priority = 1
    name = "Test Keyring"

    def get_password(self, service: str, username: str) -> str | None:
        self._feel()
        return self._entries().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._feel()
        if os.environ.get(MOOD_VARIABLE) == "quoting":
            raise RuntimeError(f"cannot store {password}")
        if os.environ.get(MOOD_VARIABLE) != "forgetful":
            self._write({**self._entries(), f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        entries = self._entries()
        del entries[f"{service}/{username}"]
        self._write(entries)

    def _feel(self) -> None:
        match os.environ.get(MOOD_VARIABLE):
            case "locked":
                raise KeyringLocked("the collection is locked")
            case "broken":
                raise InitError("no such interface")
            case "silent":
                if os.fork() == 0:  # a helper of the backend, which must go with it
                    Path(os.environ[FILE_VARIABLE] + ".pid").write_text(str(os.getpid()))
                    time.sleep(600)
                time.sleep(600)
            case "noisy":
                print("unlocking your keyring…")
            case "crashing":
                os.kill(os.getpid(), 9)

    def _entries(self) -> dict[str, str]:
        file = Path(os.environ[FILE_VARIABLE])
        entries: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
        return entries

    def _write(self, entries: Mapping[str, str]) -> None:
        Path(os.environ[FILE_VARIABLE]).write_text(json.dumps(entries))


def keyring_variables(file: Path, mood: str = "") -> dict[str, str]:
    """What makes child processes use this backend."""
    return {
        "PYTHON_KEYRING_BACKEND": NAME,
        "PYTHONPATH": str(ROOT),
        FILE_VARIABLE: str(file),
        MOOD_VARIABLE: mood,
    }


def entries_of(file: Path) -> dict[str, str]:
    """What the keyring holds, as ``service/account`` to secret."""
    return json.loads(file.read_text()) if file.exists() else {}
