"""The data classes of :mod:`canon_ops.lean` beside those of the library: whatever works there works here alike."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from typing import Any, ClassVar

import pytest

from canon_ops import lean


def kinds(make: Any, field: Any) -> dict[str, Any]:
    """The same classes, made by one of the two."""

    @make(frozen=True, slots=True)
    class Frozen:
        a: int
        b: str = "b"
        c: tuple[int, ...] = field(default_factory=tuple)
        kind: ClassVar[str] = "frozen"

        @property
        def double(self) -> int:
            return 2 * self.a

    @make(slots=True)
    class Open:
        a: int
        b: list[int] = field(default_factory=list, repr=False)
        c: int = field(init=False, default=7)
        d: int = field(default=0, compare=False)

        def __post_init__(self) -> None:
            self.d += 1

    @make(frozen=True, slots=True, kw_only=True)
    class Named:
        a: int
        b: int = 2

    @make(frozen=True)
    class Plain:
        a: int = 1
        b: int = 2

        def __repr__(self) -> str:
            return "mine"

    @make(slots=True, eq=False)
    class Self:
        a: int = 1

    @make(frozen=True, slots=True)
    class Child(Frozen):
        d: int = 4

    return {kind.__name__: kind for kind in (Frozen, Open, Named, Plain, Self, Child)}


OURS, THEIRS = kinds(lean.dataclass, lean.field), kinds(dataclasses.dataclass, dataclasses.field)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Frozen", (1,), {}),
    ("Frozen", (1, "x"), {"c": (1, 2)}),
    ("Frozen", (), {"b": "x", "a": 3}),
    ("Frozen", (), {}),
    ("Frozen", (1, "x", (), 4), {}),
    ("Frozen", (1,), {"a": 2}),
    ("Frozen", (1,), {"z": 2}),
    ("Open", (1,), {}),
    ("Open", (1, [2]), {"d": 5}),
    ("Open", (1,), {"c": 5}),
    ("Named", (1,), {}),
    ("Named", (), {"a": 1}),
    ("Plain", (), {}),
    ("Plain", (3,), {"b": 4}),
    ("Self", (), {}),
    ("Child", (1,), {"d": 5}),
    ("Child", (1, "x", (2,), 3), {}),
]


def outcome(made: dict[str, Any], call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> object:
    """Everything that can be seen of an instance, or the kind of the refusal."""
    name, args, given = call
    try:
        one, other = made[name](*args, **given), made[name](*args, **given)
    except TypeError:
        return TypeError
    fields = [each.name for each in dataclasses.fields(one)]
    return {
        "values": {each: getattr(one, each) for each in fields},
        "repr": repr(one).rpartition("<locals>.")[2],
        "equal": one == other,
        "unlike another kind": one == object(),
        "hash": hash(one) == hash(other) if made[name].__hash__ else None,
        "asdict": dataclasses.asdict(one),
        "match": made[name].__match_args__,
        "has a dict": hasattr(one, "__dict__"),
        "types": [str(each.type) for each in dataclasses.fields(made[name])],
        "init": [each.init for each in dataclasses.fields(made[name])],
        "copied": {each: getattr(copy.deepcopy(one), each) for each in fields},
    }


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call[0]}{call[1]}{call[2]}")
def test_an_instance_is_the_one_that_the_library_makes(call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> None:
    """Arguments, defaults, refusals, equality, hash, text form and what the library's own functions see."""
    assert outcome(OURS, call) == outcome(THEIRS, call)


@pytest.mark.parametrize("name", ["Frozen", "Named", "Plain", "Child"])
def test_a_frozen_one_stays_as_it_is(name: str) -> None:
    """Neither set nor deleted, with the library's own exception."""
    for made in (OURS, THEIRS):
        one = made[name](a=1)
        for change in (lambda one=one: setattr(one, "a", 2), lambda one=one: delattr(one, "a")):
            with pytest.raises(dataclasses.FrozenInstanceError):
                change()  # type: ignore[no-untyped-call]  # a class out of a dictionary
        assert one.a == 1


def test_replace_takes_both_kinds() -> None:
    """A copy with other values; a name that is no field is refused; the original stays."""
    for made in (OURS, THEIRS):
        one = made["Frozen"](1, "x")

        assert lean.replace(one, a=2) == dataclasses.replace(one, a=2) == made["Frozen"](2, "x")
        assert one.a == 1
        with pytest.raises(TypeError):
            lean.replace(one, z=1)
    assert lean.replace(OURS["Child"](1), d=9) == OURS["Child"](1, d=9)


def test_the_two_kinds_do_not_inherit_from_each_other() -> None:
    """Either way round is refused where the class is made, not later."""
    ours, theirs = OURS["Frozen"], THEIRS["Frozen"]
    with pytest.raises(AttributeError):

        @dataclasses.dataclass(frozen=True)
        class Later(ours):  # type: ignore[misc, valid-type]  # a class out of a dictionary
            d: int = 4

    with pytest.raises(TypeError, match="library"):

        @lean.dataclass(frozen=True)
        class Wrong(theirs):  # type: ignore[misc, valid-type]  # a class out of a dictionary
            d: int = 4


@lean.dataclass(frozen=True, slots=True)
class AtTop:
    """One that can be found again by its name."""

    a: int
    b: str = "b"


def test_a_frozen_one_is_pickled() -> None:
    """Its slots come back though nothing may set them."""
    assert pickle.loads(pickle.dumps(AtTop(1, "x"))) == AtTop(1, "x")  # noqa: S301 - our own bytes


def test_a_mutable_default_is_refused() -> None:
    """As the library does: all instances would share it."""
    with pytest.raises(ValueError, match="default_factory"):

        @lean.dataclass
        class Shared:
            a: list[int] = []  # noqa: RUF012 - what is refused


def test_a_late_pattern_is_the_pattern() -> None:
    """Every method and attribute of the compiled one; a mistake shows when it is used."""
    late, now = lean.late_pattern(r"(?P<x>a+)b", re.IGNORECASE), re.compile(r"(?P<x>a+)b", re.IGNORECASE)

    found = late.search("..AAB")

    assert found is not None
    assert (found["x"], found.re) == ("AA", now)
    assert (late.sub("-", "xabx"), late.split("1ab2"), late.flags, late.pattern) == (
        now.sub("-", "xabx"), now.split("1ab2"), now.flags, now.pattern,
    )  # fmt: skip
    wrong = lean.late_pattern("(")
    with pytest.raises(re.error):
        wrong.match("")


def test_patterns_are_put_off_inside_the_block_only() -> None:
    """The block's patterns work later; after it, also after a failure, ``re.compile`` compiles at once."""
    with lean.patterns_put_off():
        late, whole = re.compile("a+"), re.compile(b"a")

    assert late.fullmatch("aaa")
    assert isinstance(whole, re.Pattern)
    with pytest.raises(KeyError), lean.patterns_put_off():
        raise KeyError
    assert isinstance(re.compile("b"), re.Pattern)
