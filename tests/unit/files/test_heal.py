"""Comments that come back: the values of one text in the words of another."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from canon_ops.files.comment_places import placed_comments
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.heal import Healed, Moved, bring_back, heal, own_comments, words_of
from canon_ops.files.yaml_difference import alike
from tests.support.config_corpus import READABLE
from tests.support.config_oracle import comments, read

OWNED = """\
# owner: ops team, ask before editing
plugins:
  # reviewed 2026-03
  enabled: [borgee]   # keep sorted
display:
  # why this skin
  skin: ocean   # blue
  language: "en"
"""


def no_boilerplate(_text: str) -> tuple[tuple[int, int], ...]:
    return ()


def healed(older: str, present: str) -> Healed:
    return heal(ConfigDocument.parse(older.encode()), ConfigDocument.parse(present.encode()), no_boilerplate)


def dumped(value: Any) -> str:
    """As Hermes writes: values only."""
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True))


def test_comments_come_back_with_their_quotes_and_style() -> None:
    """What did not change is byte for byte the older text; the new value stands in its place."""
    value = read(OWNED)
    value["display"]["skin"] = "forest"

    result = healed(OWNED, dumped(value))

    assert result.data.decode() == OWNED.replace("skin: ocean", "skin: forest")
    assert (result.back, result.moved, result.is_transplant) == (5, (), False)


def test_a_comment_whose_key_is_gone_moves_up_with_its_old_path() -> None:
    """It stands above what held the key, in order, and its path says where it belonged."""
    value = read(OWNED)
    del value["display"]["skin"]

    result = healed(OWNED, dumped(value))

    assert result.moved == (Moved("display.skin", "# why this skin"), Moved("display.skin", "# blue"))
    assert result.data.decode() == OWNED.replace(
        "display:\n  # why this skin\n  skin: ocean   # blue\n",
        "# [display.skin] why this skin\n# [display.skin] blue\ndisplay:\n",
    )


def test_a_comment_of_a_vanished_top_key_stands_at_the_end() -> None:
    """Nothing holds a top-level key but the file."""
    result = healed("# about a\na: 1\nb: 2\n", "b: 2\n")

    assert result.data.decode() == "b: 2\n\n# [a] about a\n"


@pytest.mark.parametrize(("end", "begins"), [("\n", ""), ("\r\n", ""), ("\n", "\n")])
def test_the_blank_line_below_a_vanished_first_key_goes_with_it(end: str, begins: str) -> None:
    """No text that a person sees begins with a gap that neither text began with."""
    older = begins + "first: 1\n\n# about second\nsecond: 2\n\nthird: 3\n"

    result = healed(older.replace("\n", end), "second: 2\nthird: 3\n")

    after = begins and begins + "\n"  # a gap of the person's own is not judged
    assert result.data.decode() == (after + "# about second\nsecond: 2\n\nthird: 3\n").replace("\n", end)


def test_a_new_item_in_the_middle_of_a_list_leaves_the_others_their_comments() -> None:
    """Hermes sorts what it adds to; each item keeps its own comments at its new place."""
    older = "enabled:\n  # chat\n  - borgee  # ours\n  # search\n  - web\n"

    result = healed(older, "enabled:\n- aaa\n- borgee\n- canon\n- web\n")

    assert result.data.decode() == ("enabled:\n  - aaa\n  # chat\n  - borgee  # ours\n  - canon\n  # search\n  - web\n")


def test_items_that_are_mappings_are_known_by_their_name() -> None:
    """A changed field is changed in place, also when the items were put in another order."""
    older = "l:\n  # first\n  - name: a  # A\n    v: 1\n  # second\n  - name: b  # B\n    v: 2\n"

    result = healed(older, dumped({"l": [{"v": 3, "name": "b"}, {"name": "a", "v": 1}]}))

    assert result.data.decode() == (
        "l:\n  # second\n  - name: b  # B\n    v: 3\n  # first\n  - name: a  # A\n    v: 1\n"
    )


def test_an_alias_is_written_out_only_where_its_value_differs() -> None:
    """The other alias of the same anchor stays one."""
    older = "base: &b  # shared\n  x: 1\nuse: *b\nother: *b\n"

    result = healed(older, dumped({"base": {"x": 1}, "use": {"x": 5}, "other": {"x": 1}}))

    assert result.data.decode() == "base: &b  # shared\n  x: 1\nuse:\n  x: 5\nother: *b\n"


def test_a_merge_key_is_overridden_where_that_is_enough() -> None:
    """A value of its own beats the merged one; a merged key that is gone has the merge key written out."""
    older = "base: &b\n  x: 1  # one\n  y: 2\nuse:\n  <<: *b\n"

    overridden = healed(older, dumped({"base": {"x": 1, "y": 2}, "use": {"x": 7, "y": 2}}))
    written_out = healed(older, dumped({"base": {"x": 1, "y": 2}, "use": {"y": 2}}))

    assert overridden.data.decode() == older + "  x: 7\n"
    assert written_out.data.decode() == older.replace("<<: *b", "y: 2")


def test_an_anchor_that_is_gone_is_written_out_where_it_was_used() -> None:
    """Its comments move to the end."""
    result = healed("base: &b  # shared\n  x: 1\nuse: *b\n", "use:\n  x: 1\n")

    assert result.data.decode() == "use:\n  x: 1\n\n# [base] shared\n"


def test_comments_written_after_the_loss_stay() -> None:
    """What a person wrote into the stripped file is put to the same key in the healed one."""
    result = healed("# old\na: 1\nb: 2\n", "a: 1\n# new\nb: 3  # three\n")

    assert result.data.decode() == "# old\na: 1\n# new\nb: 3  # three\n"


def test_a_value_that_cannot_be_written_leaves_the_present_text_and_adds_the_comments() -> None:
    """A date comes from the present text as it stands there; the comments are put to the same keys."""
    result = healed("# when\nwhen: never  # soon\nx: 'q'\n", "when: 2026-01-02\nx: q\n")

    assert result.is_transplant
    assert result.data.decode() == "# when\nwhen: 2026-01-02  # soon\nx: q\n"


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in READABLE.items()])
def test_the_whole_corpus_heals(text: str) -> None:
    """Every text, after every kind of change a writer makes: the values of the change, every comment, no other byte."""
    for what, value in _rewrites(read(text) or {}):
        present = dumped(value)

        result = healed(text, present)

        after = result.data.decode()
        assert alike(yaml.safe_load(after) or {}, yaml.safe_load(present) or {}), what
        moved = {each.text for each in result.moved}
        gone = [comment for comment in comments(text) if comment not in after and comment not in moved]
        assert gone == [], (what, after)
        assert all(each.line in after for each in result.moved), what
        if what == "nothing":
            assert after == text


def test_few_texts_of_the_corpus_need_a_transplant() -> None:
    """Only where the engine cannot write a key or an alias holds two places together."""
    transplants = [
        f"{name}: {what}"
        for name, text in READABLE.items()
        for what, value in _rewrites(read(text) or {})
        if healed(text, dumped(value)).is_transplant
    ]

    assert transplants == ["number_keys: without 1.5", "anchored_list: turned round"]


def _rewrites(value: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    """What other writers do to a configuration, by name."""
    yield "nothing", value
    yield "config set", {**copy.deepcopy(value), "display": {"skin": "ocean"}}
    plugins = value.get("plugins") if isinstance(value.get("plugins"), dict) else {}
    listed = plugins.get("enabled") if isinstance(plugins, dict) else None
    enabled = sorted({*map(str, listed if isinstance(listed, list) else []), "canon-hermes"})
    yield "plugins enable", {**copy.deepcopy(value), "plugins": {**(plugins or {}), "enabled": enabled}, "_v": 33}
    for key in value:
        yield f"without {key}", {name: copy.deepcopy(inner) for name, inner in value.items() if name != key}
    yield "turned round", _turned(value)


def _turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _turned(inner) for key, inner in reversed(value.items())}
    return [*(_turned(item) for item in reversed(value)), "end"] if isinstance(value, list) else value


TAILS = """\
# head
a:
  x: 1
  # tail of a, one
  # tail of a, two
