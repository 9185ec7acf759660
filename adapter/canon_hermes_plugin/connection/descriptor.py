"""What this runtime offers in Canon's apps: its commands, as Canon describes them. Pure.

Every name that the host's own registry uses, shown or not, is taken before anything else gets one, because the host
would run its own command under it. Then quick commands, plugins, bundles and skills follow in the order in which the
host looks them up, so that what is advertised under a name is what typing it does.

Source: canon-adapter section 14; Canon wire 8.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from canon_ops.wire.fields import JsonObject

__all__ = ["COMMANDS", "Dynamic", "Native", "describe"]

COMMANDS, ALIASES, LABEL, DESCRIPTION, NAME = 256, 8, 160, 1_024, 120  # Canon wire 8.4; an id has 128
NOT_OFFERED: Final = frozenset({"start", "topic", "curator"})  # R14.3: of no use in Canon
_CATEGORIES: Final = {"Session": "session", "Configuration": "runtime", "Info": "details"}
_ALIAS: Final = re.compile(r"[A-Za-z0-9:_-]+")  # what a server keeps; a command without any alias is dropped there

STOP: Final = "stop-and-clear-queue"
STOP_ALIASES: Final = ("stop-clear", "clear-queue")


@dataclass(frozen=True, slots=True)
class Native:
    """A command of the host's own registry.

    Attributes:
        hint: what stands behind the name; empty for none.
        is_available: a gateway takes it under the present configuration.
        runs_while_busy: it does something while a turn runs, other than refusing.
    """

    name: str
    description: str
    category: str
    aliases: tuple[str, ...]
    hint: str
    is_available: bool
    runs_while_busy: bool


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A command that an operator, a plugin or a skill brings along."""

    name: str
    description: str
    hint: str


def describe(natives: Sequence[Native], dynamics: Iterable[Dynamic]) -> JsonObject:
    """The runtime descriptor.

    Args:
        natives: the whole registry, in its order, with what is not available too.
        dynamics: the others, in the order of their precedence.
    """
    claimed = {_same(name) for native in natives for name in (native.name, *native.aliases)}
    offered = [native for native in natives if native.is_available and native.name not in NOT_OFFERED]
    commands = [_native(native) for native in offered]
    for dynamic in dynamics:
        name = dynamic.name.removeprefix("/")
        if not _ALIAS.fullmatch(name) or len(name) > NAME or _same(name) in claimed:
            continue
        claimed.add(_same(name))
        commands.append(_command(name, dynamic.description, (), dynamic.hint, category="custom", is_always=False))
    return {
        "coreControls": [],
        "runtimeControls": [],
        "commands": [_stop(claimed), *commands[: COMMANDS - 1]],
        "supportsInterrupt": True,
        "supportsInputInterrupt": True,
        "streamingTextMode": "delta",
    }


def _stop(claimed: set[str]) -> dict[str, Any]:
    """The first command: it keeps its place whatever else there is. Source: R14.2."""
    free = [alias for alias in STOP_ALIASES if alias not in claimed]
    return {
        "id": STOP,
        "label": "Stop and clear queue",
        "description": "Stop the running turn and drop the messages that wait behind it.",
        "aliases": free or [STOP],
        "category": "turn",
        "placements": ["composer_slash", "command_palette", "session_strip"],
        "availability": ["busy_with_queue"],
        "ownerOnly": True,
        "dispatch": {"kind": "signal", "signal": "stop_and_drop"},
    }


def _native(native: Native) -> dict[str, Any]:
    category = _CATEGORIES.get(native.category, "custom")
    return _command(
        native.name,
        native.description,
        native.aliases,
        native.hint,
        category=category,
        is_always=native.runs_while_busy,
    )


def _command(
    name: str, description: str, aliases: tuple[str, ...], hint: str, *, category: str, is_always: bool
) -> dict[str, Any]:
    shown = " ".join(hint.split())
    argument = {
        "id": "arguments",
        "label": shown[:LABEL],
        "kind": "string",
        "required": shown.startswith("<"),
        "captureRemaining": True,
    }
    return {
        "id": f"hermes-{name}",
        "label": f"/{name}"[:LABEL],
        "description": (" ".join(description.split()) or f"Run /{name}")[:DESCRIPTION],
        "aliases": list(dict.fromkeys((name, *aliases)))[:ALIASES],
        "category": category,
        "placements": ["composer_slash", "command_palette"],
        "availability": ["always" if is_always else "idle"],
        "ownerOnly": False,
        **({"args": [argument]} if shown else {}),
        "dispatch": {"kind": "text_passthrough", "template": f"/{name}"},
    }


def _same(name: str) -> str:
    """Names that the host does not tell apart. Source: R14.4."""
    return name.replace("_", "-").lower()
