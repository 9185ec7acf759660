"""The targets that run the tests in many environments: which rows there are, and what is made of their reports."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from canon_ops.hermes.audited import AUDITED_HOSTS, Evidence
from scripts import test_hosts, test_rows
from scripts.hosts_page import Run
from scripts.matrix import (
    ABSENT,
    Failure,
    Outcome,
    Row,
    entered,
    exit_code,
    read_report,
    reasons,
    run_all,
    table,
    total,
)
from tests.support.environments import CHECKOUT, Environment, find_python, minor_of

pytestmark = pytest.mark.checkout

REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="good"/>
<testcase classname="tests.a" name="bad"><failure message="no">line 1
E  assert 1 == 2</failure><error message="late">and no end</error></testcase>
<testcase classname="tests.a" name="broken"><error message="no"/></testcase>
<testcase classname="tests.b" name="away"><skipped/></testcase>
</testsuite></testsuites>"""
ROW = Row(("1.0", "3.13"), None, "host")


def outcome(*, counts: bool = True, **more: object) -> Outcome:
    return Outcome(("1.0", "3.13"), counts, "2026-01-01", **more)  # type: ignore[arg-type]


def test_a_report_is_counted() -> None:
    """Errors are failures, skips are told, and what failed has its name and its reason; a test counts once."""
    read = read_report(ROW, "2026-01-01", REPORT, 3.0)

    assert (read.passed, read.failed, read.skipped) == (1, 2, 1)
    assert read.failures == (Failure("tests.a::bad", "line 1\nE  assert 1 == 2"), Failure("tests.a::broken", "no"))
    assert not read.is_good


@pytest.mark.parametrize(
    ("passed", "skipped", "trouble"),
    [
        (500, 20, ""),
        (499, 0, "too few tests: 499 passed, the least is 500"),
        (600, 21, "too many skipped: 21, the most is 20"),
        (0, 0, "too few tests: 0 passed, the least is 500"),
    ],
)
def test_a_run_that_shows_nothing_is_no_good_row(passed: int, skipped: int, trouble: str) -> None:
    """H1: a selection that found little, or a host on which much is skipped, is no evidence for anything."""
    row = replace(ROW, least=500, most_skipped=20)
    report = "<s>" + "<testcase/>" * passed + "<testcase><skipped/></testcase>" * skipped + "</s>"

    read = read_report(row, "2026-01-01", report, 3.0)

    assert (read.trouble, read.is_good) == (trouble, not trouble)
    assert exit_code([outcome(passed=1), read]) == (1 if trouble else 0)


def test_a_failure_is_told_before_the_number_of_tests() -> None:
    """Where something failed, that is what the table says."""
    assert read_report(replace(ROW, least=500), "2026-01-01", REPORT, 3.0).verdict == "FAILED"


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (outcome(passed=3), 0),
        (outcome(passed=3, failed=1), 1),
        (outcome(passed=0), 1),
        (outcome(trouble="not installed: no index"), 1),
        (outcome(trouble=ABSENT), 0),
        (outcome(passed=3, failed=1, counts=False), 0),
    ],
)
def test_what_fails_the_target(one: Outcome, code: int) -> None:
    """A row that counts and is not good does; a Python that this machine lacks and the next host do not."""
    assert exit_code([outcome(passed=1), one]) == code


def test_a_target_that_ran_nothing_fails() -> None:
    """Rows whose Python is missing are no evidence when they are all that there is."""
    assert exit_code([outcome(trouble=ABSENT), outcome(trouble=ABSENT, counts=False)]) == 1
    assert exit_code([]) == 1


def test_why_a_row_failed_is_said() -> None:
    """The ends of the first failures, the names of all, and everything that stopped a row from running."""
    long = Failure("tests.a::long", "\n".join(f"line {number}" for number in range(100)))
    failures = (long, *(Failure(f"tests.b::{number}", "E  no") for number in range(30)))

    said = reasons(outcome(failed=31, failures=failures))

    assert said[:3] == ["tests.a::long", "  line 60", "  line 61"]
    assert said[40:43] == ["  line 99", "tests.b::0", "  E  no"]
    assert [line for line in said if not line.startswith(" ")] == [one.name for one in failures]
    assert said[-2:] == ["tests.b::28", "tests.b::29"]
    assert reasons(outcome(trouble="not installed: pip\nERROR: no index\nbye")) == ["ERROR: no index", "bye"]


