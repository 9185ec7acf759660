"""``canon-ops __complete KIND WORD…``: one candidate a line, with its sentence behind a tab.

The hidden side of the completion scripts. It is asked at a key press, so a warm answer imports next to nothing, and
nothing that goes wrong is said: a person in the middle of a word is not to be interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from canon_ops import __version__
from canon_ops.cli.completion.cache import Cache

__all__ = ["answer"]

# What decides, beside the command line, which home and which files are meant.
_VARIABLES = (
    "HOME",
    "HERMES_HOME",
    "HERMES_SUPERVISED_CHILD",
    "HERMES_S6_SUPERVISED_CHILD",
    "HERMES_GATEWAY_EXTERNAL_SUPERVISOR",
    "SUDO_USER",
    "CANON_HOME",
    "CANON_AGENTS_FILE",
    "CANON_AGENTS_PATH",
)
_TARGETS = {"-p": "profile", "--profile": "profile", "--hermes-home": "home"}


def answer(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """The candidates for a kind of value; empty for a kind that nobody knows, and whenever they cannot be had.

    Args:
        arguments: the kind, then the words of the command line so far.
    """
    if not arguments:
        return ""
    kind, words = arguments[0], arguments[1:]
    told = _told(words, environ)
    if kind == "hermes-profile":
        told["profile"] = ""  # the one that stands there already may be half a word
    question = "\x1f".join([kind, *told.values(), *(environ.get(name, "") for name in _VARIABLES)])
    if "\n" in question:
        return ""
    cache = Cache(environ, f"canon-ops {__version__}", question)
    lines = cache.read()
    if lines is None:
        lines = _fresh(kind, told, environ, cache)
    return "".join(f"{line}\n" for line in lines)


def _told(words: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The profile and the home that the line names, or the variables of those options."""
    found = {
        "profile": environ.get("CANON_OPS_PROFILE", ""),
        "home": environ.get("CANON_OPS_HERMES_HOME", ""),
    }
    words = [word for word in words if word != "="]  # bash parts --profile=work in three
    for word, following in zip(words, [*words[1:], ""], strict=False):
        name, sign, value = word.partition("=")
        if name in _TARGETS:
            found[_TARGETS[name]] = value if sign else following
    return found


def _fresh(kind: str, told: Mapping[str, str], environ: Mapping[str, str], cache: Cache) -> list[str]:
    from canon_ops.cli.completion.kinds import Kind
    from canon_ops.cli.completion.values import Looking, values_of
    from canon_ops.errors import CanonOpsError

    try:
        asked = Kind(kind)
        looking = Looking(environ, told["profile"], told["home"])
    except (ValueError, CanonOpsError, OSError):
        return []
    if not asked.is_asked:
        return []
    lines = [f"{value}\t{words}" for value, words in values_of(asked, looking)]
    cache.write(list(looking.seen.values()), lines)
    return lines
