"""The proofs believe no plan: here are texts that a faulty editor might write, announced as generously as can be."""

from __future__ import annotations

import pytest

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
