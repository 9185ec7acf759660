"""How the server keeps a runtime descriptor: what is malformed is dropped, never refused. Pure.

Source: Canon wire 8.4.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from canon_ops.sandbox.records import Json

__all__ = ["normalised"]

CATEGORIES: Final = ("plan", "turn", "session", "runtime", "details", "skill", "custom")
PLACEMENTS: Final = ("composer_slash", "command_palette", "session_strip")
AVAILABILITY: Final = ("idle", "busy", "busy_with_queue", "waiting_input", "always")
DISPATCH: Final = ("text_passthrough", "signal", "control", "primitive", "compose", "open_details")
ARGUMENTS: Final = ("string", "enum", "boolean")
STREAMING: Final = ("none", "status", "snapshot", "block", "delta")
COMMANDS, ALIASES, ARGS, ID, LABEL, DESCRIPTION = 256, 8, 12, 128, 160, 1024
_ALIAS = re.compile(r"[A-Za-z0-9:_-]+")


def normalised(descriptor: Any) -> Json:
    """The descriptor as a Canon app would see it."""
    if not isinstance(descriptor, dict):
        return {}
    flags = ("supportsInterrupt", "supportsInputInterrupt")
    lists = ("coreControls", "runtimeControls")
    kept: Json = {key: True for key in flags if descriptor.get(key) is True}
    kept |= {key: descriptor[key] for key in lists if isinstance(descriptor.get(key), list)}
    if descriptor.get("streamingTextMode") in STREAMING:
        kept["streamingTextMode"] = descriptor["streamingTextMode"]
    kept["commands"] = _commands(descriptor.get("commands"))
    return kept


def _commands(given: Any) -> list[Json]:
    """Well-formed commands in order; an id and an alias belong to whoever came first."""
    kept: list[Json] = []
    ids: set[str] = set()
    taken: set[str] = set()
    for item in (given if isinstance(given, list) else [])[:COMMANDS]:
        command = _command(item, taken)
        if command is None or command["id"] in ids:
            continue
        ids.add(command["id"])
        taken.update(alias.lower() for alias in command["aliases"])
        kept.append(command)
    return kept


def _command(item: Any, taken: set[str]) -> Json | None:
    if not isinstance(item, dict) or item.get("hidden") or item.get("sensitive"):
        return None
    if not (_text(item.get("id"), ID) and _text(item.get("label"), LABEL) and isinstance(item.get("ownerOnly"), bool)):
        return None
    if item.get("category") not in CATEGORIES or _words(item.get("placements"), PLACEMENTS) is None:
        return None
    if _words(item.get("availability"), AVAILABILITY) is None or not _is_dispatch(item.get("dispatch")):
        return None
    args = item.get("args", [])
    if not isinstance(args, list) or len(args) > ARGS or not all(map(_is_argument, args)):
        return None
    aliases = _aliases(item.get("aliases"), taken)
    if not aliases:
        return None
    keys = ("id", "label", "category", "placements", "availability", "ownerOnly", "args", "dispatch")
    command = {key: item[key] for key in keys if key in item} | {"aliases": aliases}
    if _text(item.get("description"), DESCRIPTION):
        command["description"] = item["description"]
    return command


def _text(value: Any, limit: int) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= limit


def _words(value: Any, known: Sequence[str]) -> list[str] | None:
    """The list when it holds only known words, and at least one."""
    return value if isinstance(value, list) and value and all(word in known for word in value) else None


def _aliases(value: Any, taken: set[str]) -> list[str]:
    texts = [item.lstrip("/") for item in (value if isinstance(value, list) else []) if isinstance(item, str)]
    fitting = [text for text in texts[:ALIASES] if _ALIAS.fullmatch(text) and text.lower() not in taken]
    return list({text.lower(): text for text in reversed(fitting)}.values())[::-1]


def _is_dispatch(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("kind") not in DISPATCH:
        return False
    needed = {"text_passthrough": "template", "signal": "signal"}.get(value["kind"])
    return needed is None or isinstance(value.get(needed), str)


def _is_argument(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("kind") not in ARGUMENTS:
        return False
    if value["kind"] == "enum" and not value.get("choices"):
        return False
    return _text(value.get("id"), ID) and _text(value.get("label"), LABEL)
