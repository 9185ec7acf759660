"""A diff of ``.env``: the change is seen, and no secret with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_ops.files.transaction import FileChange
from canon_ops.operate.dotenv_diff import dotenv_diff

FILE = Path("/home/a/.hermes/.env")


def diff(before: str | None, after: str | None, shown: str = "OPEN") -> list[str]:
    """The lines below the header."""
    old, new = (text.encode() if text is not None else None for text in (before, after))
    return dotenv_diff(FileChange(FILE, FILE, old, new), shown.split().__contains__).splitlines()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("OPEN=a\n", "OPEN=b\n", ["@@ -1 +1 @@", "-OPEN=a", "+OPEN=b"]),
        ("X=1\nOPEN=a\nY=2\n", "X=1\nOPEN=b\nY=2\n", ["@@ -2 +2 @@", "-OPEN=a", "+OPEN=b"]),
        ("K=one\n", "K=two\n", ["@@ -1 +1 @@", "-K=[REDACTED]", "+K=[REDACTED 2]"]),
        ("export K='one'\n", "K=one\n", ["@@ -1 +1 @@", "-export K=[REDACTED]", "+K=[REDACTED]"]),
        ("A=1", "A=1\nOPEN=b\n", ["@@ -1,0 +2 @@", "+OPEN=b"]),
        ("# sk-1 is the old key\nOPEN=b\n", "OPEN=b\n", ["@@ -1 +0,0 @@", "-…"]),
        ("OPEN=a # sk-1\n", "# sk-1\nOPEN=b\n", ["@@ -1 +1,2 @@", "-OPEN=a # …", "+…", "+OPEN=b"]),
        ('K="one\nOPEN=two"\n', "", ["@@ -1,2 +0,0 @@", "-K=[REDACTED]", "-…"]),
        ('OPEN="one\ntwo"\n', "", ["@@ -1,2 +0,0 @@", "-OPEN=…", "-…"]),
        ("OPEN # sk-1\n", "", ["@@ -1 +0,0 @@", "-…"]),
        ("OPEN\n", "", ["@@ -1 +0,0 @@", "-…"]),
        ("abcDEF==\n", "", ["@@ -1 +0,0 @@", "-…"]),
        ("K=\n", "OPEN=x\r\n", ["@@ -1 +1 @@", "-K=", "+OPEN=x"]),
        ("it''s sk-1\n\n", "\n", ["@@ -1 +0,0 @@", "-…"]),
    ],
)
def test_changed_lines_alone_are_shown(before: str, after: str, expected: list[str]) -> None:
    """Values of names that may be shown; of every other line at most the name."""
    assert diff(before, after)[2:] == expected


def test_a_new_file_and_a_removed_one_are_named_as_such() -> None:
    """As unified diffs do."""
    assert diff(None, "OPEN=1\n")[:2] == ["--- /dev/null", f"+++ {FILE}"]
    assert diff("OPEN=1\n", None)[:2] == [f"--- {FILE}", "+++ /dev/null"]


@given(
    before=st.lists(
        st.sampled_from(["OPEN=1", "K=hidden", "# hidden", 'K="hidden', 'hidden"', "hidden==", "", "OPEN"])
    ),
    after=st.lists(
        st.sampled_from(["OPEN=2", "export K='hidden'", "#hidden", 'hidden"', "K:hidden=1", "OPEN=1 #hidden"])
    ),
)
def test_nothing_hidden_is_seen(before: list[str], after: list[str]) -> None:
    """Whatever stands where, and however quotes swallow lines."""
    shown = "\n".join(line for line in diff("\n".join(before), "\n".join(after)) if not line.startswith("@@"))

    assert "hidden" not in shown
