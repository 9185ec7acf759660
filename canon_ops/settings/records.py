"""The shape that both local files share: one JSON object, a name to an object, written by several programs.

Whatever we do not know stays: unknown fields, foreign entries. Whatever we cannot read whole is an error and is never
overwritten. We also refuse a name that stands twice, because a rewrite would silently keep only one of them.

Source: Canon wire 3.6.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from canon_ops.settings.problems import DamagedFile

__all__ = ["Fields", "client_type_of", "format_time", "parse_records", "render_records", "text_field"]

Fields = Mapping[str, object]
"""The fields of one entry, as JSON gave them."""


def parse_records(data: bytes | None, *, what: str, file: str) -> dict[str, dict[str, object]]:
    """The entries of a file; none when it does not exist.

    Args:
        data: the file's bytes; None when there is no file.
        what: the file in words, for the error: ``Canon agent profiles``.

    Raises:
        DamagedFile: no JSON, no object, an entry that is no object, or a name that stands twice.
    """
    if data is None:
        return {}
    try:
        root = json.loads(data.decode("utf-8"), object_pairs_hook=_object, parse_float=_finite)
    except json.JSONDecodeError as exc:
        raise DamagedFile(what, file, f"{file} is no JSON", line=exc.lineno, column=exc.colno) from exc
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise DamagedFile(what, file, f"{file} is not UTF-8", line=line) from exc
    except (ValueError, RecursionError) as exc:  # our own refusal of doubles, absurd numbers, absurd nesting
        raise DamagedFile(what, file, f"{file}: {exc}") from exc
    if not isinstance(root, dict):
        raise DamagedFile(what, file, f"{file} holds a JSON {_kind(root)} instead of an object")
    for name, entry in root.items():
        if not isinstance(entry, dict):
            raise DamagedFile(what, file, f"the entry {name} of {file} is a JSON {_kind(entry)} instead of an object")
    return root


def render_records(entries: Mapping[str, Fields]) -> bytes:
    """The file's bytes: two spaces of indent, keys sorted, ASCII, one newline at the end."""
    return (json.dumps(entries, indent=2, sort_keys=True) + "\n").encode("ascii")


def text_field(fields: Fields, name: str) -> str | None:
    """The field's trimmed text; None when it is absent, empty or not text."""
    value = fields.get(name)
    return (value.strip() or None) if isinstance(value, str) else None


def client_type_of(fields: Fields) -> str | None:
    """The entry's client type; None when it says none. A value that is not text is still somebody else's."""
    value = fields.get("clientType")
    return None if value is None else (value.strip() if isinstance(value, str) else repr(value)) or None


def format_time(now_ms: int) -> str:
    """UTC to the second, as both files write it: ``2026-09-11T15:51:09Z``."""
    return datetime.fromtimestamp(now_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {name!r} stands twice in one object")
        found[name] = value
    return found


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):  # it would be written as a word that is no JSON
        raise ValueError(f"{text[:40]} is beyond every number")
    return number


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "text"
        case list():
            return "list"
        case dict():
            return "object"
        case _:
            return "number"
