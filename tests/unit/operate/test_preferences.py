"""settings.toml: what counts, what is told, and that editing keeps every comment."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.files.history import Retention
from canon_ops.operate.preferences import (
    PREFERENCES,
    BadPreference,
    PreferencesDamaged,
    PreferencesDocument,
    find_preference,
    preferences_file,
    read_preferences,
)

TEXT = """\
# mine since 2026
[history]
entries = 20   # enough for me
days = 30

[keyring]
# the laptop has one
store = "keyring"

[future]
colour = "green"   # a newer release knows this
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment whose settings.toml holds TEXT."""
    file = tmp_path / ".config" / "canon-ops" / "settings.toml"
    file.parent.mkdir(parents=True)
    file.write_text(TEXT)
    return {"HOME": str(tmp_path)}


def test_without_a_file_the_table_counts(tmp_path: Path) -> None:
    """Nothing is created by looking."""
    found = read_preferences({"HOME": str(tmp_path)})

    assert {each.name: each.value for each in found.in_force} == {each.name: each.default for each in PREFERENCES}
    assert {each.source for each in found.in_force} == {"default"}
    assert found.retention == Retention(50, 90)
    assert list(tmp_path.iterdir()) == []


def test_the_file_beats_the_table_and_a_variable_beats_the_file(environ: dict[str, str]) -> None:
    """Each value knows where it comes from."""
    found = read_preferences(environ | {"CANON_OPS_HISTORY_DAYS": "7", "CANON_OPS_KEYRING": "off"})

    assert {each.name: (each.value, each.source) for each in found.in_force} == {
        "keyring.store": ("keyring", "file"),
        "keyring.use": (False, "variable"),
        "history.entries": (20, "file"),
        "history.days": (7, "variable"),
        "lock.timeout": (10.0, "default"),
    }


def test_an_unknown_name_is_told_and_kept(environ: dict[str, str]) -> None:
    """It may belong to a newer release."""
    found = read_preferences(environ)

    assert found.unknown == ("future.colour",)
    assert found.warnings == (f"{found.file} sets future.colour, which this version does not know; it is kept.",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[keyring]\nstore = "drawer"\n', "keyring.store cannot be 'drawer'"),
        ("[history]\nentries = 0\n", "it must be a whole number from 1"),
        ("[history]\nentries = true\n", "history.entries cannot be True"),
        ("[lock]\ntimeout = nan\n", "lock.timeout cannot be nan"),
        ("[keyring]\nuse = 1\n", "it must be true or false"),
    ],
)
def test_a_value_that_cannot_be_meant_is_an_error(environ: dict[str, str], text: str, words: str) -> None:
    """Never a silent default; the sentence names the file."""
    file = preferences_file(environ)
    file.write_text(text)

    with pytest.raises(BadPreference, match=words) as caught:
        read_preferences(environ)

    assert str(file) in caught.value.what


def test_a_variable_that_cannot_be_meant_is_an_error(environ: dict[str, str]) -> None:
    """It is named as the place."""
    with pytest.raises(BadPreference, match="CANON_OPS_LOCK_TIMEOUT"):
        read_preferences(environ | {"CANON_OPS_LOCK_TIMEOUT": "soon"})


def test_a_file_that_is_no_toml_is_refused_with_its_line(environ: dict[str, str]) -> None:
    """It is never overwritten."""
    preferences_file(environ).write_text("[a]\nb = \n")

    with pytest.raises(PreferencesDamaged) as caught:
        read_preferences(environ)

    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("name", "value", "old", "new"),
    [
        ("history.entries", 99, "entries = 20   # enough", "entries = 99   # enough"),
        ("keyring.store", "file", 'store = "keyring"', 'store = "file"'),
        ("keyring.use", False, 'store = "keyring"\n', 'store = "keyring"\nuse = false\n'),
    ],
)
def test_an_edit_changes_its_line_alone(name: str, value: str | int | bool, old: str, new: str) -> None:
    """Comments, order and what nobody knows stay."""
    document = PreferencesDocument.parse(TEXT.encode(), Path("settings.toml"))

    document.set(name, value)

    assert document.data.decode() == TEXT.replace(old, new)


def test_a_new_table_goes_to_the_end_and_away_again() -> None:
    """Set and unset are each other's undoing."""
    document = PreferencesDocument.parse(b"", Path("settings.toml"))

    document.set("lock.timeout", 2.5)
    assert document.data == b"[lock]\ntimeout = 2.5\n"
    document.unset("lock.timeout")
    document.unset("history.days")

    assert document.data == b""


def test_a_name_that_nobody_knows_cannot_be_set() -> None:
    """The known ones are listed."""
    with pytest.raises(BadPreference, match=r"no preference 'history\.years'") as caught:
        find_preference("history.years")

    assert "history.days" in str(caught.value.fix)


@pytest.mark.parametrize(
    ("environ", "file"),
    [
        ({"HOME": "/home/a"}, "/home/a/.config/canon-ops/settings.toml"),
        ({"HOME": "/home/a", "XDG_CONFIG_HOME": "/x"}, "/x/canon-ops/settings.toml"),
        ({"HOME": "/home/a", "XDG_CONFIG_HOME": "rel"}, "/home/a/.config/canon-ops/settings.toml"),
        ({"HOME": "/home/a", "CANON_OPS_SETTINGS": "/s.toml"}, "/s.toml"),
    ],
)
def test_where_the_file_is(environ: dict[str, str], file: str) -> None:
    """The XDG rule, and a variable that beats it."""
    assert preferences_file(environ) == Path(file)
