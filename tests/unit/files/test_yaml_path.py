"""Paths: dots, indexes, quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_ops.errors import ExitCode
from canon_ops.files.yaml_path import BadPath, Path, format_path, parse_path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ("list[1].x", ("list", 1, "x")),
        ("list.1.x", ("list", "1", "x")),
        ('a."b.c"[0]', ("a", "b.c", 0)),
        ("a.'b c'.d", ("a", "b c", "d")),
        ("m[0][1]", ("m", 0, 1)),
        (r'"say \"hi\" \\"', ('say "hi" \\',)),
        ("'it''s'", ("it's",)),
        ("家.é", ("家", "é")),
        ('""', ("",)),
        ("a-b_c/d", ("a-b_c/d",)),
    ],
)
def test_paths_are_read(text: str, path: Path) -> None:
    """BR-05: list.1.x and list[1].x are both paths; keys with dots or brackets are quoted."""
    assert parse_path(text) == path


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "[0]", "a[", "a[x]", "a[-1]", 'a."b', "a b]", "a'b"])
def test_what_is_no_path_is_a_usage_error(text: str) -> None:
    """BR-05: a mistyped path is refused, never taken for a literal key."""
    with pytest.raises(BadPath) as caught:
        parse_path(text)

    assert caught.value.exit_code is ExitCode.USAGE


@given(st.lists(st.one_of(st.text(max_size=6), st.integers(0, 99)), min_size=1, max_size=5))
def test_a_formatted_path_reads_back(parts: list[str | int]) -> None:
    """What format_path writes, parse_path reads."""
    path = ("root", *parts)

    assert parse_path(format_path(path)) == path
