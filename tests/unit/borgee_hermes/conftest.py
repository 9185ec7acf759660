"""A home of its own for everything that reads the process environment."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.own_home import short_folder


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nothing of the developer's Hermes reaches a test; the home that a test works on.

    Its path is short, as people's are: a socket stands in it, and no socket has a path of more than 107 bytes.
    """
    folder = short_folder()
    yield _isolated(folder / "hermes", tmp_path, monkeypatch)
    shutil.rmtree(folder, ignore_errors=True)  # a thread of the host may still write; the rest goes with the process


def _isolated(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home.mkdir()
    monkeypatch.setenv("HERMES_HOME", str(home))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HERMES_GATEWAY_LOCK_DIR", str(tmp_path / "locks"))
    for name in ("BORGEE_API_KEY", "BORGEE_API_KEY_REF"):
        monkeypatch.delenv(name, raising=False)
    return home
