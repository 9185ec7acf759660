"""The tables that the program works with, as rows of a page: checks, known keys, preferences."""

from __future__ import annotations

from canon_ops.cli.checks import NAMEABLE_CHECKS
from canon_ops.cli.manual.row import Row
from canon_ops.hermes.keys import KNOWN_KEYS, KeyFile, KnownKey
from canon_ops.operate.preferences import PREFERENCES

__all__ = ["checks", "config_keys", "preferences", "variables"]


def checks() -> tuple[Row, ...]:
    """Every check with its question."""
    return tuple(
        Row(check.id, f"{check.question}{' (asks the network)' if check.network else ''}") for check in NAMEABLE_CHECKS
    )


def config_keys() -> tuple[Row, ...]:
    """The keys of config.yaml that matter to a platform."""
    return tuple(Row(key.name, _told(key)) for key in KNOWN_KEYS if key.file is KeyFile.CONFIG)


def variables() -> tuple[Row, ...]:
    """The variables of .env that matter to a platform."""
    return tuple(Row(key.name, _told(key)) for key in KNOWN_KEYS if key.file is KeyFile.DOTENV)


def preferences() -> tuple[Row, ...]:
    """This tool's own settings."""
    return tuple(
        Row(each.name, f"{_sentence(each.help)} Default: {_shown(each.default)}. Variable: {each.variable}.")
        for each in PREFERENCES
    )


def _told(key: KnownKey) -> str:
    parts = [_sentence(key.help), f"{key.platform.capitalize()}; {key.type.value}."]
    if key.allowed:
        parts.append(f"One of {', '.join(key.allowed)}.")
    if key.default is not None:
        parts.append(f"Default: {_shown(key.default)}.")
    if key.recommended is not None:
        parts.append(f"Recommended: {_shown(key.recommended)}.")
    if key.secret:
        parts.append("Secret.")
    if key.refused is not None:
        parts.append(f"Must not be set: {_sentence(key.refused)}")
    if key.aliases:
        parts.append(f"Also read: {', '.join(key.aliases)}.")
    return " ".join(parts)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
