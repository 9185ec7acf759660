"""``make mutants``: known defects, put back one at a time into a copy of the tree; the named tests must notice.

``tests/mutants/*.patch`` is a unified diff under a header::

    Defect: D23
    Test: tests/unit/wire/test_sse.py::test_a_cr_at_the_end_of_a_chunk_and_its_lf_are_one_line_end

    A sentence for people: what the defect was.

A mutant is killed when every test that it names fails; it survives when one passes, and is broken when the tests cannot
even be collected, which proves nothing. First the named tests run on the unchanged copy, where all must pass.

``make mutants MUTANTS="D23 D5"`` chooses by defect.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

__all__ = ["CHECKOUT", "MUTANTS", "BadMutant", "Mutant", "Verdict", "applies", "read_mutant", "read_mutants"]

CHECKOUT = Path(__file__).resolve().parents[1]
MUTANTS = CHECKOUT / "tests" / "mutants"
COPIED = ("canon_ops", "adapter", "tests", "scripts", "docs", "pyproject.toml")
LIMIT_S = 300
_FIELD = re.compile(r"(Defect|Test): (\S.*)")
_DIFF = re.compile(r"^diff --git ", re.MULTILINE)


class BadMutant(Exception):
    """The file is no mutant: a header line is missing, or there is no diff."""


class Verdict(Enum):
    """What the tests made of a mutant."""

    KILLED = "killed"
    SURVIVED = "SURVIVED"
    BROKEN = "BROKEN"  # does not apply, or the tests cannot run


@dataclass(frozen=True, slots=True)
class Mutant:
    """One defect as a patch.

    Attributes:
        defect: its number in the list of known defects.
        tests: pytest ids, each of which must fail.
        story: what the defect was.
    """

    file: Path
    defect: str
    tests: tuple[str, ...]
    story: str


def read_mutant(file: Path) -> Mutant:
    """Read the header of a patch.

    Raises:
        BadMutant: it names no defect or no test, tells no story, or holds no diff.
    """
    text = file.read_text(encoding="utf-8")
    diff = _DIFF.search(text)
    if diff is None:
        raise BadMutant(f"{file.name} holds no diff")
    header = text[: diff.start()]
    fields = _FIELD.findall(header)
    defects = [value for name, value in fields if name == "Defect"]
    tests = tuple(value for name, value in fields if name == "Test")
    story = " ".join(line for line in header.splitlines() if line and not _FIELD.match(line))
    if len(defects) != 1 or not tests or not story:
        raise BadMutant(f"{file.name} needs one Defect, at least one Test, and a sentence")
    return Mutant(file, defects[0], tests, story)


def _place(mutant: Mutant) -> tuple[str, int, str]:
    """Canon's defects (D) before Borgee's weaknesses (W), each list by its numbers: W3, W3b, W4."""
    digits = re.sub(r"\D", "", mutant.defect)
    return mutant.defect[0], int(digits), mutant.file.name


def read_mutants(folder: Path = MUTANTS) -> tuple[Mutant, ...]:
    """Every mutant, in the order of the defects."""
    return tuple(sorted(map(read_mutant, folder.glob("*.patch")), key=_place))


def applies(mutant: Mutant, tree: Path) -> bool:
    """Whether the patch fits the tree as it is."""
    return _git_apply(tree, mutant.file, "--check") == 0


def judge(mutant: Mutant, tree: Path) -> Verdict:
    """Put the defect into the tree, run its tests, take it out again."""
    if _git_apply(tree, mutant.file) != 0:
        return Verdict.BROKEN
    try:
        failed, total = run_tests(mutant.tests, tree)
    finally:
        _git_apply(tree, mutant.file, "--reverse")
    if not total:
        return Verdict.BROKEN
    return Verdict.KILLED if all(_function(test) in failed for test in mutant.tests) else Verdict.SURVIVED


def run_tests(tests: Sequence[str], tree: Path) -> tuple[set[str], int]:
    """Run the tests against ``tree``; the functions that failed, and how many cases ran (0: they could not)."""
    report = tree / "report.xml"
    report.unlink(missing_ok=True)
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), str(tree / "adapter")])}
    command = [
        sys.executable, "-B", "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", f"--junitxml={report}", *tests,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tree, env=environ, capture_output=True, timeout=LIMIT_S, check=False)
    if done.returncode not in (0, 1):
        return set(), 0
    cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314  # written by our own pytest
    failed = {(case.get("name") or "").partition("[")[0] for case in cases if case.find("failure") is not None}
    return failed, len(cases)


def copy_tree(folder: Path) -> Path:
    """A copy of what the tests need, outside of the checkout."""
    for name in COPIED:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / name)
    return folder


def _function(test: str) -> str:
    return test.rpartition("::")[2].partition("[")[0]


def _git_apply(tree: Path, patch: Path, *options: str) -> int:
    # GIT_CEILING_DIRECTORIES: below another repository git would look for the paths there, and skip them silently.
    environ = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    command = ["git", "apply", "-p1", "-C1", *options, str(patch.resolve())]
    return subprocess.run(command, cwd=tree, env=environ, capture_output=True, check=False).returncode


def say(text: str) -> None:
    print(text, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Judge the chosen mutants; 0 when all are killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="defects, separated by blanks")
    wanted = parser.parse_args(arguments).only.split()
    chosen = [mutant for mutant in read_mutants() if not wanted or mutant.defect in wanted]
    if not chosen:
        say("No such mutant.")
        return 2
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        tree = copy_tree(Path(scratch))
        failed, total = run_tests(sorted({test for mutant in chosen for test in mutant.tests}), tree)
        if failed or not total:
            say(f"The tests must pass before anything is changed; these do not: {', '.join(sorted(failed)) or 'all'}.")
            return 2
        for mutant in chosen:
            began = time.monotonic()
            verdicts.append(judge(mutant, tree))
            say(f"{mutant.defect:4} {verdicts[-1].value:8} {time.monotonic() - began:5.1f} s  {mutant.story}")
    killed = verdicts.count(Verdict.KILLED)
    say(f"\n{killed} of {len(verdicts)} mutants killed.")
    return 0 if killed == len(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
