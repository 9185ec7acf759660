"""What CI runs: the one script, seen through a ``make`` that only writes down how it was called."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.environments import CHECKOUT

pytestmark = pytest.mark.checkout

MAKE = """#!{python}
import json, os, sys
with open({calls!r}, "a") as file:
    print(json.dumps([sys.argv[1:], os.getcwd(), os.environ.get("CI")]), file=file)
sys.exit({code})
"""


def calls_of_ci(folder: Path, environ: dict[str, str], *, code: int = 0) -> tuple[int, list[Any]]:
    """Run the script away from the checkout; its exit code, and each call of make: words, folder, CI."""
    calls = folder / "calls"
    calls.touch()
    make = folder / "bin" / "make"
    make.parent.mkdir()
    make.write_text(MAKE.format(python=sys.executable, calls=str(calls), code=code))
    make.chmod(0o755)
    ran = subprocess.run(
        ["bash", str(CHECKOUT / ".ci" / "run")],
        cwd=folder,
        env={"HOME": str(folder), **environ, "PATH": f"{make.parent}{os.pathsep}{os.environ['PATH']}"},
        check=False,
    )
    return ran.returncode, [json.loads(line) for line in calls.read_text().splitlines()]


@pytest.mark.parametrize("environ", [{}, {"CI": ""}, {"CI": "1"}], ids=["not set", "empty", "set"])
def test_ci_runs_the_checks_and_the_tests_and_skips_nothing(environ: dict[str, str], tmp_path: Path) -> None:
    """L1, T9: in the checkout, and with CI set, so that a tool that is missing fails its tests."""
    code, calls = calls_of_ci(tmp_path, environ)

    assert code == 0
    assert calls == [[["check", "test"], str(CHECKOUT), environ.get("CI") or "true"]]


def test_ci_fails_with_what_it_runs(tmp_path: Path) -> None:
    """The exit code of make is that of the script."""
    code, _calls = calls_of_ci(tmp_path, {}, code=2)

    assert code == 2


def test_each_long_test_is_in_a_target() -> None:
    """What `make test` leaves out some other target runs: a test in no target proves nothing."""
    recipes = (CHECKOUT / "Makefile").read_text(encoding="utf-8").splitlines()
    running = "\n".join(line for line in recipes if "pytest" in line and '-m "not long"' not in line)
    long_ones = {
        file.relative_to(CHECKOUT)
        for file in (CHECKOUT / "tests").rglob("test_*.py")
        if "mark.long" in file.read_text(encoding="utf-8") and file != Path(__file__)
    }

    assert len(long_ones) > 20
    assert {file for file in long_ones if str(file) not in running and f"{file.parent} " not in running} == set()
