"""The editor of config.yaml, case by case: what it writes, what it refuses, and with which words."""

from __future__ import annotations

from typing import Any

import pytest

from canon_ops.errors import CanonOpsError, ExitCode
from canon_ops.files.config_editor import ConfigDocument, ConfigSyntaxError, NoSuchKey
from canon_ops.files.yaml_path import parse_path
from canon_ops.files.yaml_proofs import ProofFailed
from canon_ops.settings.encodings import plain_line_ends


def document(text: str) -> ConfigDocument:
    return ConfigDocument.parse(text.encode(), "config.yaml")


def text_after(text: str, operation: str, path: str, *arguments: Any) -> str:
    edited: ConfigDocument = getattr(document(text), operation)(parse_path(path), *arguments)
    return edited.data.decode()


BR_01 = (
    "# owner: ops team, ask before editing\nplugins:\n  # reviewed 2026-03\n  enabled: []   # keep sorted\n"
    'display:\n  tool_progress: off\n  language: "en"\n'
)
BR_03 = "fallback:\n- model: a\n- model: b\nnotes:\n    - four spaces\n"
BR_05 = "fallback_providers:\n  - provider: a\n    model: m\n  - provider: b\n# the end\n"
N_5 = "base: &base\n  k: 1\nuse:\n  <<: *base\nmode: 0600\nt: 12:30\nv: 1_000\n"


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        pytest.param(
            BR_01,
            ("add", "plugins.enabled", "canon-hermes"),
            BR_01.replace("[]", "[canon-hermes]"),
            id="BR-01 only the line of the list changes",
        ),
        pytest.param(
            BR_03,
            ("add", "fallback", {"model": "c"}),
            BR_03.replace("- model: b\n", "- model: b\n- model: c\n"),
            id="BR-03 a new item of a flush list is flush",
        ),
        pytest.param(BR_03, ("add", "notes", "x"), BR_03 + "    - x\n", id="BR-03 a new item takes the list's indent"),
        pytest.param(
            "l:\n- home:\n    x: 1\n    # - more homes\n# end\n",
            ("add", "l", "new"),
            "l:\n- home:\n    x: 1\n    # - more homes\n- new\n# end\n",
            id="a new item begins below what the last one holds",
        ),
        pytest.param(
            "a:\n  b: 1\n    # b, in detail\n  # end of a\nc: 2\n",
            ("set", "a.new", 1),
            "a:\n  b: 1\n    # b, in detail\n  new: 1\n  # end of a\nc: 2\n",
            id="a new key, too",
        ),
        pytest.param(
            "enabled: [   # keep sorted\n  a,\n]\n",
            ("set", "enabled", ["b"]),
            "enabled:   # keep sorted\n  - b\n",
            id="the comment behind an opening bracket is about the key",
        ),
        pytest.param(
            "enabled: [   # keep sorted\n  a,\n]   # closed\n",
            ("set", "enabled", 1),
            "enabled: 1   # closed\n",
            id="unless one stands behind the closing one",
        ),
        pytest.param(
            "m: {   # none\n}\n",
            ("set", "m.k", 1),
            "m: {   # none\n  k: 1\n}\n",
            id="the first entry of brackets begins below the comment on their line",
        ),
        pytest.param(
            BR_05,
            ("set", "fallback_providers[1].provider", "openrouter"),
            BR_05.replace("provider: b", "provider: openrouter"),
            id="BR-05 an index in brackets",
        ),
        pytest.param(
            BR_05,
            ("set", "fallback_providers.1.provider", "openrouter"),
            BR_05.replace("provider: b", "provider: openrouter"),
            id="BR-05 an index between dots",
        ),
        pytest.param(
            "a: 1\n", ("set", '"a.b"', 2), "a: 1\na.b: 2\n", id="BR-05 a key with a dot is quoted in the path"
        ),
        pytest.param(
            BR_01,
            ("set", "display.tool_progress", "off"),
            BR_01.replace("tool_progress: off", "tool_progress: 'off'"),
            id="BR-07 a text that a reader takes for something else is quoted",
        ),
        pytest.param(
            "approvals:\n  mode: manual\n",
            ("set", "approvals.mode", "off"),
            "approvals:\n  mode: 'off'\n",
            id="BR-07 off",
        ),
        pytest.param(
            'platforms:\n  canon:\n    enabled: "false"\n',
            ("set", "platforms.canon.enabled", False),
            "platforms:\n  canon:\n    enabled: false\n",
            id="BR-08 a boolean is written bare over a quoted one",
        ),
        pytest.param(
            'personalities:\n  家: "café 😀"\n',
            ("set", "personalities.x", "señor 😀"),
            'personalities:\n  家: "café 😀"\n  x: señor 😀\n',
            id="BR-09 no escapes for what is printable",
        ),
        pytest.param(
            "a: 1\nb: 2\n\n# why c exists\nc: 3\n",
            ("unset", "b"),
            "a: 1\n\n# why c exists\nc: 3\n",
            id="BR-14 the comment of the next key stays",
        ),
        pytest.param(
            "a: 1\n# why b exists\n# and more\nb: 2\nc: 3\n",
            ("unset", "b"),
            "a: 1\nc: 3\n",
            id="BR-14 the comment directly above goes",
        ),
        pytest.param(
            "l:\n  # why a\n  - a # beside\n\n  # why b\n  - b\n",
            ("remove", "l", "a"),
            "l:\n\n  # why b\n  - b\n",
            id="BR-14 the same for items",
        ),
        pytest.param(
            "l:\n  - a: 1 # one\n    # why b\n    b: 2\n",
            ("unset", "l[0].a"),
            "l:\n  -\n    # why b\n    b: 2\n",
            id="BR-14 also where the next key would move up to the dash",
        ),
        pytest.param(
            "plugins: # see wiki\n  enabled: # keep\n  - a\n",
            ("add", "plugins.enabled", "b"),
            "plugins: # see wiki\n  enabled: # keep\n  - a\n  - b\n",
            id="BR-17 comments beside list names",
        ),
        pytest.param(
            "enabled: [\n  borgee,   # chat\n  canon-hermes,\n]\n",
            ("add", "enabled", "x"),
            "enabled: [\n  borgee,   # chat\n  canon-hermes,\n  x,\n]\n",
            id="BR-20 brackets over lines keep lines, comma and comment",
        ),
        pytest.param(
            "enabled: [\n  borgee,   # chat\n  canon-hermes,\n]\n",
            ("remove", "enabled", "borgee"),
            "enabled: [\n  canon-hermes,\n]\n",
            id="BR-20 a removed item takes its comment along",
        ),
        pytest.param(
            "plugins:   # mine\n",
            ("add", "plugins.enabled", "canon-hermes"),
            "plugins:   # mine\n  enabled:\n  - canon-hermes\n",
            id="N-1 null is an empty section",
        ),
        pytest.param(N_5, ("set", "other", 1), N_5 + "other: 1\n", id="N-5 anchors, octals, times stay as they are"),
        pytest.param(
            "\ufeffa: 1\r\nb: [x]\r\n",
            ("add", "b", "y"),
            "\ufeffa: 1\r\nb: [x, y]\r\n",
            id="N-6 byte-order mark and CRLF stay",
        ),
        pytest.param(
            "platforms:\n  canon:\n    extra: {}\n",
            ("set", "platforms.canon.extra.pin", "007"),
            "platforms:\n  canon:\n    extra: {pin: '007'}\n",
            id="N-10 digits that are text stay text",
        ),
        pytest.param("a: 1\nb: 2\na: 3\n", ("set", "b", 4), "a: 1\nb: 4\na: 3\n", id="N-19 other keys can be edited"),
    ],
)
def test_edits_from_the_field(before: str, edit: tuple[Any, ...], after: str) -> None:
    """Each case of the field list gives exactly the text that a careful person would have written."""
    assert text_after(before, *edit) == after


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        pytest.param("plugins:\n\tenabled: [borgee]\n", "config_tabs", 2, 1, id="BR-02 a tab as indentation"),
        pytest.param(
            "a:\t1\nb: 2\n", "config_tabs", 1, 3, id="BR-02 a tab after a colon: the gateway's loader refuses it"
        ),
        pytest.param("a: 1\n---\nb: 2\n", "config_documents", 2, 1, id="BR-02 two documents"),
        pytest.param("a: 1\nb: [1, 2\nc: 3\n", "config_syntax", 3, 2, id="BR-02 an open bracket"),
        pytest.param("a: b: c\n", "config_syntax", 1, 5, id="BR-02 two colons"),
        pytest.param("a: =\n", "config_syntax", 1, 4, id="a value that no loader builds"),
        pytest.param("a: *nowhere\n", "config_syntax", 1, 4, id="an alias without anchor"),
        pytest.param("- a\n- b\n", "config_root", 1, 1, id="N-7 a list at the top"),
        pytest.param("just text\n", "config_root", 1, 1, id="N-7 a text at the top"),
        pytest.param(
            "a: [http://h/x?y=1]\n", "config_syntax", 1, 15, id="a question mark in brackets stops the gateway"
        ),
        pytest.param("a: 1\nb: !\n", "config_syntax", 2, 4, id="a lone ! means two things"),
        pytest.param("a: |+# x\n  y\n", "config_syntax", 1, 6, id="a comment that touches a block's mark"),
        pytest.param("a: 1\nb: \x07\n", "config_syntax", 2, 4, id="a control character"),
    ],
)
def test_what_hermes_cannot_read_is_refused(text: str, code: str, line: int, column: int) -> None:
    """BR-02: nothing is edited in a broken file; the message has its line and column, and exit is 1."""
    with pytest.raises(ConfigSyntaxError) as caught:
        document(text)

    error = caught.value
    assert (error.code, error.line, error.column, error.exit_code) == (code, line, column, ExitCode.FAILED)
    assert f"line {line}" in error.what or code == "config_root"


