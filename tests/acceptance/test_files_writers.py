"""Several writers at one home: no update is lost, and nobody waits for ever."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from canon_ops.errors import ExitCode
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.history import History
from canon_ops.files.journal import ChangedUnderUs
from canon_ops.files.lock import LockTimeout
from canon_ops.files.transaction import Transaction
from tests.support.crash import CountingDisk, contents
from tests.support.crash_commands import environ_of, make_user, words_of
from tests.support.writers import write

PROCESSES = 8


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home in memory where there is one: the test is about order, not about the disk."""
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as name:
        (Path(name) / "config.yaml").write_text("# kept\na: 1 # kept too\n")
        yield Path(name)


@pytest.mark.parametrize("count", [6, pytest.param(100, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_parallel_writers_lose_nothing(home: Path, count: int) -> None:
    """BR-10, BR-29: eight processes edit both files at once; every one of their edits is there in the end."""
    program = [sys.executable, "-m", "tests.support.writers", str(home)]
    running = [
        subprocess.Popen([*program, f"W{number}", str(count)], stderr=subprocess.PIPE) for number in range(PROCESSES)
    ]

    errors = [process.communicate()[1] for process in running]

    assert [process.returncode for process in running] == [0] * PROCESSES, errors
    config = yaml.safe_load((home / "config.yaml").read_text())
    wanted = {f"k{number}": number for number in range(count)}
    assert config == {"a": 1} | {f"W{number}": wanted for number in range(PROCESSES)}
    assert (home / "config.yaml").read_text().startswith("# kept\na: 1 # kept too\n")
    dotenv = DotenvDocument.parse((home / ".env").read_bytes())
    assert {entry.name for entry in dotenv.entries} == {f"W{p}_{n}" for p in range(PROCESSES) for n in range(count)}
    assert not (home / ".canon-ops" / "pending").exists()


def test_parallel_commands_lose_nothing(tmp_path: Path) -> None:
    """BR-10, BR-29: eight `config set` and eight `env set` at once all end with 0, and all of them are there."""
    user = make_user(tmp_path)
    calls = [("config", "set", f"k{number}.v", "x") for number in range(PROCESSES)]
    calls += [("env", "set", f"K{number}", "x") for number in range(PROCESSES)]
    environ = {**environ_of(user), "CANON_OPS_LOCK_TIMEOUT": "60"}

    running = [
        subprocess.Popen(
            [sys.executable, "-m", "canon_ops", *call], env=environ, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        for call in calls
    ]

    errors = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * len(calls), errors
    config = yaml.safe_load((user / ".hermes" / "config.yaml").read_text())
    assert [config[f"k{number}"] for number in range(PROCESSES)] == [{"v": "x"}] * PROCESSES
    dotenv = DotenvDocument.parse((user / ".hermes" / ".env").read_bytes())
    assert [dotenv.get(f"K{number}") for number in range(PROCESSES)] == ["x"] * PROCESSES


def test_a_held_lock_is_exit_5_in_time(home: Path) -> None:
    """BR-52: with a short limit, a writer that meets another one gives up with exit 5 and changes nothing."""
    with Transaction(home), pytest.raises(LockTimeout) as caught:
        write(home, "late", 1, timeout_s=0.2)

    assert caught.value.exit_code is ExitCode.CONFLICT
    assert "late" not in (home / "config.yaml").read_text()


@pytest.mark.parametrize(
    ("case", "place"),
    [
        ("config set", ".hermes"),
        ("env set", ".hermes"),
        ("profile import", ".canon"),
        ("preferences set", ".config/canon-ops"),
    ],
)
def test_a_command_waits_as_long_as_it_was_told(case: str, place: str, tmp_path: Path) -> None:
    """BR-52: with a limit of one second, a command that meets another writer ends with 5 and changes nothing."""
    user = make_user(tmp_path)
    before = contents(user)
    command = [sys.executable, "-m", "canon_ops", *words_of(case, user), "--json"]

    with Transaction(user / place):
        ran = subprocess.run(
            command, env={**environ_of(user), "CANON_OPS_LOCK_TIMEOUT": "1"}, capture_output=True, text=True, timeout=30
        )

    (error,) = json.loads(ran.stdout)["errors"]
    assert (ran.returncode, error["code"]) == (5, "lock_timeout")
    assert "1 s" in error["message"]
    assert contents(user) == before


def test_a_foreign_writer_in_the_last_moment_is_noticed(home: Path) -> None:
    """BR-10: a program without our lock writes after the journal's commit point: its text stays, ours is taken back."""

    class Interfered(CountingDisk):
        def rename(self, source: Path, target: Path) -> None:
            super().rename(source, target)
            if target.name == "entry.json":
                (home / ".env").write_text("FOREIGN=1\n")

    (home / ".env").write_text("A=1\n")
    before = (home / "config.yaml").read_bytes()

    with Transaction(home, disk=Interfered()) as transaction:
        transaction.stage(home / "config.yaml", b"ours: 1\n")
        transaction.stage(home / ".env", b"OURS=1\n")
        with pytest.raises(ChangedUnderUs):
            transaction.commit()

    assert (home / ".env").read_text() == "FOREIGN=1\n"
    assert (home / "config.yaml").read_bytes() == before
    assert History(home).records() == ()
    assert not list(home.rglob("*.tmp"))


def test_a_foreign_writer_between_crash_and_repair_is_kept(home: Path) -> None:
    """A crash after the first of two renames, then a hand edit of the other file: the hand edit stays, ours goes."""

    class Crashed(Exception):
        pass

    class Crashing(CountingDisk):
        """Stop dead after the first file, as a kill would: nothing is taken back."""

        def rename(self, source: Path, target: Path) -> None:
            super().rename(source, target)
            if target.name == "config.yaml":
                self.rename = self.unlink = self.create = self._dead  # type: ignore[method-assign,assignment]
                raise Crashed

        def _dead(self, *_: object) -> None:
            raise OSError(5, "gone")

    (home / ".env").write_text("A=1\n")
    before = (home / "config.yaml").read_bytes()
    with Transaction(home, disk=Crashing()) as transaction:
        transaction.stage(home / "config.yaml", b"ours: 1\n")
        transaction.stage(home / ".env", b"OURS=1\n")
        with pytest.raises(Exception, match="interrupted"):
            transaction.commit()
    assert (home / "config.yaml").read_bytes() == b"ours: 1\n"
    (home / ".env").write_text("HAND=1\n")

    with Transaction(home) as transaction:
        repaired = transaction.repaired

    assert repaired is not None and repaired.outcome == "abandoned"
    assert (home / ".env").read_text() == "HAND=1\n"
    assert (home / "config.yaml").read_bytes() == before
    assert [record.outcome for record in History(home).records()] == ["abandoned"]
    assert not list(home.rglob("*.tmp"))
