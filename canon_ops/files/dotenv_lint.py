"""What is odd in a ``.env``, line by line, and what may be put right without asking.

The gateway skips a line that it does not understand with one warning in a log, and the readers of the file disagree
about some that it does. Each finding says what happens and what to write instead.
"""

from __future__ import annotations

import re

from canon_ops.errors import CanonOpsError
from canon_ops.files.dotenv_editor import MARK, DotenvDocument
from canon_ops.files.dotenv_readers import Reader, hermes_values, shell_value
from canon_ops.lean import dataclass
from canon_ops.settings.dotenv import DotenvLine, lay_over, read_lines
from canon_ops.settings.encodings import as_utf8

__all__ = ["EnvProblem", "fix_dotenv", "lint_dotenv"]

_COLON = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*:\s*(.*)")
_NAMES = {Reader.HERMES: "the hermes command", Reader.SHELL: "a shell"}


@dataclass(frozen=True, slots=True)
class EnvProblem:
    """One finding.

    Attributes:
        code: stable: ``env_not_assignment``, ``env_duplicate``, ``env_readers``, ``env_mark``, ``env_not_utf8``,
            ``env_not_ascii``, ``env_line_ends``.
        name: the variable, when the line is about one.
        message: one sentence; it never holds a value.
        fix: what to do; None when nothing can be advised.
        automatic: ``fix_dotenv`` puts it right.
    """

    code: str
    line: int
    name: str | None
    message: str
    fix: str | None
    automatic: bool = False


def lint_dotenv(data: bytes, *, file: str = ".env") -> tuple[EnvProblem, ...]:
    """Every finding, in the order of the lines.

    Raises:
        UnreadableEnv: UTF-16, UTF-32 or a NUL byte: there are no lines to speak of.
    """
    document = DotenvDocument.parse(data, file)
    found = [*_about_the_file(document, data), *_about_lines(document), *_about_names(document)]
    return tuple(sorted(found, key=lambda problem: (problem.line, problem.code)))


def fix_dotenv(document: DotenvDocument) -> DotenvDocument:
    """Put right what is ``automatic``: mark and CRs go, earlier duplicates go, values read in two ways are quoted anew.

    The values that the gateway reads stay what they are; only the first name, when a mark hid it, gets its own.
    """
    document = document.without_mark()
    wanted = lay_over({}, document.entries)[0]
    for problem in lint_dotenv(document.data, file=document.file):
        if not problem.automatic:
            continue
        fixed = document
        if problem.code == "env_line_ends":
            fixed = document.with_plain_line_ends()
        elif problem.name is None:
            continue
        elif problem.code == "env_duplicate":
            fixed = document.without_duplicates(problem.name)
        elif (value := document.get(problem.name)) is not None:
            fixed = document.set(problem.name, value)
        if lay_over({}, fixed.entries)[0] == wanted:  # else a reference between the copies needs the earlier one
            document = fixed
    return document


def _about_the_file(document: DotenvDocument, data: bytes) -> list[EnvProblem]:
    found = []
    if document.text.startswith(MARK):
        found.append(
            EnvProblem(
                "env_mark",
                1,
                None,
                "the file begins with a byte-order mark, which the gateway takes for a part of the first name",
                "canon-ops env lint --fix",
                automatic=True,
            )
        )
    if document.encoding != "utf-8":
        line = next(number for number, text in enumerate(data.split(b"\n"), 1) if not _is_utf8(text))
        found.append(
            EnvProblem(
                "env_not_utf8",
                line,
                None,
                "the file is not UTF-8: the gateway reads it as Latin-1, the hermes command replaces such characters",
                as_utf8(data, document.file),
            )
        )
    if b"\r\n" in data:
        line = data[: data.index(b"\r\n")].count(b"\n") + 1
        found.append(
            EnvProblem(
                "env_line_ends",
                line,
                None,
                "lines end in CR and LF: a shell takes the CR for a part of the value",
                "canon-ops env lint --fix",
                automatic=True,
            )
        )
    return found


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _about_lines(document: DotenvDocument) -> list[EnvProblem]:
    found = []
    for statement in read_lines(document.text):
        text = document.text[statement.start : statement.end].strip("\r\n")
        if statement.error:
            found.append(_no_assignment(statement, text.strip()))
        elif statement.name is not None and statement.value is None:
            message = "a name without = sets nothing, and undoes an earlier assignment"
            fix = "write NAME=VALUE, or put # before it"
            found.append(EnvProblem("env_not_assignment", statement.line, statement.name, message, fix))
    return found


def _no_assignment(statement: DotenvLine, text: str) -> EnvProblem:
    colon = _COLON.fullmatch(text.split("\n")[0])
    if colon:
        message, fix = "this is no assignment and sets nothing", f"write {colon[1]}=VALUE instead of {colon[1]}: VALUE"
        return EnvProblem("env_not_assignment", statement.line, colon[1], message, fix)
    name = re.match(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=", text)
    open_quote = name is not None and text[name.end() :].lstrip()[:1] in ("'", '"')
    message = "a quote is opened and not closed" if open_quote else "this is no assignment"
    return EnvProblem(
        "env_not_assignment",
        statement.line,
        name[1] if name else None,
        f"{message}; the gateway skips the line",
        "close the quote" if open_quote else "write NAME=VALUE, or put # before it",
    )


def _about_names(document: DotenvDocument) -> list[EnvProblem]:
    found = []
    values = lay_over({}, document.entries)[0]
    hermes = hermes_values(document.text)
    for entry in document.entries:
        if entry.overridden_by is not None:
            message = f"{entry.name} is set again in line {entry.overridden_by}, and that one counts"
            found.append(EnvProblem("env_duplicate", entry.line, entry.name, message, "canon-ops env lint --fix", True))
            continue
        value = values.get(entry.name)
        if entry.name.startswith(MARK):
            continue  # env_mark says it
        if entry.value is None or value is None:
            continue
        if "${" in entry.value:  # quoting anew would replace the reference by what it means today
            message = f"{entry.name} holds a reference ${{…}}, which the hermes command does not fill in"
            found.append(EnvProblem("env_readers", entry.line, entry.name, message, "write the value out in its place"))
            continue
        if value != entry.value:
            message = f"{entry.name} holds characters beyond ASCII, which the gateway drops from credentials"
            found.append(EnvProblem("env_not_ascii", entry.line, entry.name, message, "set it again, without them"))
            continue
        differing = [reader for reader, read in _others(document, entry.name, hermes).items() if read != value]
        if differing:
            *others, last = (_NAMES[reader] for reader in differing)
            who = ", ".join(["the gateway", *others])
            message = f"{who} and {last} read different values for {entry.name}"
            automatic = _can_be_quoted(document, entry.name, value)
            fix = "canon-ops env lint --fix" if automatic else "choose a value without quotes, backslashes, # and $"
            found.append(EnvProblem("env_readers", entry.line, entry.name, message, fix, automatic))
    return found


def _others(document: DotenvDocument, name: str, hermes: dict[str, str]) -> dict[Reader, str | None]:
    before, written = document.written(name)
    whole = before.strip() in (name, f"export {name}") and not before.endswith((" ", "\t"))
    return {Reader.HERMES: hermes.get(name), Reader.SHELL: shell_value(written) if whole else None}


def _can_be_quoted(document: DotenvDocument, name: str, value: str) -> bool:
    try:
        return document.set(name, value).get(name) == value
    except CanonOpsError:
        return False
