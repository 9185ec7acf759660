"""The proofs believe no plan: here are texts that a faulty editor might write, announced as generously as can be."""

from __future__ import annotations

import pytest

from canon_ops.errors import RefusedError
from canon_ops.files.yaml_layout import Layout, lay_out
from canon_ops.files.yaml_proofs import Added, Change, Dropped, ProofFailed, Replaced, prove
from canon_ops.files.yaml_reader import read_yaml

OLD = """\
# about a
a:
  b: 1  # beside b
    # held by b
  # held by a

# apart
# about c
c:  # beside c
  # in c
  d: 2
e: [f,  # beside f
    # about g
    g]  # all of e
"""
A, C, E = 0, 1, 2


def laid_out(text: str) -> Layout:
    return lay_out(read_yaml(text.encode(), "config.yaml"))


def proven(after: str, change: Change) -> None:
    """Anything may differ, and any comment may go: the announcement is of no help."""
    old, new = laid_out(OLD), laid_out(after)
    prove(old, new, span=(0, len(OLD)), gone=(0, len(OLD)), change=change)


def edited(*changes: tuple[str, str]) -> str:
    text = OLD
    for was, now in changes:
        assert text.count(was) == 1, was
        text = text.replace(was, now)
    return text


NEW_KEY = ("    # held by b\n", "    # held by b\n  z: 3\n")
REPLACED_C = ("c:  # beside c\n  # in c\n  d: 2\n", "c: 3  # beside c\n")
DROPPED_C = ("# about c\nc:  # beside c\n  # in c\n  d: 2\n", "")
DROPPED_F = ("[f,  # beside f\n", "[\n")


@pytest.mark.parametrize(
    ("change", "changes"),
    [
        (Added((A,), "z", 3), [NEW_KEY]),
        (Replaced((C,), 3), [REPLACED_C]),
        (Dropped((C,)), [DROPPED_C]),
        (Dropped((E, 0)), [DROPPED_F]),
    ],
    ids=["added", "replaced", "dropped", "dropped in brackets"],
)
def test_an_edit_as_it_should_be_is_proven(change: Change, changes: list[tuple[str, str]]) -> None:
    """What goes is what belongs to the entry; all else stands where it stood."""
    proven(edited(*changes), change)


@pytest.mark.parametrize(
    ("change", "changes"),
    [
        pytest.param(Added((A,), "z", 3), [NEW_KEY, ("# about a\n", "")], id="a comment goes, and nothing is removed"),
        pytest.param(Added((A,), "z", 3), [NEW_KEY, ("  # held by a", "    # held by a")], id="another indent"),
        pytest.param(Added((A,), "z", 3), [("b: 1  # beside b\n", "b: 1  # beside b\n  z: 3\n")], id="held by the new"),
        pytest.param(
            Added((A,), "z", 3), [NEW_KEY, ("b: 1  # beside b", "b: 1\n    # beside b")], id="from beside to below"
        ),
        pytest.param(
            Added((A,), "z", 3),
            [("b: 1  # beside b\n    # held by b\n", "b: 1\n    # held by b\n  z: 3  # beside b\n")],
            id="beside another",
        ),
        pytest.param(
            Added((A,), "z", 3),
            [NEW_KEY, ("c:  # beside c\n", "c:\n"), ("d: 2\n", "d: 2  # beside c\n")],
            id="beside another, far away",
        ),
        pytest.param(
            Replaced((A, 0), 3),
            [("b: 1", "b: 3"), ("    g]  # all of e", "    g  # all of e\n    ]")],
            id="into the brackets",
        ),
        pytest.param(Replaced((E, 0), 3), [("[f,  # beside f", "[3,")], id="beside a replaced item in brackets"),
        pytest.param(Dropped((E, 1)), [("    # about g\n    g]  # all of e", "    ]")], id="behind the brackets"),
        pytest.param(
            Replaced((A, 0), 3), [("b: 1", "b: 3"), ("# apart\n", ""), ("# about a", "# apart\n# about a")], id="far up"
        ),
        pytest.param(Replaced((C,), 3), [REPLACED_C, ("# about c\n", "")], id="above what is replaced"),
        pytest.param(Replaced((C,), 3), [(REPLACED_C[0], "c: 3\n")], id="beside the name of what is replaced"),
        pytest.param(Replaced((A, 0), 3), [("b: 1  # beside b", "b: 3")], id="beside a replaced scalar"),
        pytest.param(Replaced((A, 0), 3), [("1  # beside b\n    # held", "3  # beside b\n  # held")], id="let go"),
        pytest.param(Dropped((C,)), [DROPPED_C, ("  # held by a\n", "")], id="the neighbour's tail"),
        pytest.param(Dropped((C,)), [DROPPED_C, ("    # held by b\n", "")], id="deeper, at the neighbour"),
        pytest.param(Dropped((E, 0)), [("[f,  # beside f\n    # about g\n", "[\n")], id="about the next in brackets"),
    ],
)
def test_a_comment_that_goes_too_far_is_refused(change: Change, changes: list[tuple[str, str]]) -> None:
    """Lost with somebody else's entry, indented otherwise, or with another entry than before."""
    with pytest.raises(ProofFailed, match="proof of comments"):
        proven(edited(*changes), change)


