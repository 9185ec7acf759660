"""Any text at all: the .env reader and python-dotenv agree."""

from __future__ import annotations

import io
from collections.abc import Mapping

from dotenv.main import resolve_variables
from dotenv.parser import parse_stream
from hypothesis import given
from hypothesis import strategies as st

from canon_ops.settings.dotenv import decode_dotenv, lay_over, read_dotenv, read_lines

# Pieces that matter to the grammar are more likely than they are in random text.
PIECES = [
    "A",
    "B",
    "=",
    "'",
    '"',
    "\\",
    "\n",
    "\r\n",
    "\r",
    " ",
    "\t",
    "#",
    "export ",
    "${A}",
    "${B:-x}",
    "é",
    "\u00a0",
    "{",
]
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=40).map("".join)


@given(TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_text_gives_the_same_statements(data: bytes) -> None:
    """Names, values and verdicts are python-dotenv's, and the spans cover the text without a gap."""
    text = decode_dotenv(data)

    lines = read_lines(text)

    translated = text.replace("\r\n", "\n").replace("\r", "\n")
    bindings = list(parse_stream(io.StringIO(translated)))
    assert [(line.name, line.value, line.error) for line in lines] == [(b.key, b.value, b.error) for b in bindings]
    assert "".join(text[line.start : line.end] for line in lines) == text


@given(TEXTS, st.dictionaries(st.sampled_from(["A", "B", "C"]), st.text("xyz$", max_size=3)))
def test_any_text_fills_variables_alike(text: str, environ: Mapping[str, str]) -> None:
    """``${NAME}`` and its default read the same as in python-dotenv with override."""
    data = text.replace("\x00", "").encode("utf-8", "surrogatepass")
    entries = read_dotenv(data)

    merged, set_by = lay_over(environ, entries)

    theirs = _resolved(((entry.name, entry.value) for entry in entries), environ)
    assert {name: merged[name] for name in set_by} == {n: v for n, v in theirs.items() if v is not None}


def _resolved(values: object, environ: Mapping[str, str]) -> Mapping[str, str | None]:
    """python-dotenv's own filling; it reads ``os.environ``, which therefore is this test's for the moment."""
    import os
    from unittest import mock

    with mock.patch.dict(os.environ, environ, clear=True):
        return resolve_variables(values, override=True)  # type: ignore[arg-type]
