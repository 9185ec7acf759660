"""What a value of the command line can be completed with: one table from parameters to kinds.

A row names a parameter, and the words of the commands it stands for. A parameter without a row completes with its
choices or with files where click knows them, and with nothing otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

__all__ = ["ROWS", "Kind", "Row", "kind_of"]


class Kind(Enum):
    """Values that a script asks for (the machine decides) or holds itself (this version decides)."""

    HERMES_PROFILE = "hermes-profile"
    CANON_PROFILE = "canon-profile"
    AGENT_ID = "agent-id"
    REGISTRATION = "registration"
    CONFIG_KEY = "config-key"
    VARIABLE = "variable"
    HISTORY_ID = "history-id"

    CHECK = "check"
    AREA = "area"
    SCHEMA = "schema"
    COMMAND = "command"

    @property
    def is_asked(self) -> bool:
        """Whether the value depends on the machine; the others are written into the scripts."""
        return self not in (Kind.CHECK, Kind.AREA, Kind.SCHEMA, Kind.COMMAND)


class Row(NamedTuple):
    """One rule: below the command ``words`` (all commands, when empty) the parameter ``name`` is a ``kind``."""

    words: str
    name: str
    kind: Kind


# The first row that fits counts. `name` is the parameter's name in the function that carries the command out.
ROWS: tuple[Row, ...] = (
    Row("", "hermes_profile", Kind.HERMES_PROFILE),
    Row("", "canon_profile", Kind.CANON_PROFILE),
    Row("", "use_profile", Kind.CANON_PROFILE),
    Row("", "agent_id", Kind.AGENT_ID),
    Row("profile cancel", "name", Kind.REGISTRATION),
    Row("profile", "name", Kind.CANON_PROFILE),
    Row("profile", "names", Kind.CANON_PROFILE),
    Row("config", "key", Kind.CONFIG_KEY),
    Row("env", "name", Kind.VARIABLE),
    Row("history", "identity", Kind.HISTORY_ID),
    Row("history", "history_id", Kind.HISTORY_ID),
    Row("undo", "identity", Kind.HISTORY_ID),
    Row("undo", "history_id", Kind.HISTORY_ID),
    Row("doctor", "only", Kind.CHECK),
    Row("doctor", "skip", Kind.CHECK),
    Row("doctor", "area", Kind.AREA),
    Row("explain", "name", Kind.CHECK),
    Row("schema show", "name", Kind.SCHEMA),
    Row("man show", "words", Kind.COMMAND),
)


def kind_of(words: Sequence[str], name: str) -> Kind | None:
    """The kind of a parameter of the command ``words``, or None."""
    for row in ROWS:
        prefix = row.words.split()
        if row.name == name and list(words[: len(prefix)]) == prefix:
            return row.kind
    return None
