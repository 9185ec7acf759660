"""Floor 0: data classes and patterns that cost next to nothing until they are used.

A short command spends most of its time on starting. The standard library writes and compiles source for each data
class when its module is imported (0.4 ms each, besides the parser of Python's source that it loads), and ``re.compile``
takes as long for a pattern; a command defines fifty of either and uses a few. Here the methods of a data class are
plain functions over its list of fields, and a pattern is compiled when it is first asked.

:func:`dataclass`, :func:`field` and :func:`replace` mean what they mean in :mod:`dataclasses`, as far as this project
uses that, and a type checker takes them for those. ``dataclasses.fields``, ``asdict``, ``replace`` and ``is_dataclass``
work on these classes; the two kinds do not inherit from each other. Making an instance takes twice as long: what is
made by the thousand stays with the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from reprlib import recursive_repr

from canon_ops.hints import TYPE_CHECKING, Any, cast

__all__ = ["dataclass", "field", "field_names", "late_pattern", "patterns_put_off", "replace"]


_compile = re.compile


class _Pattern:
    """Stands for a compiled pattern; each attribute is taken from that one when it is first asked for."""

    def __init__(self, text: str, flags: int) -> None:
        self.__dict__.update(_text=text, _flags=flags)

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(
            re.compile(self._text, self._flags), name
        )  # re remembers what it compiled
        return value


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """``re.compile``, put off until the pattern is used; a mistake in it raises ``re.error`` only then."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


@contextmanager
def patterns_put_off() -> Iterator[None]:
    """Put off what ``re.compile`` compiles while the block imports somebody else's module.

    PyYAML compiles, for a loader that is not used where its C loader is there, a pattern that takes 4 ms. For a program
    with one thread only: who calls ``re.compile`` meanwhile gets a stand-in too.
    """
    compile_now = re.compile

    def put_off(text: Any, flags: int = 0) -> Any:
        return _Pattern(text, flags) if isinstance(text, str) else compile_now(text, flags)

    re.compile = cast("Any", put_off)
    try:
        yield
    finally:
        re.compile = compile_now


class _Missing:
    """No default."""


class _Field:
    """What is known of one field."""

    __slots__ = ("compare", "default", "factory", "init", "kind", "name", "repr")

    def __init__(self, default: Any, factory: Any, init: bool, repr: bool, compare: bool) -> None:
        self.default, self.factory, self.init, self.repr, self.compare = default, factory, init, repr, compare
        self.name, self.kind = "", None


def _field(
    *,
    default: Any = _Missing,
    default_factory: Any = _Missing,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
) -> Any:
    return _Field(default, default_factory, init, repr, compare)


def _dataclass(
    cls: Any = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True, kw_only: bool = False
) -> Any:
    def make(cls: Any) -> Any:
        return _made(cls, frozen=frozen, slots=slots, eq=eq, kw_only=kw_only)

    return make if cls is None else make(cls)


def _replace(instance: Any, /, **changes: Any) -> Any:
    fields = getattr(instance, "__lean_fields__", None)
    if fields is None or "__dataclass_params__" in type(instance).__dict__:
        import dataclasses

        return dataclasses.replace(instance, **changes)
    for one in fields:
        if one.init:
            changes.setdefault(one.name, getattr(instance, one.name))
    return type(instance)(**changes)


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    dataclass, field, replace = _dataclass, _field, _replace


def field_names(cls: Any) -> tuple[str, ...]:
    """The names of the fields of a class of this module, without what ``dataclasses.fields`` knows besides."""
    return tuple(one.name for one in cls.__lean_fields__)


