"""What is odd in a .env: each line gets its finding, and fixing changes no value that the gateway reads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canon_ops.errors import CanonOpsError
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.dotenv_lint import fix_dotenv, lint_dotenv
from canon_ops.settings.dotenv import lay_over, read_dotenv


@pytest.mark.parametrize(
    ("data", "code", "line", "name", "words"),
    [
        (b"CANON_AGENT: desk\n", "env_not_assignment", 1, "CANON_AGENT", "CANON_AGENT=VALUE"),
        (b"A=1\nKEY\n", "env_not_assignment", 2, "KEY", "undoes"),
        (b'A="open\n', "env_not_assignment", 1, "A", "not closed"),
        (b"it''s\n", "env_not_assignment", 1, "it''s", "NAME=VALUE"),
        (b"A=1\n\nexport A=2\n", "env_duplicate", 1, "A", "line 3"),
        (b"A=1 # note\n", "env_readers", 1, "A", "hermes command"),
        (b"A = 1\n", "env_readers", 1, "A", "a shell"),
        (b"A=a b\n", "env_readers", 1, "A", "a shell"),
        (b"A=${HOME}/x\n", "env_readers", 1, "A", "reference"),
        (b"\xef\xbb\xbfA=1\n", "env_mark", 1, None, "byte-order mark"),
        (b"A=1\nN=caf\xe9\n", "env_not_utf8", 2, None, "Latin-1"),
        ("X_API_KEY=schlüssel\n".encode(), "env_not_ascii", 1, "X_API_KEY", "ASCII"),
        (b"A=1\nB=2\r\n", "env_line_ends", 2, None, "CR"),
    ],
)
def test_each_oddity_is_named(data: bytes, code: str, line: int, name: str | None, words: str) -> None:
    """BR-21, BR-28: a finding has its line, its variable, and what to do."""
    (problem,) = lint_dotenv(data)

    assert (problem.code, problem.line, problem.name) == (code, line, name)
    assert words in f"{problem.message} {problem.fix}"


def test_a_clean_file_has_no_findings() -> None:
    """Comments, quotes, export and blank lines are all right."""
    assert lint_dotenv(b"# c\n\nexport A=1\nB='x y'\nC=\"it's\"\nD=a=b\nE=''\n") == ()


def test_findings_hold_no_value() -> None:
    """A .env holds keys: no message quotes what is behind the =."""
    data = b"A=sesame1\nA=sesame2 # sesame3\nB='sesame4\nC_TOKEN=sesame\xc3\xa9\nD: sesame5\n"

    assert not any("sesame" in f"{problem.message}{problem.fix}{problem.name}" for problem in lint_dotenv(data))


def test_fixing_removes_earlier_copies_and_quotes_anew() -> None:
    """BR-21: duplicates go only here; a comment beside moves above; references and other lines stay."""
    data = b"A=1\nB=x # why\nA=2\nE=${A}\nC: 3\n"

    assert fix_dotenv(DotenvDocument.parse(data)).data == b"# why\nB=x\nA=2\nE=${A}\nC: 3\n"


def test_fixing_takes_a_mark_and_cr_away() -> None:
    """The first name is what people read there, also when it comes again."""
    marked = b"\xef\xbb\xbfA=1\r\nB=2\r\n"
    twice = b"\xef\xbb\xbfA=1\nA=2\n"

    assert fix_dotenv(DotenvDocument.parse(marked)).data == b"A=1\nB=2\n"
    assert fix_dotenv(DotenvDocument.parse(twice)).data == b"A=2\n"


@pytest.mark.parametrize(
    "data", [b"\xef\xbb\xbfA=1\n", b"A=1\r\n", b"A=1\nA=2\n", b"A=\xe9\n", b"A=x # y\n", b"A: 1\n"]
)
def test_a_cure_can_be_pasted_from_any_output(data: bytes) -> None:
    """Piped output doubles backslashes, as any field of separated values does: a cure has none."""
    assert [problem.fix for problem in lint_dotenv(data) if "\\" in (problem.fix or "")] == []


lines = st.sampled_from(
    [
        "A=1",
        "A=2 # c",
        "export A='x'",
        "B = y",
        "B=it's",
        "C: 1",
        "C",
        'D="open',
        "E=${A}",
        "# c",
        "",
        "F=a b",
        "G='q' # r",
    ]
)


@given(st.lists(lines, max_size=8))
@settings(max_examples=150, deadline=None)
def test_fixing_keeps_what_the_gateway_reads(parts: list[str]) -> None:
    """Whatever is put right, the gateway reads the same values afterwards, and a second round finds nothing to fix."""
    data = "\n".join(parts).encode() + b"\n"
    document = DotenvDocument.parse(data)
    try:
        fixed = fix_dotenv(document)
    except CanonOpsError:
        return  # an open quote elsewhere: named by its own finding

    assert lay_over({}, read_dotenv(fixed.data))[0] == lay_over({}, read_dotenv(data))[0]
    assert fix_dotenv(fixed).data == fixed.data
