"""Commands to paste for keys and variables: the right command for the file, words that a shell hands on, a real value.

What is advised holds: carried out as it stands it is not refused for the same reason. A secret is never part of
a command: it is asked for.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

from canon_ops.errors import CanonOpsError
from canon_ops.files.values import parse_value
from canon_ops.files.yaml_path import format_path, parse_path
from canon_ops.hermes.keys import KeyFile, KeyType, KnownKey, find_key
from canon_ops.settings.telling import secret_parts

__all__ = ["example", "set_words", "way_to_mend"]

_LONGEST = 120  # characters of a value in advice; a longer one is easier to put right in the file


def set_words(path: str, value: Any) -> str:
    """``config set`` of a value, after ``canon-ops``; without one that is secret or long, which is asked for then."""
    name = shlex.quote(path)
    if secret_parts(parse_path(path), value) or _is_secret(path):
        return f"config set {name}"
    text, kind = (value, "") if isinstance(value, str) else (json.dumps(value, ensure_ascii=False), "")
    if not _reads_as(text, value):
        kind = " --type str" if isinstance(value, str) else " --type json"
    if len(text) > _LONGEST or not text.isprintable():
        return f"config set {name}"
    dash = "-- " if text.startswith("-") else ""
    return f"config set{kind} {dash}{name} {shlex.quote(text)}"


def example(known: KnownKey) -> Any:
    """A value that the key can have: what is recommended, what counts anyway, or the first that there is."""
    for value in (known.recommended, known.default, *known.allowed[:1]):
        if value is not None and known.problem(_as_written(known, value)) is None:
            return _as_written(known, value)
    low = known.minimum if known.minimum is not None else 1
    plain: dict[KeyType, Any] = {
        KeyType.BOOL: True,
        KeyType.INT: int(low),
        KeyType.FLOAT: low,
        KeyType.LIST: [],
        KeyType.MAP: {},
        KeyType.STR: "TEXT",
    }
    return _as_written(known, plain[known.type])


def way_to_mend(known: KnownKey, value: Any) -> str:
    """The command, after ``canon-ops``, that puts a known key right which has, or was given, ``value``."""
    if known.refused is not None:
        return _instead_of_refused(known)
    if known.file is KeyFile.DOTENV:
        return f"env set {known.name}" if known.secret else f"env set {known.name} {shlex.quote(example(known))}"
    meant = value if known.problem(value) is None else _meant(known, value)
    if meant in ([], {}):  # whatever is there now would be lost
        return f"config add {known.name} ITEM" if known.type is KeyType.LIST else f"config get {known.name}"
    return set_words(known.name, meant)


def _instead_of_refused(known: KnownKey) -> str:
    """Where the value of a key belongs that must not be set: Borgee's key is a variable."""
    if known.platform == "borgee":
        return "env set BORGEE_API_KEY"
    return f"env unset {known.name}" if known.file is KeyFile.DOTENV else f"config unset {known.name}"


def _meant(known: KnownKey, value: Any) -> Any:
    """What the writer of a value of the wrong kind meant, where that can be told; an example where it cannot."""
    word = str(value).strip()
    guess: Any = None
    match known.type:
        case KeyType.BOOL if word.lower() in ("true", "false", "yes", "no", "on", "off"):
            guess = word.lower() in ("true", "yes", "on")
        case KeyType.LIST if isinstance(value, str):
            guess = [part.strip() for part in value.split(",") if part.strip()]
        case KeyType.STR if isinstance(value, bool) and not value and "off" in known.allowed:
            guess = "off"  # the bare word, as YAML 1.1 reads it
        case KeyType.STR if isinstance(value, bool | int | float) and not known.allowed:
            guess = json.dumps(value)
        case KeyType.INT | KeyType.FLOAT if isinstance(value, str):
            try:
                guess = parse_value(word, known.type.value)
            except CanonOpsError:
                guess = None
    return guess if guess is not None and known.problem(guess) is None else example(known)


def _as_written(known: KnownKey, value: Any) -> Any:
    """A value in the form of its file: text in ``.env``."""
    if known.file is KeyFile.CONFIG or isinstance(value, str):
        return value
    return ",".join(value) if isinstance(value, list) else json.dumps(value)


def _reads_as(text: str, value: Any) -> bool:
    try:
        read = parse_value(text)
    except CanonOpsError:
        return False
    return type(read) is type(value) and bool(read == value)


def _is_secret(path: str) -> bool:
    known = find_key(format_path(parse_path(path)), KeyFile.CONFIG)
    return known is not None and known.secret
