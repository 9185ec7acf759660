"""The one JSON document of ``--json``: the same outline for an answer, a refusal, a wrong call and a fault of ours.

``schema`` is ``canon-ops.`` + the command's words joined by dots + ``/`` + version. Codes never change their meaning;
within a schema version fields are only added. Source: command-line contract, section 4.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import PurePath

from canon_ops.cli.output import Problem
from canon_ops.errors import ExitCode
from canon_ops.lean import late_pattern
from canon_ops.unseen import TURNING

__all__ = ["Json", "document", "schema_name", "to_json"]

# JSON lets these stand; a terminal obeys some, and half a surrogate pair has no UTF-8. The rest JSON escapes itself.
_UNSEEN = late_pattern(rf"[\x7f-\x9f\u2028\u2029{TURNING}\ud800-\udfff]")

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def schema_name(words: Sequence[str], version: int = 1) -> str:
    """``canon-ops.config.get/1``; the program's own failures, before any command is known, are ``canon-ops/1``."""
    return ".".join(("canon-ops", *words)) + f"/{version}"


def to_json(value: object, redact: Callable[[str], str] = str) -> Json:
    """Reduce dataclasses, enums, paths, mappings and sequences to what JSON knows; texts pass ``redact``."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return to_json(value.value, redact)
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, PurePath):
        return redact(str(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name), redact) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {redact(str(key)): to_json(item, redact) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [to_json(item, redact) for item in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def document(
    *,
    schema: str,
    exit_code: ExitCode,
    hermes_profile: str | None,
    hermes_home: str | None,
    canon_profile: str | None = None,
    data: object = None,
    problems: Sequence[Problem] = (),
    redact: Callable[[str], str] = str,
    ascii_only: bool = False,
    one_line: bool = False,
) -> str:
    """One document with its final newline: two-space indent, or one line where documents follow each other."""
    envelope = {
        "schema": schema,
        "ok": exit_code is ExitCode.DONE,
        "exit_code": int(exit_code),
        "hermes_profile": hermes_profile,
        "hermes_home": hermes_home,
        "canon_profile": canon_profile,
        "data": {} if data is None else data,
        "errors": list(problems),
    }
    text = json.dumps(to_json(envelope, redact), indent=None if one_line else 2, ensure_ascii=ascii_only)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