def test_another_encoding_is_refused() -> None:
    """BR-09: a file that is not UTF-8 is named as such, with the place and the way to convert it."""
    with pytest.raises(ConfigSyntaxError) as caught:
        ConfigDocument.parse("a: 1\nname: café\n".encode("latin-1"))

    assert (caught.value.code, caught.value.line, caught.value.column) == ("config_encoding", 2, 10)
    assert "iconv" in str(caught.value.fix)


@pytest.mark.parametrize(
    ("text", "edit", "code", "line", "words"),
    [
        pytest.param(
            "a: 1\nb: 2\na: 3\n", ("set", "a", 4), "config_duplicate_key", 1, "lines 1, 3", id="N-19 a duplicate"
        ),
        pytest.param("a: 1\nb: 2\na: 3\n", ("unset", "a"), "config_duplicate_key", 1, "lines 1, 3", id="N-19 unset"),
        pytest.param(N_5, ("set", "use.k", 2), "config_alias", 4, "merge key", id="N-5 a merged value"),
        pytest.param(N_5, ("unset", "base"), "config_anchor", 1, "&base", id="N-5 an anchor in use"),
        pytest.param("a: &x {k: 1}\nb: *x\n", ("set", "b.k", 2), "config_alias", 2, "*x", id="N-5 behind an alias"),
        pytest.param(
            'plugins:\n  enabled: "borgee, other"\n',
            ("add", "plugins.enabled", "canon-hermes"),
            "config_kind",
            2,
            "holds a text",
            id="N-2 a text where Hermes wants a list",
        ),
        pytest.param("a: 1\n", ("set", "a.b", 2), "config_kind", 1, "a mapping", id="below a value"),
        pytest.param("l: [1, 2]\n", ("set", "l[2]", 2), "config_index", 1, "2 items", id="BR-05 index out of range"),
        pytest.param("l: [1, 2]\n", ("set", f"l[{'9' * 30}]", 2), "config_index", 1, "2 items", id="BR-05 however far"),
        pytest.param("a: {b: 1}\n", ("set", "a[0]", 2), "config_kind", 1, "no index", id="BR-05 index into a mapping"),
        pytest.param(
            "a: |\n  x", ("set", "b", 2), "config_engine", None, "line end", id="behind a block text at the end"
        ),
        pytest.param("on: 1\n", ("set", "on", 2), "config_refused", 1, "bare word", id="BR-07 a key that is no text"),
    ],
)
def test_places_that_are_refused(text: str, edit: tuple[Any, ...], code: str, line: int, words: str) -> None:
    """An edit that would mean something else is refused with the place, in words that say what to do."""
    with pytest.raises(CanonOpsError) as caught:
        text_after(text, *edit)

    assert (caught.value.code, caught.value.line, caught.value.exit_code) == (code, line, ExitCode.FAILED)
    assert words in caught.value.what