def test_a_row_that_cannot_start_shows_the_end_of_its_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What its interpreter said last stands in the output: in CI nobody can open the log."""
    environment = Environment("bare", parent=str(tmp_path))
    program(environment.interpreter, "echo the disk is full >&2; exit 1")
    environment.folder.joinpath(".made-from").write_text(environment.recipe())

    code = run_all([Row(("bare", "3"), environment, "host")], ("row", "Python"), tmp_path / "results.json")

    assert code == 1
    assert "the disk is full" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("says", "words"),
    [
        pytest.param("echo 2.0", "another Hermes: asked for 1.0, ", id="another"),
        pytest.param("echo ImportError: no hermes_cli >&2; exit 1", "has ImportError: no hermes_cli", id="none"),
        pytest.param("exit 0", "has nothing (exit code 0)", id="silent"),
    ],
)
def test_a_row_whose_host_is_another_runs_nothing_and_fails(
    says: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SC.19: the interpreter of a row is asked for its Hermes, and another than the row's fails before any test."""
    environment = a_host(tmp_path, f'case "$1" in -c) {says};; *) echo tests >> {tmp_path}/ran;; esac')

    code = run_all([Row(("1.0", "3"), environment, "host", hermes="1.0")], ("Hermes", "Python"), tmp_path / "results")

    assert code == 1
    assert words in capsys.readouterr().out
    assert not (tmp_path / "ran").exists()


def test_a_row_whose_host_is_the_one_asked_for_runs(tmp_path: Path) -> None:
    """SC.19: with the version that was asked for the tests are started."""
    environment = a_host(tmp_path, f'case "$1" in -c) echo 1.0;; *) echo tests >> {tmp_path}/ran;; esac')

    run_all([Row(("1.0", "3"), environment, "host", hermes="1.0")], ("Hermes", "Python"), tmp_path / "results")

    assert (tmp_path / "ran").exists()


def test_a_row_from_another_checkout_runs_nothing_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An environment that was made for another checkout has that one's code in its gateways."""
    environment = replace(a_host(tmp_path, f'case "$1" in -c) echo {tmp_path}/canon_ops;; esac'), checkout_extra="test")
    environment.folder.joinpath(".made-from").write_text(environment.recipe())

    code = run_all([Row(("1.0", "3"), environment, "host")], ("Hermes", "Python"), tmp_path / "results")

    assert code == 1
    assert f"another checkout: canon_ops of {environment.folder} is {tmp_path}/canon_ops" in capsys.readouterr().out


def test_a_chosen_test_is_run_without_a_floor(tmp_path: Path) -> None:
    """Who names tests with pytest's own words knows that there are few."""
    report = "<s><testcase/></s>"
    environment = a_host(tmp_path, f"for one; do case $one in --junitxml=*) echo '{report}' > ${{one#*=}};; esac; done")
    row = Row(("1.0", "3"), environment, "host", least=500)

    assert run_all([row], ("Hermes", "Python"), tmp_path / "results", ["-k", "one"]) == 0
    assert run_all([row], ("Hermes", "Python"), tmp_path / "results") == 1


def test_every_row_of_the_hosts_says_which_hermes_it_is() -> None:
    """SC.19: no row of the matrix goes unasked, nor one of the dependencies beside a host."""
    rows = test_hosts.matrix([], [])

    assert [row.hermes for row in rows] == [row.labels[0] for row in rows]
    assert [row.hermes for row in test_rows.rows(["lowest", "0.19.0"], ["here"])] == [None, "0.19.0"]


def a_host(folder: Path, script: str) -> Environment:
    """An environment whose interpreter is a shell script."""
    environment = Environment("host", parent=str(folder))
    program(environment.interpreter, script)
    environment.folder.joinpath(".made-from").write_text(environment.recipe())
    return environment


def test_the_table_names_what_does_not_count() -> None:
    """One line a row, the labels first."""
    lines = table([outcome(passed=2, seconds=7.6), outcome(failed=1, counts=False)], ("Hermes", "Python")).splitlines()

    assert lines[2] == "| 1.0 | 3.13 | passed | 2 | 0 | 0 | 8 | 2026-01-01 |"
    assert lines[3].startswith("| 1.0 | 3.13 | FAILED (does not count) |")


def test_every_row_that_was_run_is_in_the_matrix() -> None:
    """H1: evidence by run can be produced again by the target."""
    rows = {row.labels for row in test_hosts.matrix([], [])}

    assert {(row.hermes, row.python) for row in AUDITED_HOSTS if row.evidence is Evidence.RUN} <= rows
    assert {row.labels[0] for row in test_hosts.matrix([], []) if not row.counts} == {*test_hosts.NEXT}


