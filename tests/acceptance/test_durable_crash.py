"""A database under load that is killed, that meets a failing disk, or loses its power: what was acknowledged is there.

The process under test is :mod:`tests.support.letter_writers`: several writers and a carrier on one file. After each
accident the next start opens the file on the ordinary path, and four things must hold: every letter that was
acknowledged as posted or sent is so, no letter has a part of its pages, SQLite finds no damage, and work goes on.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from canon_ops.durable import DurableError, Schema, Snapshot, read_once, write_once
from canon_ops.durable.examine import find_damage
from tests.support import letters
from tests.support.crashing import ROOT, Run, kill_points, trace
from tests.support.power import Disk, play
from tests.support.tools import needs

pytestmark = needs("strace")

MODULE = "tests.support.letter_writers"
WRITERS, LETTERS = 3, 2
LIFE = ["0", str(WRITERS), str(LETTERS)]
SECOND_LIFE = [str(LETTERS), str(WRITERS), str(LETTERS)]
OLD_SCHEMA = Schema(letters.SCHEMA.name, letters.SCHEMA.migrations[:1])


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a kill leaves the kernel's memory alone, so it hides nothing."""
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a line that pytest does not swallow."""

    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}")  # noqa: T201

    return say


# -- what a start finds -----------------------------------------------------------------------------------------------


def told(said: Sequence[str]) -> tuple[set[tuple[str, int]], set[int]]:
    """What the process had been told: letters posted, letters sent."""
    words = [line.split() for line in said if line]  # empty: it had ended, the others had sent what it posted
    return (
        {(each[1], int(each[2])) for each in words if each[0] == "posted"},
        {int(each[1]) for each in words if each[0] == "sent"},
    )


def sent(snapshot: Snapshot) -> set[int]:
    return {row[0] for row in snapshot.all("SELECT number FROM letters WHERE state = 'sent'")}


def refused(said: Sequence[str]) -> set[tuple[str, int]]:
    """Letters whose writer was told of an error; they may be there all the same."""
    words = [line.split() for line in said]
    return {(each[1], int(each[2])) for each in words if each[0] == "refused"}


def assert_nothing_is_lost(path: Path, said: Sequence[str]) -> None:
    """Open the file as the next start does, and look."""
    posted_before, sent_before = told(said)
    try:  # a command that looks before any gateway has repaired the file
        seen = read_once(path, letters.SCHEMA, letters.posted)
        assert posted_before <= seen
    except DurableError as error:  # not yet made, not yet migrated, or its first journal still to be rolled back
        assert "opened" not in said, error

    assert write_once(path, letters.SCHEMA, letters.post, "the next start", 0, ["works"]) is not None

    posted_now = read_once(path, letters.SCHEMA, letters.posted)
    assert posted_before <= posted_now
    in_flight = posted_now - posted_before - refused(said) - {("the next start", 0)}
    assert len(in_flight) <= WRITERS, in_flight
    assert sent_before <= read_once(path, letters.SCHEMA, sent)
    assert read_once(path, letters.SCHEMA, letters.half_letters) == []
    assert read_once(path, letters.SCHEMA, find_damage) == ()


def stage_of(said: Sequence[str]) -> str:
    """What the process was at."""
    words = {line.split()[0] for line in said}
    return next(
        (stage for word, stage in (("closed", "end"), ("closing", "close"), ("opened", "work")) if word in words),
        "open",
    )


# -- how a file may be when the process starts ------------------------------------------------------------------------


def fresh(path: Path) -> list[str]:
    """No file yet."""
    return []


def resting(path: Path) -> list[str]:
    """A file that an earlier life closed."""
    return live(path, LIFE)


def torn_off(path: Path) -> list[str]:
    """A file whose last life was killed: its log has still to be moved into it."""
    run = trace(MODULE, [str(path), *LIFE], watched(path), inject="fdatasync:signal=SIGKILL:when=20")
    assert run.was_killed
    return list(run.said)


def old(path: Path) -> list[str]:
    """A file of the schema before this one."""
    write_once(path, OLD_SCHEMA, letters.post, "elder", 0, ["one", "two"])
    return ["posted elder 0"]


BEGINNINGS = {each.__name__: each for each in (fresh, resting, torn_off, old)}


def watched(path: Path) -> list[Path]:
    return [
        path.parent.parent,
        path.parent,
        path,
        *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal")),
    ]


def live(path: Path, life: Sequence[str]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-B", "-m", MODULE, str(path), *life], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def prepared(folder: Path, beginning: str) -> tuple[Path, list[str]]:
    """The file to start from, made once, and what its earlier life was told."""
    home = folder / "start"
    home.mkdir()
    path = home / "state" / "letters.sqlite3"
    return path, BEGINNINGS[beginning](path)


def copied(start: Path, home: Path) -> Path:
    shutil.copytree(start.parent.parent, home)
    return home / start.parent.name / start.name


# -- kills ------------------------------------------------------------------------------------------------------------


def kill_everywhere(folder: Path, beginning: str, every: int) -> tuple[list[Run], Counter[str]]:
    """Kill at each point; check after each; return the runs and what the whole program does."""
    start, said = prepared(folder, beginning)
    whole_path = copied(start, folder / "whole")
    whole = trace(MODULE, [str(whole_path), *SECOND_LIFE], watched(whole_path))
    assert (whole.code, whole.said[-1]) == (0, "closed"), whole.complained

    def kill(point: tuple[str, int]) -> Run:
        name, number = point
        place = folder / f"{name}-{number}"
        path = copied(start, place)
        run = trace(MODULE, [str(path), *SECOND_LIFE], watched(path), inject=f"{name}:signal=SIGKILL:when={number}")
        assert run.was_killed or "closed" in run.said, (run.code, run.said, run.complained)
        assert_nothing_is_lost(path, [*said, *run.said])
        shutil.rmtree(place)
        return run

    counts = whole.counts()
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(kill, kill_points(counts, every=every)))
    if every == 1:  # the count may vary with the grouping of writers: go on until the program lives
        for name, count in counts.items():
            number = count
            while True:
                number += 1
                runs.append(kill((name, number)))
                if not runs[-1].was_killed:
                    break
    return [run for run in runs if run.was_killed], counts


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("beginning", "every"),
    [("fresh", 25), *(pytest.param(name, 1, marks=pytest.mark.long) for name in BEGINNINGS)],
)
def test_a_killed_process_loses_nothing(
    beginning: str, every: int, folder: Path, report: Callable[[str], None]
) -> None:
    """T6: SIGKILL on entry of every system call that changes a file of the database, until the count is exceeded."""
    killed, counts = kill_everywhere(folder, beginning, every)

    traces = {tuple((call.name, call.arguments.split(",")[0][-12:]) for call in run.calls) for run in killed}
    coverage = Counter((stage_of(run.said), run.calls[-1].name) for run in killed)
    report(
        f"{beginning}: {sum(counts.values())} points {dict(counts)}, {len(killed)} kills, {len(traces)} traces, "
        f"coverage { ({' '.join(key): count for key, count in sorted(coverage.items())}) }"
    )
    assert len(killed) >= sum(counts.values()) // every - len(counts)
    assert {stage for stage, _ in coverage} >= ({"open", "work"} if every > 1 else {"open", "work", "close"})


# -- a disk that refuses ----------------------------------------------------------------------------------------------

FULL, FAILED = "failed database_disk_full", "failed database_disk_failed"
FAULTS = {
    "pwrite64:error=ENOSPC": {FULL},
    "pwrite64:error=EIO": {
        FAILED,
        FULL,
    },  # the log's index is written too, and there SQLite does not tell the two apart
    "fdatasync:error=EIO": {FAILED},
    "ftruncate:error=EIO": {FAILED},
}
IN_SHORT = [("pwrite64:error=ENOSPC", True, 60), ("fdatasync:error=EIO", False, 20)]
IN_FULL = [(fault, lasting, 1) for fault in FAULTS for lasting in (False, True)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("fault", "lasting", "every"), [*IN_SHORT, *(pytest.param(*row, marks=pytest.mark.long) for row in IN_FULL)]
)
def test_a_refusing_disk_is_a_typed_error_and_loses_nothing(
    fault: str, lasting: bool, every: int, folder: Path, report: Callable[[str], None]
) -> None:
    """Any call fails, once or from then on: the process ends by itself, what it was told is true."""
    start, said = prepared(folder, "resting")
    name = fault.split(":")[0]
    whole_path = copied(start, folder / "whole")
    count = trace(MODULE, [str(whole_path), *SECOND_LIFE], watched(whole_path)).counts()[name]
    endings = Counter[str]()

    def fail(number: int) -> None:
        path = copied(start, folder / str(number))
        run = trace(
            MODULE,
            [str(path), *SECOND_LIFE],
            watched(path),
            inject=f"{fault}:when={number}{'+' if lasting else ''}",
        )
        assert run.code == 0, run.complained
        assert run.said and run.said[-1] in {"closed", *FAULTS[fault]}, run.said
        endings[run.said[-1]] += 1
        assert_nothing_is_lost(path, [*said, *run.said])
        shutil.rmtree(path.parent.parent)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(fail, range(1, count + 1, every)))

    report(f"{fault} {'from then on' if lasting else 'once'}: {count} points, {dict(endings)}")


# -- power cuts -------------------------------------------------------------------------------------------------------


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("beginning", "tries"),
    [("fresh", 1), *(pytest.param(name, 20, marks=pytest.mark.long) for name in BEGINNINGS)],
)
def test_a_power_cut_loses_nothing(beginning: str, tries: int, folder: Path, report: Callable[[str], None]) -> None:
    """After any write, with any part of what was not synchronised gone or torn: the acknowledged is there."""
    start, said = prepared(folder, beginning)
    path = copied(start, folder / "run")
    names = durable_names(path)

    run = trace(MODULE, [str(path), *SECOND_LIFE], [], with_data=True)

    assert (run.code, run.said[-1]) == (0, "closed"), run.complained
    steps, states = cut_everywhere(path, names, run, said, tries, folder)
    report(f"{beginning}: {steps} steps, {states} distinct states after a cut")
    assert steps > 100


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("numbers", "tries"), [((1, 2), 0), pytest.param(range(1, 24), 2, marks=pytest.mark.long)], ids=["two", "each"]
)
def test_a_power_cut_after_a_failed_synchronisation_loses_nothing(
    numbers: Sequence[int], tries: int, folder: Path, report: Callable[[str], None]
) -> None:
    """The gateway goes on after an error of the disk that threw pages away; what it acknowledges later is there."""
    start, said = prepared(folder, "resting")
    total, refusals = 0, 0
    for number in numbers:
        path = copied(start, folder / f"run{number}")
        names = durable_names(path)

        run = trace(
            MODULE,
            [str(path), *SECOND_LIFE, "on"],
            [],
            with_data=True,
            inject=f"fdatasync:error=EIO:when={number}",
        )

        assert run.code == 0, run.complained
        refusals += len(refused(run.said))
        _, states = cut_everywhere(path, names, run, said, tries, folder)
        total += states
    report(f"{len(numbers)} failed synchronisations, {refusals} letters refused, {total} distinct states after a cut")
    assert refusals


def durable_names(path: Path) -> dict[str, bytes]:
    """The files and their bytes, without the log's index, which lives in memory."""
    return {each.name: each.read_bytes() for each in path.parent.glob("*") if not each.name.endswith("-shm")}


