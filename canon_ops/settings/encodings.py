"""The cures for a file that is not plain text in UTF-8: none touches what its reader was not told about.

Each is a shell command that rewrites the file in its place: mode, owner and link stay, and nobody else can read along.
"""

from __future__ import annotations

import codecs
import shlex

__all__ = ["as_utf8", "plain_line_ends", "to_utf8", "wide_encoding", "without_nul"]

_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


def wide_encoding(data: bytes) -> str | None:
    """The name by which ``iconv`` knows a text of two or four bytes a character; None for every other text.

    A mark decides; iconv drops it under the names without LE and BE, and a UTF-8 mark is not left in front of the first
    name. Without a mark a text is UTF-16 only when most of its characters are ASCII written with a NUL beside them: a
    NUL in the middle of a UTF-8 text is damage, and reading that text as UTF-16 would lose all of it.
    """
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            return name
    for name, ascii_byte in (("UTF-16LE", 0), ("UTF-16BE", 1)):
        if _is_mostly_wide_ascii(data, ascii_byte, name):
            return name
    return None


def _is_mostly_wide_ascii(data: bytes, ascii_byte: int, name: str) -> bool:
    nul = data[1 - ascii_byte :: 2].count(0)
    if len(data) % 2 or data[ascii_byte::2].count(0) or nul * 4 <= len(data):
        return False
    try:
        data.decode(name)
    except UnicodeDecodeError:
        return False
    return True


def to_utf8(encoding: str, file: str) -> str:
    """Convert a file from an encoding that all of it is in."""
    return _in_place(f"iconv -f {encoding} -t UTF-8", file)


def without_nul(file: str) -> str:
    """Remove the NUL bytes and nothing else, which is how the gateway reads the file."""
    return _in_place(r"LC_ALL=C tr -d '\000' <", file)


def as_utf8(data: bytes, file: str) -> str:
    """The cure for ``data`` that is not UTF-8: read as Latin-1, unless that would spoil letters that are UTF-8."""
    if (wide := wide_encoding(data)) is not None:
        return to_utf8(wide, file)
    broken, has_letters = 0, False
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.isascii():
            continue
        try:
            line.decode("utf-8")
            has_letters = True
        except UnicodeDecodeError:
            broken = broken or number
    if broken and has_letters:
        return f"write line {broken} of {file} again: the other lines are UTF-8, and it is not"
    return to_utf8("ISO-8859-1", file)


def plain_line_ends(text: str, file: str) -> str:
    """End every line in LF. YAML ends one at a CR alone, too; a CR before an LF is not to become a second end."""
    return _in_place(r"perl -pe 's/\r\n?/\n/g'" if "\r\n" in text else r"LC_ALL=C tr '\r' '\n' <", file)


def _in_place(command: str, file: str) -> str:
    name, new = shlex.quote(file), shlex.quote(f"{file}.new")
    return f"(umask 077; {command} {name} > {new}) && cat {new} > {name} && rm {new}"
