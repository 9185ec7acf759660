"""Looking up known keys, and telling which keys Hermes would drop without a word.

Hermes takes over a fixed set of names from ``platforms.<name>``; whatever else stands directly there is gone before
the platform sees it (Hermes host, 4.2). So does a display setting in a place that looks right and is read by no host.
:func:`dropped` knows both, and where the key belongs instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from canon_ops.hermes.key_table import KNOWN_KEYS, PLATFORM_FIELDS, PLATFORM_SHARED
from canon_ops.hermes.known_key import KeyFile, KeyType, KnownKey
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.lean import dataclass, late_pattern
from canon_ops.settings.telling import is_telling, secret_parts

__all__ = [
    "DENIED_VARIABLES",
    "KNOWN_KEYS",
    "Dropped",
    "KeyFile",
    "KeyType",
    "KnownKey",
    "dropped",
    "find_key",
    "is_public_name",
    "is_secret_name",
    "is_secret_variable",
    "may_be_shown",
    "near_key",
]

_BY_NAME = {(key.file, name): key for key in reversed(KNOWN_KEYS) for name in (*key.aliases, key.name)}
_READ_BY_BORGEE = frozenset(
    {"enabled", "base_url", "agent_id", "allow_insecure_loopback", "max_concurrent_dispatches", "drain_timeout_seconds"}
)
# How alike two names must be, as difflib measures it: twice the letters in common by the letters of both.
_NEAR = 0.85
_DISPLAY_INSTEAD = "display.platforms.{name}.{key}"

# A variable that calls itself a key is one; in config.yaml that may be a key of the keyboard.
_ITEM = late_pattern(r"(\[\d+\]|\.\d+)$")  # of a list
_ANY_KEY = late_pattern(r"(^|_)KEY(_[A-Z0-9]+)?$")
_PUBLIC = frozenset({"CANON_FIREBASE_API_KEY", "BORGEE_API_KEY_REF"})

# Hermes host 3.3: what Hermes itself refuses to write to .env, in the newest audited version.
DENIED_VARIABLES = frozenset((
    "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "LD_DEBUG", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH",
    "DYLD_FRAMEWORK_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "DYLD_FALLBACK_FRAMEWORK_PATH",
    "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONEXECUTABLE", "PYTHONNOUSERSITE",
    "NODE_OPTIONS", "NODE_PATH", "PATH", "SHELL", "BROWSER", "EDITOR", "VISUAL", "PAGER",
    "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "GIT_SHELL", "HERMES_HOME", "HERMES_PROFILE", "HERMES_CONFIG", "HERMES_ENV",
    "HERMES_CONFIG_PATH", "HERMES_ENV_PATH", "HERMES_OPTIONAL_MCPS", "HERMES_COPILOT_ACP_COMMAND",
    "HERMES_COPILOT_ACP_ARGS", "HERMES_YOLO_MODE", "HERMES_ACCEPT_HOOKS", "HERMES_REDACT_SECRETS",
    "HERMES_INTERACTIVE", "HERMES_EXEC_ASK", "HERMES_GATEWAY_SESSION", "HERMES_CRON_SESSION",
    "HERMES_SINGLE_QUERY_SESSION", "HERMES_SESSION_KEY", "HERMES_SESSION_PLATFORM",
    # the newest only: what other programs run at their start, or ask with
    "BASH_ENV", "ENV", "ZDOTDIR", "PROMPT_COMMAND", "SSH_ASKPASS", "SUDO_ASKPASS", "MANPAGER", "VIMINIT", "EXINIT",
    "GIT_ASKPASS", "GIT_DIR", "GIT_EDITOR", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR", "GIT_SSH", "GIT_TEMPLATE_DIR", "PYTHONBREAKPOINT", "PYTHONCASEOK", "PERL5LIB", "PERL5OPT",
    "PERLLIB", "RUBYLIB", "RUBYOPT", "GOFLAGS", "RUSTFLAGS", "CLASSPATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dropped:
    """A key that no audited Hermes hands on to the platform.

    Attributes:
        why: one sentence.
        instead: the path that is read; None when there is none.
    """

    path: str
    why: str
    instead: str | None


def find_key(name: str, file: KeyFile) -> KnownKey | None:
    """The row of a dotted path or variable, by any of its spellings; None for an unknown one, which is no fault."""
    return _BY_NAME.get((file, name))


def near_key(name: str, file: KeyFile) -> str | None:
    """The known key that ``name`` is probably a misspelling of; None for a known one, its items, and one unlike any."""
    if find_key(name, file) is not None or find_key(_ITEM.sub("", name), file) is not None:
        return None
    maybe = [known for where, known in _BY_NAME if where is file and _may_be_near(name, known)]
    if not maybe:
        return None
    from difflib import get_close_matches

    near = get_close_matches(name, maybe, n=1, cutoff=_NEAR)
    return near[0] if near else None


def _may_be_near(one: str, other: str) -> bool:
    """Whether the two can be alike enough at all: by their lengths, then by the letters that they share."""
    enough = _NEAR * (len(one) + len(other)) / 2
    if min(len(one), len(other)) < enough:
        return False
    return sum(min(one.count(letter), other.count(letter)) for letter in set(one)) >= enough


def is_secret_name(variable: str) -> bool:
    """Whether the value of an environment variable is secret: the table says so, or its name does."""
    known = find_key(variable, KeyFile.DOTENV)
    if known:
        return known.secret
    return variable not in _PUBLIC and (is_telling(variable) or bool(_ANY_KEY.search(variable.upper())))


def is_secret_variable(variable: str, value: str) -> bool:
    """Whether a variable's value must not be shown: by its name, or for a password that stands in a URL."""
    return is_secret_name(variable) or bool(secret_parts((), value))


