"""Kill a real process at each system call by which it changes a file, and list those calls.

``strace`` does both. :func:`trace` runs a program once and returns what it did to the watched files, in order;
:func:`kill_points` runs it again and again, killed one call later each time, until it lives to its end. So the list of
steps is the kernel's and cannot be forgotten by whoever changes the code. The signal arrives on entry: the call that
is shown as the last did not happen.

The count of strace is one for each thread and each name of a call. The program under test must do its durable work on
one thread, as an actor does.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CHANGES", "Call", "Run", "has_strace", "kill_points", "trace"]

ROOT = Path(__file__).parents[2]
CHANGES = (
    "mkdir",
    "openat",
    "pwrite64",
    "write",
    "ftruncate",
    "fallocate",
    "fsync",
    "fdatasync",
    "fchown",
    "fchmod",
    "chmod",
    "rename",
    "link",
    "unlink",
    "rmdir",
)
_LINE = re.compile(r"(\d+) +(\w+)\((.*)\) += (\S+)")
_BEGUN = re.compile(r"(\d+) +(\w+)\((.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (\S+)")


def has_strace() -> bool:
    """Whether the harness can work here."""
    return shutil.which("strace") is not None


@dataclass(frozen=True, slots=True)
class Call:
    """One system call.

    Attributes:
        arguments: as strace prints them, descriptors with their paths.
        result: the number that it returned, as text; "?" when the process was killed on entry.
    """

    thread: int
    name: str
    arguments: str
    result: str


@dataclass(frozen=True, slots=True)
class Run:
    """How a program's run went.

    Attributes:
        code: exit status; negative for a signal.
        said: the lines of its output.
        complained: its standard error.
        calls: what it did to the watched files, in the order of completion.
    """

    code: int
    said: tuple[str, ...]
    complained: str
    calls: tuple[Call, ...]

    @property
    def was_killed(self) -> bool:
        return self.code in (-9, 137)

    def counts(self) -> Counter[str]:
        """How many calls of each name there were."""
        return Counter(call.name for call in self.calls)


def trace(
    module: str,
    arguments: Sequence[str],
    watched: Sequence[Path],
    *,
    inject: str | None = None,
    with_data: bool = False,
    also: Sequence[str] = (),
) -> Run:
    """Run ``python -m module arguments…`` under strace.

    Args:
        watched: the paths whose calls are seen, counted and injected into; no others are.
        inject: strace's own words, "pwrite64:signal=SIGKILL:when=3".
        with_data: have every byte that was written in ``arguments``, as ``\\x00\\x01…``; all files are seen then.
        also: names of more calls to see.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = ["strace", "-f", "-y", "-o", str(log), "-e", "trace=" + ",".join((*CHANGES, *also))]
        if with_data:
            command += ["-xx", "-s", str(1 << 20)]
        else:
            for path in watched:
                command += ["-P", str(path)]
        if inject:
            command += ["-e", f"inject={inject}"]
        done = subprocess.run(
            [*command, sys.executable, "-B", "-m", module, *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        calls = tuple(parse(log.read_text(errors="replace").splitlines()))
    return Run(done.returncode, tuple(done.stdout.splitlines()), done.stderr, calls)


def parse(lines: Sequence[str]) -> Iterator[Call]:
    """The calls of a log; one that was interrupted by another thread's line stands where it ended."""
    begun: dict[str, str] = {}
    for line in lines:
        if found := _BEGUN.match(line):
            begun[found[1]] = found[3]
        elif found := _RESUMED.match(line):
            yield Call(int(found[1]), found[2], begun.pop(found[1], "") + found[3], found[4])
        elif found := _LINE.match(line):
            yield Call(int(found[1]), found[2], found[3], found[4])


def kill_points(counts: Counter[str], *, every: int = 1) -> Iterator[tuple[str, int]]:
    """Names and numbers of the calls to kill at, for a program that was seen to make ``counts``.

    Args:
        every: a slice: each name's first call and then every so many-th. With 1 the caller goes on beyond the count
            until the program lives (its number of calls may vary from run to run).
    """
    for name, count in sorted(counts.items()):
        for number in range(1, count + 1, every):
            yield name, number
