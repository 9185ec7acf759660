"""Floor 0: the names of :mod:`typing` that annotations use, without loading it.

Loading ``typing`` takes a twentieth of a short command, and such a command evaluates no annotation. A type checker
takes these names for the library's; a running program finds stand-ins that can be named, subscripted and inherited
from, and nothing else. A module that a plain ``config set`` loads takes them from here; who evaluates annotations
(``typing.get_type_hints``) hands in the library's own for each name of ``__all__``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, Final, Literal, NoReturn, Protocol, Self, TextIO, TypeVar, assert_never, cast
else:

    class _Hint:
        """Any name of an annotation."""

        def __class_getitem__(cls, _parameters: object) -> type[_Hint]:
            return cls

    Any = ClassVar = Final = Literal = NoReturn = Self = TextIO = _Hint

    class Protocol:
        """What a class has to offer; says nothing about it at run time."""

    def TypeVar(name: str, **_bounds: object) -> object:
        return name

    def cast(_kind: object, value: object) -> object:
        return value

    def assert_never(value: object) -> None:
        raise AssertionError(f"this was not expected: {value!r}")


__all__ = [
    "TYPE_CHECKING",
    "Any",
    "ClassVar",
    "Final",
    "Literal",
    "NoReturn",
    "Protocol",
    "Self",
    "TextIO",
    "TypeVar",
    "assert_never",
    "cast",
]
