"""Change a ``.env`` line by line, on bytes: what is not changed is copied, whatever its encoding.

The last assignment of a name is the one that counts, so it is the one that is edited; earlier ones are left to
``env lint --fix``. A value is written in a quoting that all three readers take alike (:mod:`dotenv_readers`), and the
result is read again before it is handed out: the name has the new value, every other name has its old one.

A byte-order mark stays where it is. For the gateway it belongs to the name on the first line, so that the assignment
there is another one than ``NAME``; ``env lint`` says so. An edit of that name gives the mark a line of its own, so that
the gateway reads the name that people see.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from canon_ops.errors import RefusedError, UsageError
from canon_ops.files.dotenv_readers import Reader, differing, hermes_values, quotings
from canon_ops.hints import ClassVar, Self
from canon_ops.lean import dataclass
from canon_ops.settings.dotenv import DotenvEntry, DotenvLine, lay_over, read_dotenv, read_lines
from canon_ops.settings.encodings import as_utf8, to_utf8, wide_encoding, without_nul

__all__ = [
    "ALL_READERS",
    "MARK",
    "NAME_RULE",
    "BadName",
    "DotenvDocument",
    "UnreadableEnv",
    "UnwritableValue",
    "comment_beside",
    "is_name",
]

ALL_READERS = frozenset(Reader)
MARK = "\ufeff"  # what some editors put before a UTF-8 text
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\u0085\u2028\u2029]")


NAME_RULE = "letters, digits and _, not beginning with a digit"


def is_name(text: str) -> bool:
    """Whether a variable of this name can be set here; python-dotenv reads others too."""
    return bool(_NAME.fullmatch(text))


class BadName(UsageError):
    """The name is none that a shell or Hermes accepts."""

    code: ClassVar[str] = "env_name"


class UnwritableValue(RefusedError):
    """No quoting carries the value to every reader."""

    code: ClassVar[str] = "env_value"


class UnreadableEnv(RefusedError):
    """The file is in an encoding that cannot be edited line by line."""

    code: ClassVar[str] = "env_encoding"


@dataclass(frozen=True, slots=True)
class _Line:
    """One assignment in the text: where its visible part starts, and where its line end is over."""

    start: int
    end: int
    statement: DotenvLine


class DotenvDocument:
    """One text of a ``.env`` and the edits that can be made to it; immutable. Build it with :meth:`parse`.

    Attributes:
        text: decoded so that encoding it again gives the very bytes.
        encoding: "utf-8" or, when it is not that, "latin-1".
    """

    def __init__(self, text: str, encoding: str, file: str) -> None:
        self.text = text
        self.encoding = encoding
        self.file = file

    @classmethod
    def parse(cls, data: bytes, file: str = ".env") -> Self:
        """Read a text.

        Raises:
            UnreadableEnv: UTF-16 or UTF-32, or a NUL byte in a text that is neither.
        """
        if (wide := wide_encoding(data)) is not None:
            raise UnreadableEnv(
                f"{file} is {wide}, which cannot be edited line by line", fix=to_utf8(wide, file), file=file
            )
        if (nul := data.find(b"\x00")) >= 0:
            line = data.count(b"\n", 0, nul) + 1
            raise UnreadableEnv(
                f"{file} holds a NUL byte in line {line}, which the gateway drops and other readers do not",
                fix=without_nul(file),
                file=file,
                line=line,
            )
        try:
            return cls(data.decode("utf-8"), "utf-8", file)
        except UnicodeDecodeError:  # the gateway falls back to Latin-1 for the whole file, and so bytes survive here
            return cls(data.decode("latin-1"), "latin-1", file)

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self.text.encode(self.encoding)

    @property
    def entries(self) -> tuple[DotenvEntry, ...]:
        """Every assignment as the gateway reads it, with its line and what overrides it."""
        return read_dotenv(self.data, file=self.file)

    def get(self, name: str) -> str | None:
        """The value that a gateway gets from this file alone; None when the file does not set it."""
        return self._values().get(name)

    def set(self, name: str, value: str, *, readers: Collection[Reader] = ALL_READERS) -> DotenvDocument:
        """Give ``name`` a value, on the line of its last assignment or on a new one at the end.

        Args:
            readers: who must read exactly ``value``.

        Raises:
            BadName: not a name.
            UnwritableValue: a line break in the value, or a reader that would take every quoting as something else.
        """
        if not _NAME.fullmatch(name):
            raise BadName(f"{name!r} is not a name for a variable", fix=NAME_RULE)
        if _CONTROL.search(value):
            raise UnwritableValue(
                f"the value for {name} holds a line break or a control character",
                fix="give a value of one line",
                file=self.file,
            )
        if not _is_text(value):
            raise UnwritableValue(
                f"the value for {name} holds bytes that are no UTF-8", fix="give it as UTF-8 text", file=self.file
            )
        last = self._last(name)
        if last is None and (apart := self._mark_apart())._last(name) is not None:
            return apart.set(name, value, readers=readers)
        before, old = self.written(name) if last else ("", "")
        clean = before in (name, f"export {name}")
        if clean and self.get(name) == value and not set(differing(name, value, old)) & set(readers):
            return self
        written = self._choose(name, value, old[:1] if old[:1] in ("'", '"') else "", frozenset(readers))
        edited = self._replaced(last, name, written) if last else self._appended(f"{name}={written}")
        self._prove(edited, name, value, Reader.HERMES in readers)
        return edited

    def remove(self, name: str) -> DotenvDocument:
        """Remove every assignment of ``name``, so that none of an earlier line comes back."""
        if self._last(name) is None:
            apart = self._mark_apart()
            return apart.remove(name) if apart._last(name) is not None else self
        document = self
        while (line := document._last(name)) is not None:
            text = document.text[: line.start] + document.text[line.end :]
            document = document._with(text)
        self._prove(document, name, None, hermes=False)
        return document

    def without_duplicates(self, name: str) -> DotenvDocument:
        """Remove every assignment of ``name`` but the last."""
        lines = self._lines(name)[:-1]
        text = self.text
        for line in reversed(lines):
            text = text[: line.start] + text[line.end :]
        return self._with(text) if lines else self

    def without_mark(self) -> DotenvDocument:
        """Remove the byte-order mark, so that the first line sets the name that people read there."""
        return self._with(self.text.removeprefix(MARK))

    def _mark_apart(self) -> DotenvDocument:
        """The same with the mark on a line of its own, where it belongs to no name."""
        return self._with(f"{MARK}{self._newline}{self.text[1:]}") if self.text.startswith(MARK) else self

    def with_plain_line_ends(self) -> DotenvDocument:
        """End every line in LF alone."""
        return self._with(self.text.replace("\r\n", "\n"))

    # -- lines ----------------------------------------------------------------------------------------------------

    def _lines(self, name: str) -> list[_Line]:
        found = []
        for statement in read_lines(self.text):
            if statement.name == name:
                whole = self.text[statement.start : statement.end]
                blank = len(whole) - len(whole.lstrip())
                start = self._line_start(statement.start + blank)
                found.append(_Line(start, statement.end, statement))
        return found

    def _line_start(self, index: int) -> int:
        return max(self.text.rfind("\n", 0, index), self.text.rfind("\r", 0, index)) + 1

    def _last(self, name: str) -> _Line | None:
        lines = self._lines(name)
        return lines[-1] if lines else None

    def written(self, name: str) -> tuple[str, str]:
        """The last assignment of ``name`` as it stands there: what is before ``=``, and what is after it."""
        line = self._lines(name)[-1]
        before, _, after = self.text[line.start : line.end].partition("=")
        return before.lstrip(), after.rstrip("\r\n")

    def _replaced(self, line: _Line, name: str, written: str) -> DotenvDocument:
        old = self.text[line.start : line.end]
        indent = old[: len(old) - len(old.lstrip())]
        end = old[len(old.rstrip("\r\n")) :]
        prefix = "export " if line.statement.export else ""
        comment = comment_beside(old)
        above = f"{indent}{comment}{end or self._newline}" if comment else ""  # Hermes takes a comment beside as value
        new = f"{above}{indent}{prefix}{name}={written}{end}"
        return self._with(self.text[: line.start] + new + self.text[line.end :])

    def _appended(self, line: str) -> DotenvDocument:
        glue = self._newline if self.text and not self.text.endswith(("\n", "\r")) else ""
        return self._with(f"{self.text}{glue}{line}{self._newline}")

    @property
    def _newline(self) -> str:
        match = re.search(r"\r\n|\n", self.text)
        return match[0] if match else "\n"

    def _with(self, text: str) -> DotenvDocument:
        return DotenvDocument(text, self.encoding, self.file)

    # -- values ---------------------------------------------------------------------------------------------------

    def _values(self) -> dict[str, str]:
        return lay_over({}, self.entries)[0]

    def _written(self) -> dict[str, str | None]:
        """The effective values as they are written: one that refers to another changes with it, and stays the same."""
        return {entry.name: entry.value for entry in self.entries}

    def _choose(self, name: str, value: str, like: str, readers: frozenset[Reader]) -> str:
        failing: tuple[Reader, ...] = ()
        for written in quotings(value, like=like):
            failing = tuple(reader for reader in differing(name, value, written) if reader in readers)
            if not failing:
                try:
                    written.encode(self.encoding if self.encoding == "utf-8" else "ascii")
                except UnicodeEncodeError:
                    break
                return written
        if not failing:
            raise UnwritableValue(
                f"{self.file} is not UTF-8, and the value for {name} has characters beyond ASCII",
                fix=as_utf8(self.data, self.file),
                file=self.file,
            )
        names = {Reader.DOTENV: "the gateway", Reader.HERMES: "the hermes command", Reader.SHELL: "a shell"}
        only_shell = failing == (Reader.SHELL,)
        raise UnwritableValue(
            f"{' and '.join(names[reader] for reader in failing)} would read something else than the value for {name}, "
            "however it is quoted",
            fix="--readers hermes,dotenv lets the shell read it otherwise"
            if only_shell
            else "choose a value without quotes, backslashes, # and $",
            file=self.file,
        )

    def _prove(self, edited: DotenvDocument, name: str, value: str | None, hermes: bool) -> None:
        """Read the result as a whole: a stray quote elsewhere may swallow the new line, or be closed by it."""
        before, after = self._written(), edited._written()
        before.pop(name, None)
        after.pop(name, None)
        held = edited._values().get(name) == value and before == after
        if held and hermes and value is not None:
            held = hermes_values(edited.text).get(name) == value
        if not held:
            broken = next((line.line for line in read_lines(self.text) if line.error), None)
            raise UnwritableValue(
                f"{self.file} would be read otherwise after the change of {name}"
                + (f"; line {broken} is no assignment and may have an open quote" if broken else ""),
                fix="canon-ops env lint",
                file=self.file,
                line=broken,
            )


_AFTER_VALUE = re.compile(
    r"""[^=]*=[ \t]*(?:'(?:\\'|[^'])*'|"(?:\\"|[^"])*"|[^\r\n]*?)[ \t]+(#[^\r\n]*)[\r\n]*"""
    r"""|[^=#]*[ \t](#[^\r\n]*)[\r\n]*"""
)


def comment_beside(line: str) -> str:
    """The comment beside an assignment, from its ``#``."""
    match = _AFTER_VALUE.fullmatch(line)
    return (match[1] or match[2]).rstrip() if match else ""


def _is_text(value: str) -> bool:
    """Whether it is text at all: an argument that is not UTF-8 arrives with stand-ins for its bytes."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
