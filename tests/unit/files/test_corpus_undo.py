"""Every edit that was committed can be taken back: the bytes of before, over the whole corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.errors import CanonOpsError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.disk import Disk
from canon_ops.files.transaction import Transaction
from canon_ops.files.undo import undo
from tests.support.config_corpus import READABLE
from tests.support.config_oracle import every_place


class Hasty(Disk):
    """A disk that is not waited for: what a power cut leaves is the crash tests' business."""

    def sync(self, descriptor: int) -> None: ...

    def sync_folder(self, path: Path) -> None: ...


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in READABLE.items()])
def test_edits_are_taken_back_one_by_one(text: str, tmp_path: Path) -> None:
    """set, add, remove, a new key, a new section and unset: each undo gives back the bytes from before its edit."""
    file = tmp_path / "config.yaml"
    file.write_bytes(text.encode())
    file.chmod(0o640)
    seen = [file.read_bytes()]
    for edit in edits_of(text):
        with Transaction(tmp_path, disk=Hasty()) as transaction:
            transaction.stage(file, edit)
            if transaction.commit() is not None:
                seen.append(edit)
    assert len(seen) > 2

    for before in reversed(seen[:-1]):
        with Transaction(tmp_path, disk=Hasty()) as transaction:
            undo(transaction)
            transaction.commit()
        assert file.read_bytes() == before

    assert file.stat().st_mode & 0o777 == 0o640


def edits_of(text: str) -> list[bytes]:
    """The texts after one edit of each kind, each made to the text before."""
    document = ConfigDocument.parse(text.encode())
    places = every_place(text)
    scalars = [path for path, value in places if not isinstance(value, dict | list)]
    lists = [path for path, value in places if isinstance(value, list)]
    found: list[bytes] = []

    def attempt(edit: str, *arguments: object) -> None:
        nonlocal document
        try:
            document = getattr(document, edit)(*arguments)
        except CanonOpsError:
            return  # refused; the corpus test looks at those
        found.append(document.data)

    if scalars:
        attempt("set", scalars[0], "12:30")
    if lists:
        attempt("add", lists[-1], "added")
        attempt("remove", lists[-1], "added")
    attempt("set", ("brand_new",), "x")
    attempt("ensure_mapping", ("brand", "newer"))
    attempt("unset", ("brand_new",))
    return found