def is_public_name(variable: str) -> bool:
    """Whether the value of a variable may stand in a list or a diff: of names that we know only."""
    return find_key(variable, KeyFile.DOTENV) is not None and not is_secret_name(variable)


def may_be_shown(variable: str, value: str) -> bool:
    """Whether anybody may read this value of a variable: the one rule of every command that shows one.

    A name that we do not know may hold a secret, whatever it is called (docs/decisions/0076-what-env-shows.md).
    """
    return is_public_name(variable) and not is_secret_variable(variable, value)


def dropped(path: Sequence[str | int]) -> Dropped | None:
    """Why a path of config.yaml reaches nobody, for a path below one of our platforms; None when it is read."""
    parts = [str(part) for part in path]
    dotted = ".".join(parts)
    if find_key(dotted, KeyFile.CONFIG) is not None:
        return None
    match parts:
        case ["gateway", "platforms", name, *below] | ["platforms", name, *below] if name in PLATFORMS and below:
            return _below_platform(dotted, name, below)
        case ["borgee", key, *_] if key not in _READ_BY_BORGEE | {"display"}:
            return Dropped(dotted, f"The Borgee plugin reads no {key} in its block.", None)
        case ["canon", key, *_] if key not in PLATFORM_SHARED and key != "enabled":  # the switch is read there, too
            instead = f"platforms.canon.extra.{key}"
            is_known = find_key(instead, KeyFile.CONFIG) is not None
            why = "The Canon plugin has no block of its own at the top of config.yaml."
            return Dropped(dotted, why, instead if is_known else None)
    return None


def _below_platform(dotted: str, name: str, below: list[str]) -> Dropped | None:
    key = below[0]
    if key == "display":
        setting = below[1] if len(below) > 1 else ""
        instead = _DISPLAY_INSTEAD.format(name=name, key=setting)
        is_known = find_key(instead, KeyFile.CONFIG) is not None
        why = f"No audited Hermes reads display settings below platforms.{name}."
        return Dropped(dotted, why, instead if is_known else None)
    if key in PLATFORM_FIELDS or key in PLATFORM_SHARED:
        return None
    instead = f"{name}.{key}" if PLATFORMS[name].has_block else f"platforms.{name}.extra.{key}"
    is_known = find_key(instead, KeyFile.CONFIG) is not None
    why = f"Hermes drops {key} here without a word: it stands directly below platforms.{name}."
    return Dropped(dotted, why, instead if is_known else None)