def test_find_reads_what_hermes_reads() -> None:
    """find follows aliases and merge keys, takes the last of duplicates, and knows the line of the key."""
    found = document("a: 1\nbase: &b {k: 2}\nuse:\n  <<: *b\nlink: *b\na: 3\n404: x\nl: [p, q]\n")

    def at(path: str) -> tuple[Any, int] | None:
        place = found.find(parse_path(path))
        return (place.value, place.line) if place else None

    assert at("a") == (3, 6)
    assert at("use.k") == (2, 3)
    assert at("link.k") == (2, 2)
    assert at("404") == ("x", 7)
    assert at("l[1]") == ("q", 8)
    assert at("l.1") == ("q", 8)
    assert at("l[2]") is at("a.b") is at("zz") is None


def test_nothing_to_do_is_the_same_document() -> None:
    """Setting what is there, adding what is listed, removing what is absent: no change at all."""
    same = document(BR_01)

    assert same.set(("display", "language"), "en") is same
    assert same.add(("plugins", "enabled"), "x").add(("plugins", "enabled"), "x").data.count(b"x") == 1
    assert same.unset(("nothing", "here")) is same
    assert same.remove(("plugins", "enabled"), "x") is same
    assert same.ensure_mapping(("display",)) is same


def test_true_is_not_one() -> None:
    """A value of another type is another value, even where Python calls them equal."""
    assert text_after("a: 1\n", "set", "a", True) == "a: true\n"
    assert text_after("a: true\n", "set", "a", 1) == "a: 1\n"