def cut_everywhere(
    path: Path, names: dict[str, bytes], run: Run, said: Sequence[str], tries: int, folder: Path
) -> tuple[int, int]:
    """Cut the power after each step of ``run`` and look; return how many steps and distinct states that were."""
    disk = Disk(path.parent, names)
    chance = random.Random(8)
    seen: set[tuple[tuple[str, bytes], ...]] = set()
    steps = 0
    for heard in play(disk, run.calls):
        steps += 1
        for number in range(tries + 1):
            files = disk.after_a_cut(chance if number else None)
            files = {name: data for name, data in files.items() if not name.endswith("-shm")}
            key = (*sorted(files.items()), ("heard", str(heard).encode()))
            if key not in seen:
                seen.add(key)
                assert_nothing_is_lost(restored(folder / "image", path.name, files), [*said, *heard])
    model = {name: file.now() for name, file in disk.names.items() if not name.endswith("-shm")}
    assert model == durable_names(path), "the model of the disk is not what the disk has"
    return steps, len(seen)


def restored(folder: Path, name: str, files: dict[str, bytes]) -> Path:
    """The disk as it comes back, with garbage where memory was shared."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    for each, data in {**files, name + "-shm": b"\xff" * 32768}.items():
        (folder / each).write_bytes(data)
        (folder / each).chmod(0o600)
    if name not in files:
        (folder / (name + "-shm")).unlink()
    return folder / name


def test_what_is_made_is_made_durable(folder: Path) -> None:
    """Each new folder and the new file are synchronised into the folder above before anything else happens."""
    path = folder / "one" / "two" / "letters.sqlite3"

    run = trace(MODULE, [str(path), *LIFE], [folder, *(each for each in path.parents if folder in each.parents), path])

    steps = [(call.name, call.arguments) for call in run.calls]
    made = [place for place, (name, text) in enumerate(steps) if name == "mkdir" or "O_CREAT|O_EXCL" in text]
    above = [folder, folder / "one", folder / "one" / "two"]
    assert len(made) == len(above)
    for place, parent in zip(made, above, strict=True):
        assert steps[place + 1][0] == "openat" and f'"{parent}"' in steps[place + 1][1]
        assert steps[place + 2][0] == "fsync" and f"<{parent}>" in steps[place + 2][1]


# -- several processes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, pytest.param(30, marks=pytest.mark.long)])
@pytest.mark.timeout(900)
def test_a_process_that_is_killed_beside_others_costs_them_nothing(rounds: int, folder: Path) -> None:
    """Three processes write one file; one is killed at any moment; the others finish and nothing is lost."""
    path = folder / "shared" / "letters.sqlite3"
    chance = random.Random(rounds)
    heard: list[str] = []
    for number in range(rounds):
        lives = [
            subprocess.Popen(
                [sys.executable, "-B", "-m", MODULE, str(path), str(100 * (3 * number + each)), "2", "3"],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for each in range(3)
        ]
        assert lives[0].stdout is not None
        for _ in range(chance.randrange(1, 6)):
            heard.append(lives[0].stdout.readline().strip())
        lives[0].send_signal(signal.SIGKILL)
        for life in lives:
            out, err = life.communicate(timeout=60)
            heard += out.splitlines()
            assert life.returncode in ((0, -signal.SIGKILL) if life is lives[0] else (0,)), err

    posted, done = told(heard)
    assert posted <= read_once(path, letters.SCHEMA, letters.posted)
    assert done <= read_once(path, letters.SCHEMA, sent)
    assert read_once(path, letters.SCHEMA, letters.half_letters) == []
    assert read_once(path, letters.SCHEMA, find_damage) == ()
