"""Answers of ``setup`` as a TOML file: read before the dialogue, written after it, never with a key.

The names are those of the options, with dashes or underscores (``owner-phone`` or ``owner_phone``). An option on the
command line beats the file.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

from canon_ops.errors import UsageError
from canon_ops.files.atomic import replace_file
from canon_ops.files.reading import read_required
from canon_ops.operate.borgee_answers import BorgeeAnswers
from canon_ops.operate.setup_answers import SetupAnswers, Way

__all__ = ["Answers", "BadAnswersFile", "load_answers", "save_answers"]

_AT = re.compile(r"at line (?P<line>\d+), column (?P<column>\d+)")  # how tomllib ends its messages
_OPTION_NAMES = {"wait_s": "wait"}  # a field that carries its unit is named after its option in the file
_NEVER = frozenset({"api_key", "start_over"})  # a key is secret; starting over is for one run only
_ONLY_YES_OR_NO = frozenset({"allow_insecure_loopback", "keep_key", "change_shared"})

Answers = SetupAnswers | BorgeeAnswers
_COMMANDS: dict[type[Answers], str] = {SetupAnswers: "setup canon", BorgeeAnswers: "setup borgee"}


class BadAnswersFile(UsageError):
    """The file is no TOML, or holds something that is not an answer."""

    code: ClassVar[str] = "answers_file"


def load_answers(file: Path, of: type[Answers] = SetupAnswers) -> dict[str, Any]:
    """The answers in ``file``, by field of the class that takes them.

    Raises:
        BadAnswersFile: with the line where it is no TOML, or the name that is no answer.
        NotAFile, BrokenLink, DiskError: it cannot be read.
    """
    try:
        document = tomllib.loads(read_required(file).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        found = _AT.search(str(exc))
        line, column = (int(found["line"]), int(found["column"])) if found else (None, None)
        raise BadAnswersFile(
            f"{file} is not TOML: {exc}.",
            fix=f"repair {file}{f':{line}' if line else ''}",
            file=str(file),
            line=line,
            column=column,
        ) from exc
    answers: dict[str, Any] = {}
    fields = _fields(of)
    for name, value in document.items():
        field = fields.get(name.replace("-", "_"))
        if field is None:
            known = ", ".join(known.replace("_", "-") for known in fields)
            raise BadAnswersFile(
                f"{file} answers {name!r}, which is never asked.", fix=f"known: {known}", file=str(file)
            )
        answers[field] = _value(field, name, value, file)
    return answers


def save_answers(file: Path, answers: Answers) -> None:
    """Write every answer that was given, private: a phone number is nobody else's business."""
    import tomlkit

    document = tomlkit.document()
    document.add(tomlkit.comment(f"Answers for: canon-ops {_COMMANDS[type(answers)]} --answers FILE"))
    for name, field in _fields(type(answers)).items():
        value = getattr(answers, field)
        if value is not None:
            document.add(name.replace("_", "-"), value.value if isinstance(value, Enum) else value)
    replace_file(file, tomlkit.dumps(document).encode())


def _fields(of: type[Answers]) -> dict[str, str]:
    """The names in the file, and the fields that they answer."""
    names = [field.name for field in dataclasses.fields(of) if field.name not in _NEVER]
    return {_OPTION_NAMES.get(name, name): name for name in names}


def _value(field: str, name: str, value: object, file: Path) -> Any:
    if field == "wait_s" and isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    if field == "way" and value in [way.value for way in Way]:
        return Way(value)
    if field in _ONLY_YES_OR_NO and isinstance(value, bool):
        return value
    if field not in {"wait_s", "way", *_ONLY_YES_OR_NO} and isinstance(value, str):
        return value
    raise BadAnswersFile(
        f"{file} has no usable answer for {name!r}: {value!r}.",
        fix=f"take the line out of {file}, or write the value as the option --{name.replace('_', '-')} takes it",
        file=str(file),
    )
