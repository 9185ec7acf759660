"""Which messages the host would take for an answer of a person, and which change what is asked at all. Pure.

A host takes a few bare words, and its own commands with anything behind them. It may learn other words; what is not
known here is a message like any other, and no host takes a sentence for a yes.

Source: hermes-host 9.3, 9.6; canon-adapter R5.4, R9.10; docs/decisions/0039.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

__all__ = ["APPROVAL_WORDS", "as_command", "confirms", "decides", "is_owners_alone", "typed_command"]

_RULES: Final = frozenset(
    {"always", "session"}
    | {f"approve {how}" for how in ("always", "session")}
    | {f"{how} approve" for how in ("always", "session")}
)
_YES: Final = frozenset({"approve", "yes", "ok", "okay", "confirm", "y", "👍"})
_NO: Final = frozenset({"deny", "no", "reject", "cancel", "n", "👎"})
APPROVAL_WORDS: Final = _YES | _NO | _RULES  # the host's own words, R5.4

_DECIDING: Final = frozenset({"approve", "deny"})
_CONFIRMING: Final = frozenset(
    {"approve", "yes", "ok", "confirm", "once", "approve once", "cancel", "no", "deny", "nevermind"}
)
_FOR_GOOD: Final = frozenset({"always", "always approve", "remember"})

# Commands that change what people are asked about, or answer for them, and the first words with which they only show.
_SWITCHES: Final[dict[str, frozenset[str]]] = {
    "approvals": frozenset({""}),
    "yolo": frozenset(),
    "memory": frozenset({"", "pending"}),
    "skills": frozenset({"", "pending", "diff"}),
}


ALIASES: Final = 4  # ours: so many short names may stand for one another


def typed_command(
    text: str, aliases: Mapping[str, str], *, name_of: Callable[[str], str | None]
) -> tuple[str | None, str]:
    """The host's command that a text is, by the host's own name, and what stands behind it.

    A name that the host does not know is looked up among the operator's short names, and stays what it is otherwise.

    Args:
        aliases: the short names, by what they stand for.
        name_of: the host's own name of a command of its registry.
    """
    arguments, typed = "", None
    for _ in range(ALIASES):
        if not text.startswith("/"):
            break
        first, *rest = text.split(maxsplit=1)
        typed, arguments = first[1:].lower().partition("@")[0], "".join(rest)
        if "/" in typed:  # a path
            return None, ""
        if (known := name_of(typed)) is not None:
            return known, arguments
        if typed not in aliases:
            break
        target = aliases[typed].strip()
        text = f"/{target.removeprefix('/')} {arguments}".strip()
    return typed, arguments


def decides(text: str, command: str | None) -> bool:
    """Whether the host would take a message as the decision about a command that waits.

    Args:
        command: the host's command that the text is, by its own name; None when it is none.
    """
    said = text.strip().lower()
    typed = said.split(maxsplit=1)[0].partition("@")[0] if said else ""
    return command in _DECIDING or said in APPROVAL_WORDS or typed in ("/approve", "/deny", "!approve", "!deny")


def as_command(word: str) -> str:
    """The host's command that decides as one of :data:`APPROVAL_WORDS` does."""
    said = word.strip().lower()
    how = next((how for how in ("always", "session") if how in said.split()), "")
    return "/deny" if said in _NO else f"/approve {how}".strip()


def confirms(text: str) -> bool | None:
    """Whether the host would take a message as the answer to a command that it wants confirmed.

    Returns:
        None: no; otherwise whether the answer is for good, so that nobody is asked any more.
    """
    said = text.strip().lower()
    bare = said.lstrip("/!").partition("@")[0].strip()
    if bare in _FOR_GOOD:
        return True
    return False if bare in _CONFIRMING or said.split(maxsplit=1)[:1] in (["/approve"], ["/cancel"]) else None


def is_owners_alone(command: str | None, arguments: str) -> bool:
    """Whether a command changes what people are asked about, or answers for the owner."""
    harmless = _SWITCHES.get(command or "")
    return harmless is not None and "".join(arguments.lower().split(maxsplit=1)[:1]) not in harmless
