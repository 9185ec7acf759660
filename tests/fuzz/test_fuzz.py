"""Every target under FUZZ_N inputs (a slice in ``make test``), and every find there ever was."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.argv import ARGV
from tests.fuzz.mutate import mutated
from tests.fuzz.targets import TARGETS, Target

FINDS = Path(__file__).parent / "finds"
COUNT = int(os.environ.get("FUZZ_N", "400"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
SECONDS = 3.0  # of processor time for one input of at most four kilobytes
EVERY = {**TARGETS, "argv": ARGV}


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home with something in it, and nothing of this machine's."""
    for name in list(os.environ):
        if name not in ("PATH", "LANG", "LC_ALL", "TMPDIR"):
            monkeypatch.delenv(name)
    home = tmp_path / "home" / ".hermes"
    home.mkdir(parents=True)
    (home / "config.yaml").write_text("# ours\ndisplay:\n  skin: x\nplugins:\n  enabled: [borgee]\n")
    (home / ".env").write_text("CANON_AGENT=desk\n")
    (home / ".env").chmod(0o600)
    for name, value in {"HOME": str(home.parent), "COLUMNS": "80", "CANON_OPS_KEYRING": "off"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(home.parent)


def tried(target: Target, data: bytes) -> str | None:
    """What the input did that it must not; None when nothing."""
    before = time.process_time()
    try:
        target.check(data)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:500]
    took = time.process_time() - before
    return f"it took {took:.1f} s" if took > SECONDS else None


@pytest.mark.timeout(0)
@pytest.mark.parametrize("name", EVERY)
def test_no_input_breaks_the_promise(name: str) -> None:
    """Mutated good inputs, one after the other; the first that breaks the promise is shown, ready to be kept."""
    target, random = EVERY[name], Random(f"{SEED} {name}")
    for number in range(COUNT):
        data = mutated(random, target.seeds, target.words)
        if (broken := tried(target, data)) is not None:
            pytest.fail(f"{name}, input {number}: {broken}\nnever: {target.never}\ninput: {data!r}")


@pytest.mark.parametrize("file", sorted(FINDS.glob("*/*")), ids=lambda file: f"{file.parent.name}/{file.name}")
def test_what_was_found_once_is_never_found_again(file: Path) -> None:
    """Each find breaks nothing any more."""
    assert tried(EVERY[file.parent.name], file.read_bytes()) is None
