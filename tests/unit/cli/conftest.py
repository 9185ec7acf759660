"""One isolated run of the program, in this process: its own home, a fixed width, no colour, streams in memory."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from canon_ops.cli.main import start
from canon_ops.cli.streams import Streams
from tests.support.documents import checked
from tests.support.keyring_backend import keyring_variables

KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")


@dataclass(frozen=True)
class Ran:
    """What a run left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one document on stdout, which agrees with its schema."""
        return checked(json.loads(self.out))


class Paper(io.StringIO):
    """A text stream in memory that may claim to be a terminal."""

    def __init__(self, *, terminal: bool = False, encoding: str = "utf-8") -> None:
        super().__init__()
        self._terminal = terminal
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self._terminal


Runner = Callable[..., Ran]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """HOME of the run; nothing of the machine's own is seen."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def program(home: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """Run ``canon-ops`` with the given words; keyword arguments say what the streams are."""
    import os

    for name in list(os.environ):
        if name not in KEPT:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(home.parent))  # what a refused edit keeps goes with the test
    monkeypatch.setenv("COLUMNS", "80")

    def call(
        *arguments: str, terminal: bool = False, encoding: str = "utf-8", name: str = "canon-ops", stdin: str = ""
    ) -> Ran:
        keyboard = Paper(terminal=terminal)
        keyboard.write(stdin)
        keyboard.seek(0)
        out, err = Paper(terminal=terminal, encoding=encoding), Paper(terminal=terminal, encoding=encoding)
        streams = Streams(keyboard, out, err, os.environ)
        platform = {"canon-hermes": "canon", "hermes borgee": "borgee"}.get(name, "")
        code = start(name, platform, arguments, os.environ, streams)
        return Ran(int(code), out.getvalue(), err.getvalue())

    return call


@pytest.fixture
def ring(tmp_path: Path, program: Runner, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working keyring; gives the file that it keeps its entries in."""
    file = tmp_path / "entries.json"
    for name, value in keyring_variables(file).items():
        monkeypatch.setenv(name, value)
    return file