def test_a_change_at_an_anchor_reaches_its_aliases() -> None:
    """The value at an anchor may be edited; Hermes then reads the new one through every alias, and nothing else."""
    edited = document("a: &x\n  k: 1\nb: *x\nc: {k: 1}\n").set(("a", "k"), 2)

    assert edited.value == {"a": {"k": 2}, "b": {"k": 2}, "c": {"k": 1}}


def test_an_edit_of_everything_is_refused() -> None:
    """The empty path is no place."""
    with pytest.raises(CanonOpsError):
        document("a: 1\n").set((), {})


def test_unknown_places_are_not_found() -> None:
    """An item of a list that does not exist is not made up."""
    with pytest.raises(NoSuchKey):
        document("").set(("a", 0), 1)


@pytest.mark.parametrize("text", ["a: 1\nb: 2\r", "a: 1\r\nb: 'x'\r", "a: 1\nb: {k: 1} # c\r", "a: 1\nb:\n  - 1\r"])
def test_a_lone_carriage_return_ends_the_last_line(text: str) -> None:
    """It stays below an edit elsewhere, and a new last line has an end as well."""
    document = ConfigDocument.parse(text.encode())

    assert document.set(("a",), 7).data.decode() == text.replace("a: 1", "a: 7")
    assert document.set(("z",), 1).data.decode().startswith(f"{text}z: 1")
    assert document.set(("z",), 1).data.decode().endswith(("\n", "\r"))


@pytest.mark.parametrize("path", [("a",), ("b", "c"), ("b",), ("d",), ("n",), ("b", "n")], ids=str)
def test_lone_carriage_returns_are_kept_or_told(path: tuple[str, ...]) -> None:
    """PyYAML ends a line at them: an edit is right, or refused with the way to ordinary line ends, which works."""
    text = "a: 1  # x\rb:\r  # y\r  c: 2\rd: 3\r"

    for change in ("set", "unset"):
        for source in (text, text.replace("\r", "\n")):
            document = ConfigDocument.parse(source.encode(), "c.yaml")
            if change == "unset" and document.find(path) is None:
                continue
            try:
                edited = document.set(path, 5) if change == "set" else document.unset(path)
            except ProofFailed as refused:
                assert "\r" in source
                assert "lone carriage return" in refused.what
                assert refused.fix == plain_line_ends(source, "c.yaml")
            else:
                found = edited.find(path)
                assert (found is not None and found.value == 5) if change == "set" else found is None
                assert ("\n" in edited.data.decode()) == ("\n" in source)
