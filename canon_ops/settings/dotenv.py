"""Read a ``.env`` exactly as the gateway does: same lines, same values, same winner.

The gateway hands the file to python-dotenv 1.2 and lets it override the process environment; before that it drops NUL
bytes and converts UTF-16, and afterwards it drops non-ASCII characters from credentials. A UTF-8 byte-order mark stays
and becomes part of the first name, so that this first line sets nothing (Hermes removes the mark only when it happens
to rewrite the file for another reason, such as a missing newline at the end).

We follow the same grammar here, because the settings stay free of third-party code and need what python-dotenv does
not tell: where an entry stands, and which later one overrides it. The tests hold this reader against python-dotenv and
against the host.

Call :func:`read_dotenv` for the entries of a file, :func:`lay_over` for the environment that the gateway ends up with.

The grammar of one binding, at the current position::

    blank* [ "export" blank+ ] ( 'quoted key' | bare key ) blank* [ "=" blank* value ] blank* [ "#" … ] line end
    value = 'single quoted' | "double quoted" (both may span lines) | bare text, cut at white space + "#", right-trimmed

A line that does not fit is an *error*: python-dotenv skips it with one warning, and so do we, with ``error`` set.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping

from canon_ops.lean import dataclass, replace
from canon_ops.settings.problems import UnreadableDotenv

__all__ = ["DotenvEntry", "DotenvLine", "decode_dotenv", "lay_over", "read_dotenv", "read_lines"]

# Names follow the grammar above. `\s` is Unicode white space on purpose: python-dotenv's is.
_LEADING = re.compile(r"\s*")
_EXPORT = re.compile(r"export[^\S\r\n]+")
_BLANK = re.compile(r"[^\S\r\n]*")
_KEY_QUOTED = re.compile(r"'([^']+)'")
_KEY_BARE = re.compile(r"([^=#\s]+)")
_EQUALS = re.compile(r"=[^\S\r\n]*")
_SINGLE = re.compile(r"'((?:\\'|[^'])*)'")
_DOUBLE = re.compile(r'"((?:\\"|[^"])*)"')
_BARE = re.compile(r"([^\r\n]*)")
_TAIL = re.compile(r"(?:[^\S\r\n]*#[^\r\n]*)?[^\S\r\n]*(?:\r\n|\n|\r|$)")
_REST = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)?")
_NEWLINE = re.compile(r"\r\n|\n|\r")
# Tried only where a row of blanks begins: python-dotenv tries at each blank of it, which takes time by its square.
_INLINE_COMMENT = re.compile(r"(?<!\s)\s+#.*")
_DOUBLE_ESCAPE = re.compile(r"\\[\\'\"abfnrtv]")
_SINGLE_ESCAPE = re.compile(r"\\[\\']")
_NAME_END = re.compile(r"[}:]")

# Hermes keeps only ASCII in variables of these endings, since they become header values (hermes_cli.env_loader).
_CREDENTIAL_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_KEY")
_TRUE = frozenset({"1", "true", "t", "yes", "y"})


@dataclass(frozen=True, slots=True)
class DotenvLine:
    """One statement of the file: an assignment, a comment or blank line, or text that does not fit the grammar.

    Args:
        name: None for comments, blanks and errors.
        value: as written, escapes resolved, ``${…}`` not yet; None for a name without ``=``.
        line: 1-based line of the statement's first visible character.
        start: index of the statement in the decoded text; ``text[start:end]`` is the statement with its line end and
            the blank lines before it.
        error: True when the gateway skips it with a warning.
    """

    name: str | None
    value: str | None
    line: int
    start: int
    end: int
    export: bool = False
    error: bool = False


@dataclass(frozen=True, slots=True)
class DotenvEntry:
    """One assignment of the file.

    Args:
        value: as written, escapes resolved, ``${…}`` not yet; None for a name without ``=``, which sets nothing.
        line: 1-based.
        export: written with the shell's ``export``.
        overridden_by: the line of the last assignment of the same name, which is the effective one; None for itself.
    """

    name: str
    value: str | None
    line: int
    export: bool = False
    overridden_by: int | None = None


def read_dotenv(data: bytes, *, file: str = ".env") -> tuple[DotenvEntry, ...]:
    """All assignments in the order of the file.

    Raises:
        UnreadableDotenv: UTF-32.
    """
    entries = [
        DotenvEntry(line.name, line.value, line.line, line.export)
        for line in read_lines(decode_dotenv(data, file=file))
        if line.name is not None
    ]
    last = {entry.name: entry.line for entry in entries}
    winners = {entry.name: index for index, entry in enumerate(entries)}
    return tuple(
        entry if winners[entry.name] == index else replace(entry, overridden_by=last[entry.name])
        for index, entry in enumerate(entries)
    )


def decode_dotenv(data: bytes, *, file: str = ".env") -> str:
    """The text that the gateway parses: UTF-16 where a mark says so, else UTF-8, else Latin-1; NULs are dropped.

    Raises:
        UnreadableDotenv: UTF-32, which Hermes leaves alone and then misreads.
    """
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        raise UnreadableDotenv("UTF-32", file)
    try:
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            text = data.decode("utf-16")
        else:
            text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\x00", "")


def read_lines(text: str) -> tuple[DotenvLine, ...]:
    """Every statement of ``text``, comments and errors included; together they cover the whole text."""
    lines: list[DotenvLine] = []
    position, line = 0, 1
    while position < len(text):
        statement = _read_statement(text, position, line)
        lines.append(statement)
        line += len(_NEWLINE.findall(text, position, statement.end))
        position = statement.end
    return tuple(lines)


def lay_over(
    environ: Mapping[str, str], entries: Iterable[DotenvEntry]
) -> tuple[dict[str, str], dict[str, DotenvEntry]]:
    """The environment of a gateway that starts in ``environ`` with this file, and which entry set each name.

    ``${NAME}`` and ``${NAME:-default}`` are filled from the file's earlier entries, then from ``environ``. Entries
    without a value set nothing. Credentials lose their non-ASCII characters, from the file and from the process.
    """
    merged = dict(environ)
    set_by: dict[str, DotenvEntry] = {}
    if environ.get("PYTHON_DOTENV_DISABLED", "").casefold() not in _TRUE:
        own: dict[str, str | None] = {}
        for entry in entries:
            own[entry.name] = None if entry.value is None else _fill(entry.value, environ, own)
            set_by[entry.name] = entry
        set_by = {name: entry for name, entry in set_by.items() if own[name] is not None}
        merged.update({name: value for name, value in own.items() if value is not None})
    for name, value in merged.items():
        if name.endswith(_CREDENTIAL_ENDINGS) and not value.isascii():
            merged[name] = value.encode("ascii", "ignore").decode("ascii")
    return merged, set_by


def _fill(value: str, environ: Mapping[str, str], own: Mapping[str, str | None]) -> str:
    filled: list[str] = []
    copied = 0
    for start, end, name, default in _references(value):
        # A name that the file has without a value counts as found and empty: its default is not taken.
        filled += value[copied:start], (own[name] or "") if name in own else environ.get(name, default)
        copied = end
    return "".join((*filled, value[copied:]))


def _references(value: str) -> Iterator[tuple[int, int, str, str]]:
    """Each ``${NAME}`` and ``${NAME:-default}``: where it begins and ends, its name and its default.

    What python-dotenv's pattern ``[$][{]([^}:]*)(?::-([^}]*))?[}]`` finds, without trying each ``${`` to the end.
    """
    position, mark = 0, None
    while (start := value.find("${", position)) >= 0:
        if mark is None or mark.start() < start + 2:
            mark = _NAME_END.search(value, start + 2)
        if mark is None:
            return  # nothing ends a name any more
        stop, end, default = mark.start(), mark.end(), ""
        if value.startswith(":-", stop):
            closing = value.find("}", stop + 2)
            if closing < 0:
                return
            end, default = closing + 1, value[stop + 2 : closing]
        elif value[stop] == ":":
            position = start + 2
            continue
        yield start, end, value[start + 2 : stop], default
        position = end


class _Misfit(Exception):
    """The statement does not follow the grammar."""


def _read_statement(text: str, start: int, line: int) -> DotenvLine:
    begin = _end(_LEADING, text, start)
    line += len(_NEWLINE.findall(text, start, begin))
    if begin == len(text):
        return DotenvLine(None, None, line, start, begin)
    try:
        return _read_binding(text, start, begin, line)
    except _Misfit as misfit:
        return DotenvLine(None, None, line, start, _end(_REST, text, misfit.args[0]), error=True)


def _read_binding(text: str, start: int, begin: int, line: int) -> DotenvLine:
    position = begin
    exported = _EXPORT.match(text, position)
    if exported:
        position = exported.end()
    name: str | None = None
    if text[position : position + 1] != "#":
        key = _KEY_QUOTED if text[position : position + 1] == "'" else _KEY_BARE
        raw, position = _take(key, text, position)
        name = _translate(raw)
    position = _end(_BLANK, text, position)
    value: str | None = None
    if text[position : position + 1] == "=":
        position = _end(_EQUALS, text, position)
        value, position = _read_value(text, position)
    tail = _TAIL.match(text, position)
    if tail is None:
        raise _Misfit(position)
    return DotenvLine(name, value, line, start, tail.end(), export=exported is not None)


def _read_value(text: str, position: int) -> tuple[str, int]:
    match text[position : position + 1]:
        case "'":
            raw, position = _take(_SINGLE, text, position)
            return _unescape(_SINGLE_ESCAPE, raw), position
        case '"':
            raw, position = _take(_DOUBLE, text, position)
            return _unescape(_DOUBLE_ESCAPE, raw), position
        case "" | "\n" | "\r":
            return "", position
        case _:
            raw, position = _take(_BARE, text, position)
            return _INLINE_COMMENT.sub("", raw).rstrip(), position


def _unescape(escape: re.Pattern[str], raw: str) -> str:
    return escape.sub(lambda match: codecs.decode(match.group(), "unicode-escape"), _translate(raw))


def _translate(raw: str) -> str:
    """Line ends inside quotes as python-dotenv sees them: it opens the file as text, which makes them all ``\\n``."""
    return _NEWLINE.sub("\n", raw)


def _take(pattern: re.Pattern[str], text: str, position: int) -> tuple[str, int]:
    match = pattern.match(text, position)
    if match is None:
        raise _Misfit(position)
    return match.group(1), match.end()


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
