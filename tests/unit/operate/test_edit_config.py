"""The edit of config.yaml as a whole: somebody else's writes are kept, what belongs to others is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.errors import ExitCode
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.history import History, Retention
from canon_ops.files.lock import LockTimeout
from canon_ops.files.transaction import Transaction
from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.hermes.managed_scope import PinnedByAdministrator
from canon_ops.operate.edit_config import edit_config


@pytest.fixture
def home(tmp_path: Path) -> HermesHome:
    (tmp_path / "config.yaml").write_text("# mine\na: 1\n")
    return resolve_home({"HOME": "/nonexistent"}, hermes_home=tmp_path)


def test_a_foreign_write_in_between_is_edited_on(home: HermesHome) -> None:
    """BR-10: read, a hand edit on disk, write: both changes are there."""
    runs = 0

    def edit(document: ConfigDocument) -> ConfigDocument:
        nonlocal runs
        runs += 1
        if runs == 1:
            home.config_file.write_text("# mine\na: 1\nb: hand\n")
        return document.set(("a",), 2)

    done = edit_config(home, ("a",), edit, label="config set a")

    assert home.config_file.read_text() == "# mine\na: 2\nb: hand\n"
    assert (runs, done.changed) == (2, True)
    assert "b: hand" in done.diff


def test_what_the_administrator_pins_is_refused(home: HermesHome, tmp_path: Path) -> None:
    """Untouched, with the file that decides."""
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "config.yaml").write_text("a: 9\n")
    environ = {"HOME": "/nonexistent", "HERMES_MANAGED_DIR": str(tmp_path / "policy")}
    pinned = resolve_home(environ, hermes_home=home.path)

    with pytest.raises(PinnedByAdministrator, match=r"decides about a, in .*policy/config\.yaml") as caught:
        edit_config(pinned, ("a",), lambda document: document.set(("a",), 2), label="config set a")

    assert caught.value.exit_code is ExitCode.FAILED
    assert home.config_file.read_text() == "# mine\na: 1\n"


def test_patience_and_memory_are_the_callers(home: HermesHome) -> None:
    """A short limit for the lock, a short history."""

    def change(value: int, **options: object) -> None:
        edit_config(home, ("a",), lambda document: document.set(("a",), value), label="x", **options)  # type: ignore[arg-type]

    with Transaction(home.path), pytest.raises(LockTimeout):
        change(2, lock_timeout_s=0.05)
    for value in (2, 3, 4):
        change(value, retention=Retention(entries=2))

    assert len(History(home.path).records()) == 2