def test_rows_are_chosen() -> None:
    """By release, by Python, by group; a refused release has one row, with the tests of the refusal only."""
    chosen = test_hosts.matrix(["0.19.0", "refused"], ["3.11", "3.13"])

    assert [row.labels for row in chosen] == [("0.19.0", "3.11"), ("0.19.0", "3.13"), ("0.17.0", "3.13")]
    assert [row.arguments for row in chosen] == [test_hosts.CORE, test_hosts.CORE, test_hosts.REFUSAL_TESTS]
    whole = test_hosts.matrix(["0.19.0"], ["3.11"], "whole")
    assert [row.arguments for row in whole] == [()]
    assert [(row.least, row.most_skipped) for row in (*chosen, *whole)] == [(220, 20), (220, 20), (4, 20), (750, 20)]


@pytest.mark.parametrize("place", test_hosts.CORE)
def test_the_core_is_part_of_the_set(place: str) -> None:
    """A place of the core is a file, and a test in it, whose tests are those of a host."""
    path, _, name = place.partition("::")

    text = CHECKOUT.joinpath(path).read_text(encoding="utf-8")

    assert "mark.host" in text
    assert not name or f"def {name}(" in text


@pytest.mark.parametrize(
    ("more", "run"),
    [
        ({}, Run("1.0", "3.13", "2026-01-01", "abc", 7, 1)),
        ({"failed": 1, "failures": (Failure("t::a", "no"),)}, Run("1.0", "3.13", "2026-01-01", "abc", 7, 1, ("t::a",))),
        ({"trouble": "too few tests: 7 passed, the least is 500"}, None),
    ],
)
def test_what_may_be_recorded(more: dict[str, Any], run: Run | None) -> None:
    """A run that shows nothing is not written down; one that failed is, with what failed."""
    result = asdict(outcome(passed=7, skipped=1, **more))

    assert test_hosts.run_of(result, "abc") == run


def test_a_record_names_a_commit_that_has_what_was_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A checkout with changes has no commit; nothing is run for the page there."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(tmp_path))
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "a"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(test_hosts, "CHECKOUT", tmp_path)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout

    assert test_hosts.commit_of_checkout() == head[:12]
    tmp_path.joinpath("new").touch()

    with pytest.raises(SystemExit):
        test_hosts.main(["--record", "--set", "whole", "--hosts", "refused"])
    assert "names a commit" in capsys.readouterr().err


def test_only_the_whole_set_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    """A row of the page rests on every test of the set."""
    for arguments in (["--record"], ["--record", "--set", "whole", "-k", "one"]):
        with pytest.raises(SystemExit):
            test_hosts.main(arguments)
    assert "rests on the whole set" in capsys.readouterr().err


def test_here_is_the_python_that_runs_the_target() -> None:
    """A machine with one Python runs every row on it, the lowest dependencies included."""
    here = f"{sys.version_info.major}.{sys.version_info.minor}"

    hosts = test_hosts.matrix(["0.18.2", "next"], ["here"])
    rows = test_rows.rows(["lowest", "0.19.0"], ["here"])

    assert [row.labels for row in hosts] == [("0.18.2", here), ("0.22.2.post1", here)]
    assert [row.labels for row in rows] == [("lowest", here), ("beside Hermes 0.19.0", here)]
    assert all(row.environment is not None for row in (*hosts, *rows))
    assert [row.labels[1] for row in test_rows.rows(["lowest", "newest"])] == ["3.11", "3.13"]


@pytest.mark.parametrize(("hosts", "pythons"), [(["0.20.0"], []), ([], ["3.9"])])
def test_a_row_that_does_not_exist_is_refused(hosts: list[str], pythons: list[str]) -> None:
    """A typo does not run nothing and call it a pass."""
    with pytest.raises(SystemExit, match="Not in the matrix"):
        test_hosts.matrix(hosts, pythons)


def test_every_dependency_has_a_lower_bound_that_can_be_tested() -> None:
    """The lowest row constrains each dependency of a user once; a dependency without a bound is refused."""
    constraints = test_rows.lowest(test_rows.declared())

    names = [one.partition("==")[0] for one in constraints]
    assert len(names) == len(set(names)) > 10
    assert test_rows.lowest(["click>=8.1.7", "httpx>=0.27,<1"]) == ("click==8.1.7", "httpx==0.27")
    with pytest.raises(SystemExit, match="no lower bound"):
        test_rows.lowest(["click"])