def test_a_comment_apart_by_a_blank_line_is_nobodys() -> None:
    """Only the run of lines directly above an entry goes with it."""
    text = "x: 1\n\n# apart\n\n# about c\nc: 2\n"
    old = laid_out(text)

    with pytest.raises(ProofFailed, match="comment in line 3"):
        prove(old, laid_out("x: 1\n"), span=(0, len(text)), gone=(0, len(text)), change=Dropped((1,)))


@pytest.mark.parametrize(
    ("change", "text", "honest", "tampered"),
    [
        pytest.param(
            Dropped((1,)),
            "e: [\n  {f: 1}  # x\n  ]\ng: 2\n",
            "e: [\n  {f: 1}  # x\n  ]\n",
            "e: [\n  {f: 1}\n  ]  # x\n",
            id="behind the brackets of a neighbour that goes",
        ),
        pytest.param(
            Replaced((0, 0, 1), {}),
            "e: [\n  [f, 1.5,]\n  ]  # x\n",
            "e: [\n  [f, {},]\n  ]  # x\n",
            "e: [\n  [f, {},]  # x\n  ]\n",
            id="from outer brackets to inner ones",
        ),
        pytest.param(
            Added((0,), "g", 1),
            "e: {\n  f: 1,\n  }  # x\n",
            "e: {\n  f: 1,\n  g: 1,\n  }  # x\n",
            "e: {\n  f: 1,  # x\n  g: 1,\n  }\n",
            id="from the brackets to the last in them",
        ),
        pytest.param(
            Added((0,), "g", 1),
            "e: {\n  f: 1,  # x\n  }\n",
            "e: {\n  f: 1,  # x\n  g: 1,\n  }\n",
            "e: {\n  f: 1,\n  g: 1,  # x\n  }\n",
            id="beside the new one in brackets",
        ),
        pytest.param(
            Added((0,), None, "g"),
            "e: [\n  f,\n  ]\n# x\n",
            "e: [\n  f,\n  g,\n  ]\n# x\n",
            "e: [\n  f,\n  g,\n# x\n  ]\n",
            id="from below into the brackets",
        ),
        pytest.param(
            Replaced((0, 0), ["f", "g"]),
            "e:\n  - null\n  # x\n",
            "e:\n  - - f\n    - g\n  # x\n",
            "e:\n  # x\n  - - f\n    - g\n",
            id="from below a value to above it",
        ),
        pytest.param(
            Replaced((0,), ["f", "g"]),
            "e: ~\n# x\nh: 1\n",
            "e:\n  - f\n  - g\n# x\nh: 1\n",
            "e:\n# x\n  - f\n  - g\nh: 1\n",
            id="into the lines of a value",
        ),
        pytest.param(
            Replaced((0,), ["f", "g"]),
            "e:\n    # x\nh: 1\n",
            "e:\n    # x\n  - f\n  - g\nh: 1\n",
            "e:\n  - f\n    # x\n  - g\nh: 1\n",
            id="between the items of a new value",
        ),
        pytest.param(
            Added((0,), "g", {"k": [1]}),
            "e:\n  f: 1\n# x\nh: 1\n",
            "e:\n  f: 1\n  g:\n    k:\n    - 1\n# x\nh: 1\n",
            "e:\n  f: 1\n  g:\n    k:\n# x\n    - 1\nh: 1\n",
            id="into the lines of an entry",
        ),
        pytest.param(
            Added((0,), None, "g"),
            "e:\n- f\n\n# x\nh: 1\n",
            "e:\n- f\n- g\n\n# x\nh: 1\n",
            "e:\n- f\n# x\n- g\n\nh: 1\n",
            id="from the next entry to above the new one",
        ),
    ],
)
def test_a_comment_stays_on_its_side_of_a_change(change: Change, text: str, honest: str, tampered: str) -> None:
    """Between two entries, too: not behind a closing bracket, not into what is new, not to its other side."""
    every = (0, len(text))
    prove(laid_out(text), laid_out(honest), span=every, gone=every, change=change)

    with pytest.raises(ProofFailed, match="proof of comments"):
        prove(laid_out(text), laid_out(tampered), span=every, gone=every, change=change)


HONEST = [
    pytest.param(Added((A,), "z", 3), [NEW_KEY], id="added"),
    pytest.param(Replaced((C,), 3), [REPLACED_C], id="replaced"),
    pytest.param(Replaced((A, 0), [1]), [("b: 1", "b: [1]")], id="a scalar replaced"),
    pytest.param(Dropped((C,)), [DROPPED_C], id="dropped"),
    pytest.param(Dropped((E, 0)), [DROPPED_F], id="dropped in brackets"),
]
"""Edits as they should be, each of one place."""


