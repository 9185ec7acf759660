"""What the last edit put in goes without a trace, over the whole corpus: parents that it made, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from canon_ops.errors import CanonOpsError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.transaction import Transaction
from canon_ops.files.undo import undo
from canon_ops.files.yaml_path import format_path
from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.operate.edit_config import edit_config
from tests.support.config_corpus import READABLE

KeyPath = tuple[str | int, ...]
NEW: KeyPath = ("zz_new", "y", "z")


@pytest.fixture
def home(tmp_path: Path) -> HermesHome:
    return resolve_home({"HOME": str(tmp_path)}, hermes_home=tmp_path)


def edit(
    home: HermesHome, path: KeyPath, change: Callable[[ConfigDocument], ConfigDocument], *, takes_out: bool = False
) -> None:
    edit_config(home, path, change, label="config", takes_out=takes_out)


def put_in(home: HermesHome, path: KeyPath) -> None:
    edit(home, path, lambda document: document.set(path, 1))


def take_out(home: HermesHome, path: KeyPath) -> None:
    edit(home, path, lambda document: document.unset(path), takes_out=True)


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in READABLE.items()])
def test_set_and_unset_give_the_very_bytes(home: HermesHome, text: str) -> None:
    """Also an item that was added to a list of its own."""
    home.config_file.write_text(text, encoding="utf-8", newline="")
    before = home.config_file.read_bytes()
    try:
        put_in(home, NEW)
        take_out(home, NEW)
        nested = home.config_file.read_bytes()
        edit(home, NEW, lambda document: document.add(NEW, "x"))
        edit(home, NEW, lambda document: document.remove(NEW, "x"), takes_out=True)
    except CanonOpsError:
        pytest.skip("no place for a new key; the corpus test looks at those")

    assert (nested, home.config_file.read_bytes()) == (before, before)


@pytest.mark.parametrize(
    "text", ["x:\n", "x: ~  # none yet\n", "x: {}\n", "x: {y: {}}\n", "x: {y: null}\n", "{}\n", ""]
)
def test_what_stood_for_nothing_is_there_again(home: HermesHome, text: str) -> None:
    """In the words of before: null has several spellings."""
    home.config_file.write_text(text)

    put_in(home, ("x", "y", "z"))
    take_out(home, ("x", "y", "z"))

    assert home.config_file.read_text() == text


def test_parents_stay_when_somebody_wrote_since(home: HermesHome) -> None:
    """Nobody can tell then who meant them; and another key that the last edit left is not lost."""
    home.config_file.write_text("a: 1\n")
    put_in(home, ("x", "y"))
    put_in(home, ("b",))
    take_out(home, ("x", "y"))
    ours = home.config_file.read_text()
    put_in(home, ("q", "y"))
    home.config_file.write_text(home.config_file.read_text() + "# mine\n")
    take_out(home, ("q", "y"))

    assert ours == "a: 1\nx: {}\nb: 1\n"
    assert home.config_file.read_text() == "a: 1\nx: {}\nb: 1\nq: {}\n# mine\n"


def test_another_removal_is_no_return(home: HermesHome) -> None:
    """The text of before counts only where it reads as the edit asks."""
    home.config_file.write_text("a: 1\nb: 2\n")
    put_in(home, ("c",))
    take_out(home, ("b",))

    assert home.config_file.read_text() == "a: 1\nc: 1\n"


@pytest.mark.parametrize(
    ("text", "path", "repeated"),
    [
        ("a: &m\n  k: 2\nb: *m\n", ("a", "k"), ("b.k",)),
        ("a: &m\n  k: 2\nb: *m\n", ("a", "n"), ("b.n",)),
        ("a: &m\n  k: 2\nb:\n  <<: *m\nc: [*m]\n", ("a", "k"), ("b.k", "c[0].k")),
        ("a: &m 2\nb: *m\n", ("a",), ("b",)),
        ("a: &m 2\nb: *m\nc: 5\n", ("c",), ()),
        ("a: 2\nb: 2\n", ("a",), ()),
    ],
)
def test_an_edit_at_an_anchor_names_what_repeats_it(
    home: HermesHome, text: str, path: KeyPath, repeated: tuple[str, ...]
) -> None:
    """Every path that reads differently now besides the one that was asked for."""
    home.config_file.write_text(text)

    done = edit_config(home, path, lambda document: document.set(path, 1), label="config set")

    assert done.repeated == repeated


def command(home: HermesHome, words: str, path: KeyPath, change: Callable[[ConfigDocument], ConfigDocument]) -> None:
    """An edit under the name that the command line gives it."""
    takes_out = words.startswith(("config unset", "config remove"))
    edit_config(home, path, change, label=words, takes_out=takes_out)


def put(home: HermesHome, *path: str | int) -> None:
    command(home, f"config set {format_path(path)}", path, lambda document: document.set(path, 1))


def drop(home: HermesHome, *path: str | int) -> None:
    command(home, f"config unset {format_path(path)}", path, lambda document: document.unset(path))


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in READABLE.items()])
def test_keys_set_one_after_the_other_go_in_any_order(home: HermesHome, text: str) -> None:
    """The parents that the first edit made go with its key, though another edit came between: the start is reached."""
    home.config_file.write_text(text, encoding="utf-8", newline="")
    before = ConfigDocument.parse(home.config_file.read_bytes()).value
    try:
        put(home, *NEW)
        put(home, "zz_other")
        drop(home, *NEW)
        between = ConfigDocument.parse(home.config_file.read_bytes()).value
        drop(home, "zz_other")
    except CanonOpsError:
        pytest.skip("no place for a new key; the corpus test looks at those")

    assert between == {**before, "zz_other": 1}
    assert ConfigDocument.parse(home.config_file.read_bytes()).value == before


def test_parents_that_two_keys_share_go_with_the_last(home: HermesHome) -> None:
    """The edit that made them was another key's, and it was ours."""
    home.config_file.write_text("a: 1  # mine\n")

    put(home, "x", "y")
    put(home, "x", "z")
    drop(home, "x", "y")
    put(home, "b")
    shared = home.config_file.read_text()
    drop(home, "x", "z")
    left = home.config_file.read_text()
    drop(home, "b")

    assert (shared, left) == ("a: 1  # mine\nx:\n  z: 1\nb: 1\n", "a: 1  # mine\nb: 1\n")
    assert home.config_file.read_text() == "a: 1  # mine\n"


