"""Canon's two local files on the disk."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from canon_ops.files.transaction import ChangedUnderUs
from canon_ops.operate.local_files import LocalFilesStore
from canon_ops.settings.local_files import LocalFiles
from canon_ops.settings.paths import CanonPaths
from canon_ops.settings.problems import BadBootstrap, DamagedFile
from tests.support.canon_files import as_file, profile_entry


def store(folder: Path, **environ: str) -> LocalFilesStore:
    return LocalFilesStore(CanonPaths.from_environ(environ, folder))


def test_reading_creates_nothing(tmp_path: Path) -> None:
    """Missing files are empty ones, and stay missing."""
    files = store(tmp_path).read()

    assert (files.agents.names, files.pending.names) == ((), ())
    assert list(tmp_path.iterdir()) == []


def test_an_edit_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    """Files that are handed back as they came are not rewritten, however they are formatted."""
    (tmp_path / ".canon").mkdir()
    file = tmp_path / ".canon" / "agents.json"
    file.write_bytes(b'{"z":{},   "a":{}}')

    store(tmp_path).update(lambda files: files)

    assert file.read_bytes() == b'{"z":{},   "a":{}}'


def test_an_edit_runs_again_on_what_somebody_else_wrote(tmp_path: Path) -> None:
    """A writer that takes no lock comes in between: its profile stays, ours is added."""
    here = store(tmp_path)
    (tmp_path / ".canon").mkdir()
    file = tmp_path / ".canon" / "agents.json"
    file.write_bytes(as_file())
    runs = 0

    def edit(files: LocalFiles) -> LocalFiles:
        nonlocal runs
        runs += 1
        if runs == 1:
            file.write_bytes(as_file(theirs={"clientType": "codex"}))
        entries = {**files.agents.entries, "ours": profile_entry()}
        return replace(files, agents=replace(files.agents, entries=entries))

    here.update(edit)

    assert runs == 2
    assert list(json.loads(file.read_bytes())) == ["ours", "theirs"]


def test_a_writer_that_never_rests_is_a_conflict(tmp_path: Path) -> None:
    """The file changes during every attempt: exit 5, theirs stays."""
    (tmp_path / ".canon").mkdir()
    file = tmp_path / ".canon" / "agents.json"
    file.write_bytes(as_file())
    runs = 0

    def edit(files: LocalFiles) -> LocalFiles:
        nonlocal runs
        runs += 1
        file.write_bytes(as_file(theirs={"run": runs}))
        return replace(files, agents=files.agents.without("x"))

    with pytest.raises(ChangedUnderUs):
        store(tmp_path).update(edit)

    assert json.loads(file.read_bytes()) == {"theirs": {"run": runs}}


def test_bootstrapped_profiles_are_written_once(tmp_path: Path) -> None:
    """SC.7: missing profiles are added, existing ones stay, and a second time nothing is written."""
    (tmp_path / ".canon").mkdir()
    file = tmp_path / ".canon" / "agents.json"
    file.write_bytes(as_file(ops=profile_entry(agentId="old")))
    text = as_file(ops=profile_entry(), boot=profile_entry()).decode()

    assert store(tmp_path).adopt_bootstrap(text) == {"boot"}
    written = file.stat().st_mtime_ns
    assert store(tmp_path).adopt_bootstrap(text) == frozenset()

    assert json.loads(file.read_bytes()) == {"ops": profile_entry(agentId="old"), "boot": profile_entry()}
    assert file.stat().st_mtime_ns == written


def test_a_bad_bootstrap_or_a_damaged_file_writes_nothing(tmp_path: Path) -> None:
    """Both are errors, and the damaged file keeps its bytes."""
    here = store(tmp_path)
    with pytest.raises(BadBootstrap):
        here.adopt_bootstrap("%")
    (tmp_path / ".canon" / "agents.json").write_bytes(b"{")
    with pytest.raises(DamagedFile):
        here.adopt_bootstrap(as_file(boot=profile_entry()).decode())

    assert (tmp_path / ".canon" / "agents.json").read_bytes() == b"{"