b: 2
c:
  - 1
  # tail of c
# above d
d:
  e:
    f: 1
    # tail of e
  # tail of d
g:
  h: |
    text
  # tail of g
"""


def parsed(text: str) -> ConfigDocument:
    return ConfigDocument.parse(text.encode())


def brought_back(older: str, present: str) -> Healed:
    """Every comment put into the present text, as for those that went besides a rewrite, and in a transplant."""
    document = ConfigDocument.parse(older.encode())
    wanted = Counter(words_of(placed.comment.text) for placed in own_comments(document, no_boilerplate))
    return bring_back(document, ConfigDocument.parse(present.encode()), no_boilerplate, wanted)


def test_the_comments_below_a_section_stay_with_it() -> None:
    """They are indented like its entries: the entry that follows the section is not what they are about."""
    bare = "".join(line for line in TAILS.splitlines(keepends=True) if "#" not in line)

    result = brought_back(TAILS, bare)
    again = brought_back(TAILS, dumped(read(TAILS)))

    assert (result.data.decode(), result.moved) == (TAILS, ())
    assert "c:\n- 1\n  # tail of c\n# above d\nd:\n" in again.data.decode()  # deeper than the list, which is flush
    places = [(each.comment.text, each.path, each.is_tail) for each in placed_comments(parsed(TAILS).layout)]
    found = placed_comments(ConfigDocument.parse(again.data).layout)
    places[places.index(("# tail of c", ("c",), True))] = "# tail of c", ("c", 0), True  # there, the item holds it
    assert [(each.comment.text, each.path, each.is_tail) for each in found] == places


@pytest.mark.parametrize("gone", ["b", "c", "d", "g"])
def test_a_section_keeps_its_tail_when_its_neighbour_goes(gone: str) -> None:
    """Nothing of it is given out as a comment of the neighbour; the tail of a section that is gone is announced."""
    value = read(TAILS)
    del value[gone]

    result = brought_back(TAILS, dumped(value))

    text = result.data.decode()
    assert read(text) == value
    assert "  x: 1\n  # tail of a, one\n  # tail of a, two\n" in text
    assert {each.path.partition(".")[0] for each in result.moved} == ({gone} - {"b"})
    assert sorted(words_of(each.text) for each in result.moved) == {
        "b": [], "c": ["tail of c"], "d": ["above d", "tail of d", "tail of e"], "g": ["tail of g"],
    }[gone]  # fmt: skip


def test_a_tail_follows_new_entries_of_its_section() -> None:
    """And goes with a section that has become a single value, under its name."""
    value = read(TAILS)
    value["a"]["y"] = {"z": "long " * 40}
    value["d"]["e"] = 5

    result = brought_back(TAILS, dumped(value))

    text = result.data.decode()
    assert read(text) == value
    assert "\n  # tail of a, one\n  # tail of a, two\nb: 2\n" in text
    assert result.moved == (Moved("d.e", "# tail of e"),)
    assert "  # [d.e] tail of e\n  e: 5\n  # tail of d\n" in text


@pytest.mark.parametrize(
    ("text", "present"),
    [
        ("a: [x]  # of the list\nb: 1\n", {"a": ["y", "z"], "b": 1}),
        ("a: {k: [1,\n  2]}  # of a\nb: 1\n", {"a": {"k": 3}, "b": 1}),
    ],
)
def test_a_comment_behind_brackets_is_about_the_entry(text: str, present: dict[str, Any]) -> None:
    """Not about the last item in them, which may go."""
    result = brought_back(text, dumped(present))

    assert result.moved == ()
    assert result.data.decode().splitlines()[0].startswith("a:  # of")


def test_what_follows_an_unindented_comment_is_no_tail() -> None:
    """The first comment is about the next key, and so is the one below it, however it is indented."""
    text = "a:\n  x: 1\n# about b\n    # more about b\nb: 2\n"

    result = brought_back(text, "b: 2\na:\n  x: 1\n")

    assert result.data.decode() == "# about b\n# more about b\nb: 2\na:\n  x: 1\n"