def test_a_list_that_add_made_goes_with_its_last_item(home: HermesHome) -> None:
    """And the mapping around it."""
    home.config_file.write_text("a: 1\n")
    for item in ("one", "two"):
        command(home, "config add x.l", ("x", "l"), lambda document, item=item: document.add(("x", "l"), item))  # type: ignore[misc]  # a default
    put(home, "b")
    for item in ("one", "two"):
        command(home, "config remove x.l", ("x", "l"), lambda document, item=item: document.remove(("x", "l"), item))  # type: ignore[misc]  # a default

    assert home.config_file.read_text() == "a: 1\nb: 1\n"


@pytest.mark.parametrize(
    ("first", "label"),
    [
        (("x",), "config set x"),  # an empty mapping was what was asked for
        (("x", "y"), "install canon"),  # what an installation made stays until it is taken back
    ],
)
def test_parents_that_were_meant_stay(home: HermesHome, first: KeyPath, label: str) -> None:
    """Only what an edit of one key made on its way goes."""
    home.config_file.write_text("a: 1\n")

    command(home, label, first, lambda document: document.ensure_mapping(("x",)).set(("x", "y"), 1))
    put(home, "b")
    drop(home, "x", "y")

    assert home.config_file.read_text() == "a: 1\nx: {}\nb: 1\n"


def test_parents_that_an_undo_brought_back_stay(home: HermesHome) -> None:
    """A person had made them."""
    home.config_file.write_text("a: 1\nx:\n  y: 1\n")
    drop(home, "x")
    with Transaction(home.path) as transaction:
        undo(transaction, transaction.history.records()[0].id)
        transaction.commit()
    put(home, "b")
    drop(home, "x", "y")

    assert home.config_file.read_text() == "a: 1\nx: {}\nb: 1\n"


def test_parents_stay_when_somebody_wrote_between(home: HermesHome) -> None:
    """By hand, between two edits of ours: nobody can tell any more who meant them."""
    home.config_file.write_text("a: 1\n")
    put(home, "x", "y")
    home.config_file.write_text(home.config_file.read_text() + "c: 1\n")
    put(home, "b")
    drop(home, "x", "y")

    assert home.config_file.read_text() == "a: 1\nx: {}\nc: 1\nb: 1\n"