@pytest.mark.parametrize(("change", "changes"), HONEST)
def test_no_character_outside_the_announced_range_may_differ(change: Change, changes: list[tuple[str, str]]) -> None:
    """At no place of it: one more, another one, or one less, though the values and the comments were the same."""
    ((was, now),) = changes
    start = OLD.index(was)
    span, old, after = (start, start + len(was)), laid_out(OLD), edited(*changes)
    head, tail = OLD[:start], OLD[span[1] :]
    prove(old, laid_out(after), span=span, gone=span, change=change)

    refused = 0
    for place in [*range(start), *range(start + len(now), len(after))]:
        for tampered in (
            after[:place] + " " + after[place:],
            after[:place] + "\n" + after[place:],
            after[:place] + "x" + after[place + 1 :],
            after[:place] + after[place + 1 :],
        ):
            if tampered.startswith(head) and tampered.endswith(tail):  # the same character beside the range
                continue
            try:
                new = laid_out(tampered)
            except RefusedError:  # no YAML: that is refused before
                continue
            with pytest.raises(ProofFailed, match="proof of bytes"):
                prove(old, new, span=span, gone=span, change=change)
            refused += 1
    assert refused > len(after)


def test_the_range_holds_no_character_twice() -> None:
    """What stands before the range and what stands behind it may not be the same characters of the new text."""
    text, shorter = "a: 1\nb: 2\nb: 2\n", "a: 1\nb: 2\n"
    start = text.index("b")

    with pytest.raises(ProofFailed, match="proof of bytes"):
        prove(laid_out(text), laid_out(shorter), span=(start + 5, start + 5), gone=(0, 0), change=Dropped((1,)))


@pytest.mark.parametrize(
    ("change", "changes"),
    [
        pytest.param(Added((A,), "z", 3), [("    # held by b\n", "    # held by b\n  z: '3'\n")], id="a text"),
        pytest.param(Added((A,), "z", 3), [("    # held by b\n", "    # held by b\n  y: 3\n")], id="another key"),
        pytest.param(Added((A,), "z", 3), [], id="nothing added"),
        pytest.param(Added((A,), "z", 3), [NEW_KEY, ("d: 2", "d: 3")], id="added, and another value"),
        pytest.param(Added((A,), "z", 3), [NEW_KEY, ("d: 2", "dd: 2")], id="added, and another name"),
        pytest.param(Added((C,), "z", 3), [NEW_KEY], id="added elsewhere"),
        pytest.param(Added((A,), "z", 3), [("    # held by b\n", "    # held by b\n  z: 3\n  y: 4\n")], id="two added"),
        pytest.param(Replaced((C,), 3), [(REPLACED_C[0], "c: 3.0  # beside c\n")], id="a number of another type"),
        pytest.param(Replaced((C,), True), [(REPLACED_C[0], "c: 1  # beside c\n")], id="a number for a yes"),
        pytest.param(Replaced((C,), "3"), [REPLACED_C], id="no text"),
        pytest.param(Replaced((C,), 3), [REPLACED_C, ("b: 1", "b: '1'")], id="replaced, and another type"),
        pytest.param(Replaced((A, 0), 3), [REPLACED_C], id="replaced elsewhere"),
        pytest.param(Dropped((C,)), [], id="nothing dropped"),
        pytest.param(Dropped((C,)), [DROPPED_C, ("b: 1", "b: 1.0")], id="dropped, and another value"),
        pytest.param(Dropped((E, 0)), [("[f,  # beside f\n    # about g\n    g]", "[f]")], id="the neighbour dropped"),
        pytest.param(Dropped((C,)), [DROPPED_C, ("e: [f,", "f: [f,")], id="dropped, and another name"),
        pytest.param(Dropped((C,)), [DROPPED_C, ("g]", "g,h]")], id="dropped, and one more"),
    ],
)
def test_a_value_that_nobody_announced_is_refused(change: Change, changes: list[tuple[str, str]]) -> None:
    """Inside the announced range or beyond: what Hermes reads is the old tree and the one change, with its types."""
    with pytest.raises(ProofFailed, match="proof of values"):
        proven(edited(*changes), change)


@pytest.mark.parametrize(
    ("text", "tampered", "change"),
    [
        pytest.param("a: &x [1]\nb: *x\nc: 1\n", "a: &x [1]\nb: [1]\nc: 2\n", Replaced((2,), 2), id="written out"),
        pytest.param("a: &x [1]\nb: [1]\nc: 1\n", "a: &x [1]\nb: *x\nc: 2\n", Replaced((2,), 2), id="made one"),
        pytest.param(
            "a: &x [1]\nb: &y [1]\nd: *x\nc: 1\n",
            "a: &x [1]\nb: &y [1]\nd: *y\nc: 2\n",
            Replaced((3,), 2),
            id="of another",
        ),
        pytest.param("a: 1\nb: 2\nc: 1\n", "b: 2\na: 1\nc: 2\n", Replaced((2,), 2), id="another order"),
        pytest.param("a: !!float 1\nc: 1\n", "a: 1\nc: 2\n", Replaced((1,), 2), id="another tag"),
    ],
)
def test_equal_values_are_not_the_same_tree(text: str, tampered: str, change: Change) -> None:
    """An alias that is written out, one that repeats another anchor, a key that moved, a tag."""
    with pytest.raises(ProofFailed, match="proof of values"):
        prove(laid_out(text), laid_out(tampered), span=(0, len(text)), gone=(0, 0), change=change)