def _made(cls: Any, *, frozen: bool, slots: bool, eq: bool, kw_only: bool) -> Any:
    """The class anew, with its fields, their slots, and the methods that it does not define itself."""
    inherited = {one.name: one for base in reversed(cls.__mro__[1:]) for one in vars(base).get("__lean_fields__", ())}
    if any("__dataclass_params__" in vars(base) for base in cls.__mro__):
        raise TypeError(f"{cls.__name__} cannot inherit from a data class of the library")
    own = _own_fields(cls)
    fields = (inherited | {one.name: one for one in own}).values()
    body = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    for one in own:
        body.pop(one.name, None)
        if not slots and one.default is not _Missing:
            body[one.name] = one.default
    if slots:
        body["__slots__"] = tuple(one.name for one in own if one.name not in inherited)
    body |= {"__lean_fields__": tuple(fields), "__dataclass_fields__": _LibraryFields()}
    body.setdefault("__init__", _initialiser(cls.__name__, tuple(fields), kw_only, hasattr(cls, "__post_init__")))
    body.setdefault("__match_args__", () if kw_only else tuple(one.name for one in fields if one.init))
    body.setdefault("__repr__", _representation(tuple(one.name for one in fields if one.repr)))
    if eq:
        _add_comparison(body, tuple(one.name for one in fields if one.compare), frozen)
    if frozen:
        body |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        if slots:
            body |= {"__getstate__": _state, "__setstate__": _restore}
    return type(cls)(cls.__name__, cls.__bases__, body)


def _own_fields(cls: Any) -> list[_Field]:
    found = []
    for name, kind in vars(cls).get("__annotations__", {}).items():
        if str(kind).startswith("ClassVar"):
            continue
        given = vars(cls).get(name, _Missing)
        one = given if isinstance(given, _Field) else _field(default=given)
        if isinstance(one.default, list | dict | set):
            raise ValueError(f"a mutable default of {cls.__name__}.{name}: give a default_factory")
        one.name, one.kind = name, kind
        found.append(one)
    return found


def _initialiser(cls_name: str, fields: tuple[_Field, ...], kw_only: bool, has_post: bool) -> Any:
    taken = tuple(one for one in fields if one.init)
    names = tuple(one.name for one in taken)
    positional = 0 if kw_only else len(names)
    put = object.__setattr__

    def __init__(self: Any, /, *args: Any, **given: Any) -> None:
        if len(args) > positional:
            raise TypeError(f"{cls_name}() takes {positional} positional arguments but {len(args)} were given")
        for name, value in zip(names, args, strict=False):
            put(self, name, value)
        if len(args) < len(names):
            for one in taken[len(args) :]:
                name = one.name
                if name in given:
                    value = given.pop(name)
                elif one.factory is not _Missing:
                    value = one.factory()
                elif one.default is not _Missing:
                    value = one.default
                else:
                    raise TypeError(f"{cls_name}() is missing the argument {name!r}")
                put(self, name, value)
        if given:
            raise TypeError(f"{cls_name}() got an argument too many: {', '.join(given)}")
        for one in fields if len(names) < len(fields) else ():
            if not one.init and (one.factory is not _Missing or one.default is not _Missing):
                put(self, one.name, one.default if one.factory is _Missing else one.factory())
        if has_post:
            self.__post_init__()

    return __init__


def _representation(names: tuple[str, ...]) -> Any:
    @recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _add_comparison(body: dict[str, Any], names: tuple[str, ...], frozen: bool) -> None:
    values = _values_of(names)

    def __eq__(self: Any, other: object) -> bool:
        return bool(values(self) == values(other)) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    if "__eq__" not in body:
        body["__eq__"] = __eq__
    if "__hash__" not in body:
        body["__hash__"] = __hash__ if frozen else None


def _values_of(names: tuple[str, ...]) -> Any:
    """A function of an instance that gives the tuple of its values."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _refuse_to_set(self: Any, name: str, _value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in self.__lean_fields__]


def _restore(self: Any, state: list[Any]) -> None:
    for one, value in zip(self.__lean_fields__, state, strict=True):
        object.__setattr__(self, one.name, value)


class _LibraryFields:
    """``__dataclass_fields__`` as the library wants it, made when it is first asked for."""

    def __get__(self, _instance: object, owner: Any) -> dict[str, Any]:
        import dataclasses

        of_library: list[tuple[str, Any, Any]] = []
        for one in owner.__lean_fields__:
            given = {"default": one.default, "default_factory": one.factory}
            given = {name: value for name, value in given.items() if value is not _Missing}
            more = dataclasses.field(init=one.init, repr=one.repr, compare=one.compare, kw_only=True, **given)
            of_library.append((one.name, one.kind, more))
        made: Any = dataclasses.make_dataclass(owner.__name__, of_library)
        fields: dict[str, Any] = made.__dataclass_fields__
        for base in owner.__mro__:
            if vars(base).get("__dataclass_fields__") is self:
                type.__setattr__(base, "__dataclass_fields__", fields)
        return fields
