"""Reading the arguments of a tool strictly: what is not known, not text or too long is an error with its name. Pure.

Canon counts text in bytes of UTF-8, so that is what is counted here: a text that the model was allowed to write must
not come back as a refusal of the server.

Source: canon-adapter R11.32, R1.19; D52.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["BYTES", "ID_CHARACTERS", "MEMBERS", "NAME_CHARACTERS", "Arguments", "whole_characters"]

ID_CHARACTERS: Final = 160
NAME_CHARACTERS: Final = 100
MEMBERS: Final = 49  # a room holds fifty with its creator
BYTES: Final = 4_096


class Arguments:
    """The arguments of one action; every reader raises ValueError with a sentence for the model."""

    def __init__(self, action: str, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
        if unknown := sorted(given.keys() - {"action", *known}):
            raise ValueError(f"{action} does not take {', '.join(unknown)}")
        self.action = action
        self._given = given

    def id(self, name: str) -> str:
        """A required id: text of 1 to 160 characters."""
        value = self._text(name)
        if len(value) > ID_CHARACTERS:
            raise ValueError(f"{name} has {len(value)} characters, at most {ID_CHARACTERS} are allowed")
        whole_characters(name, value)
        return value

    def optional_id(self, name: str) -> str | None:
        """The same, if it is given."""
        return None if self._given.get(name) is None else self.id(name)

    def name(self, name: str) -> str:
        """A required name of 1 to 100 characters."""
        value = self._text(name)
        if len(value) > NAME_CHARACTERS:
            raise ValueError(f"{name} has {len(value)} characters, at most {NAME_CHARACTERS} are allowed")
        whole_characters(name, value)
        return value

    def text(self, name: str = "text") -> str:
        """A required message text, at most 4,096 bytes of UTF-8."""
        return _fits(name, self._text(name))

    def optional_text(self, name: str = "text") -> str | None:
        """The same, if it is given; it may be empty."""
        value = self._given.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a text")
        return _fits(name, value)

    def ids(self, name: str) -> list[str]:
        """A list of 1 to 49 ids, each once, in their order."""
        value = self._given.get(name)
        if not isinstance(value, list) or not value:
            raise ValueError(f"{name} must be a list of ids and must not be empty")
        if not all(isinstance(one, str) and one.strip() and len(one) <= ID_CHARACTERS for one in value):
            raise ValueError(f"{name} must hold ids of 1 to {ID_CHARACTERS} characters")
        for one in value:
            whole_characters(name, one)
        unique = list(dict.fromkeys(value))
        if len(unique) > MEMBERS:
            raise ValueError(f"{name} names {len(unique)} members, at most {MEMBERS} are allowed")
        return unique

    def one_of(self, name: str, *words: str) -> str:
        """A required word out of a few."""
        value = self._given.get(name)
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"{name} must be one of: {', '.join(words)}")
        return value

    def optional(self, name: str) -> Any:
        """Whatever was given."""
        return self._given.get(name)

    def _text(self, name: str) -> str:
        value = self._given.get(name)
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"{self.action} needs {name}, a text that is not blank")
        return value


def whole_characters(name: str, value: str) -> bytes:
    """The text in UTF-8.

    Raises:
        ValueError: it has none.
    """
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{name} holds half of a character pair, which Canon cannot take") from None


def _fits(name: str, value: str) -> str:
    count = len(whole_characters(name, value))
    if count > BYTES:
        raise ValueError(f"{name} has {count} bytes of UTF-8, at most {BYTES} are allowed")
    return value