def test_an_environment_is_made_again_when_its_recipe_changes(tmp_path: Path) -> None:
    """The stamp is what it was made from; without a stamp it counts as unfinished."""
    environment = Environment("stale", requirements=("one==1",), parent=str(tmp_path))
    environment.folder.mkdir()
    before = environment.is_made
    environment.folder.joinpath(".made-from").write_text(environment.recipe())

    after = environment.is_made
    changed = Environment("stale", requirements=("one==2",), parent=str(tmp_path)).is_made

    assert (before, after, changed) == (False, True, False)


def test_an_environment_without_packages_is_made_once(tmp_path: Path) -> None:
    """Made by the standard library, from this interpreter; the second call finds it."""
    told: list[str] = []
    environment = Environment("empty", parent=str(tmp_path))

    python = environment.make(say=told.append)
    again = environment.make(say=told.append)

    assert python == again
    assert minor_of(str(python)) == minor_of(str(find_python(minor_of(str(python)) or "")))
    assert len(told) == 1


def kept(root: Path, *versions: str, says: str = "") -> None:
    """What pyenv keeps below ``root``: interpreters that say their own minor, or something else."""
    for version in versions:
        minor = ".".join(version.split(".")[:2])
        program(root / "versions" / version / "bin" / f"python{minor}", f"echo {says or minor}")


def program(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_pyenv_is_asked_when_path_has_no_python(tmp_path: Path) -> None:
    """A version that pyenv keeps is found, the newest patch level first; a shim that does not run is passed over."""
    kept(tmp_path, "3.99.2", "3.99.10")
    kept(tmp_path, "3.98.0", says="nonsense")
    environ = {"PATH": str(tmp_path), "PYENV_ROOT": str(tmp_path), "HOME": str(tmp_path)}

    assert find_python("3.99", environ) == str(tmp_path / "versions" / "3.99.10" / "bin" / "python3.99")
    assert find_python("3.98", environ) is None


@pytest.mark.parametrize("home", ["elsewhere", None])
def test_a_shim_leads_to_what_pyenv_keeps(home: str | None, tmp_path: Path) -> None:
    """Whatever HOME says: the interpreters lie beside the folder of the shims, one of which is on PATH and runs not."""
    kept(tmp_path / "pyenv", "3.99.4")
    shim = program(tmp_path / "pyenv" / "shims" / "python3.99", "exit 127")
    plugin = program(tmp_path / "pyenv" / "plugins" / "some" / "shims" / "python3.99", "exit 127")
    environ = {"PATH": f"{plugin.parent}:{shim.parent}"} | ({"HOME": str(tmp_path / home)} if home else {})

    assert find_python("3.99", environ) == str(tmp_path / "pyenv" / "versions" / "3.99.4" / "bin" / "python3.99")


def test_path_comes_before_what_pyenv_keeps(tmp_path: Path) -> None:
    """A shim that does not run hides no interpreter behind it on PATH; what PATH has counts more than pyenv's."""
    kept(tmp_path / "pyenv", "3.99.4")
    shim = program(tmp_path / "pyenv" / "shims" / "python3.99", "exit 127")
    good = program(tmp_path / "bin" / "python3.99", "echo 3.99")

    assert find_python("3.99", {"PATH": f"{shim.parent}:{good.parent}", "HOME": str(tmp_path)}) == str(good)


def test_a_row_enters_its_environment() -> None:
    """The environment's commands come first, and nothing leads to another Hermes."""
    environment = Environment("x")

    environ = entered({"PATH": "/bin", "HERMES_HOME": "/h", "PYTHONPATH": "/p", "LANG": "C"}, environment)

    assert environ == {"PATH": f"{CHECKOUT / '.hosts' / 'x' / 'bin'}:/bin", "LANG": "C"}


@pytest.mark.parametrize(
    ("limit_s", "told"),
    [
        (None, "7 s of tests"),
        (7.0, "7 s of tests, within the limit of 7 s"),
        (6.0, "7 s of tests, over the limit of 6 s"),
    ],
)
def test_what_all_rows_took_is_told(limit_s: float | None, told: str) -> None:
    """The sum over the rows, and whether it keeps the target's promise."""
    rows = [Outcome(("a",), True, "2026-01-01", seconds=3.5), Outcome(("b",), False, "2026-01-01", seconds=3.5)]

    assert total(rows, limit_s) == told
