"""The host's commands, as they are now: its registry, quick commands, plugins, bundles and skills.

Names, descriptions and hints are read, and nothing else of them: no handler, no path, no shell text. Reading looks at
files, so it is done away from the loop, and under the platform's own name, because skills can be switched off for one.

Source: canon-adapter R14.3-R14.7; hermes-host 9.3, 12.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from canon_hermes_plugin.connection.descriptor import Dynamic, Native
from canon_hermes_plugin.host import PLATFORM_NAME, CommandSources

__all__ = ["read_commands"]

ARGUMENTS: Final = "[arguments]"
INSTRUCTION: Final = "[instruction]"
QUICK_KINDS: Final = ("exec", "alias")


def read_commands(sources: CommandSources, quick: object) -> tuple[tuple[Native, ...], tuple[Dynamic, ...]]:
    """The registry, and everything else in the order in which the host looks it up.

    Args:
        quick: the quick commands of the host's configuration.
    """

    def here() -> tuple[tuple[Native, ...], tuple[Dynamic, ...]]:
        sources.enter_platform(PLATFORM_NAME)
        return tuple(_natives(sources)), tuple(chain(_quick(quick), _plugins(sources), _skilled(sources)))

    return contextvars.copy_context().run(here)  # the caller's session stays what it is (R14.7)


def _natives(sources: CommandSources) -> Iterator[Native]:
    gates = sources.config_gates()
    for one in sources.registry:
        hint = one.args_hint or (ARGUMENTS if one.subcommands else "")
        available = bool(sources.is_available(one, gates))
        busy = _runs_while_busy(sources, one)
        yield Native(one.name, one.description, one.category, tuple(one.aliases), hint, available, busy)


def _runs_while_busy(sources: CommandSources, command: Any) -> bool:
    """What a host says of each command, or which it names as a list."""
    policy = getattr(command, "busy_policy", None)
    return command.name in sources.busy if policy is None else policy != "reject"


def _quick(quick: object) -> Iterator[Dynamic]:
    commands = quick if isinstance(quick, Mapping) else {}
    for name in sorted(commands, key=str):
        command = commands[name]
        if isinstance(command, Mapping) and command.get("type") in QUICK_KINDS:
            said = command.get("description")
            yield Dynamic(str(name), said if isinstance(said, str) and said else f"Run /{name}", ARGUMENTS)


def _plugins(sources: CommandSources) -> Iterator[Dynamic]:
    for name, description, hint in sources.plugin_commands():
        yield Dynamic(name, description, hint or ARGUMENTS)


def _skilled(sources: CommandSources) -> Iterator[Dynamic]:
    disabled = sources.disabled_skills(platform=PLATFORM_NAME)
    yield from _described(sources.bundles, frozenset())
    yield from _described(sources.skills, frozenset(disabled))


def _described(read: Callable[[], Mapping[str, Any]], disabled: frozenset[str]) -> Iterator[Dynamic]:
    """Those of a mapping by their slash commands; ``disabled`` are names or slash commands without the slash."""
    for key, entry in sorted(dict(read()).items()):
        about = entry if isinstance(entry, Mapping) else {}
        if disabled & {key.removeprefix("/"), str(about.get("name") or "")}:
            continue
        yield Dynamic(key, str(about.get("description") or ""), INSTRUCTION)
