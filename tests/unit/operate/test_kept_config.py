"""Whether the history of config.yaml has a gap, told without reading its texts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from canon_ops.files.history import History, Retention
from canon_ops.hermes.homes import HermesHome, HomeChoice
from canon_ops.operate import heal_config
from canon_ops.operate.changes import undo_change
from canon_ops.operate.edit_config import edit_config
from canon_ops.operate.heal_config import find_loss
from canon_ops.operate.kept_config import is_ours_alone
from canon_ops.operate.writing import Writing

TEXT = "# mine\na: 1   # one\nb: 2   # two\n"


@pytest.fixture
def home(tmp_path: Path) -> HermesHome:
    folder = tmp_path / "hermes"
    folder.mkdir()
    (folder / "config.yaml").write_text(TEXT)
    return HermesHome(folder, folder, "default", HomeChoice.HOME_OPTION)


def edit(home: HermesHome, value: int, entries: int = 50) -> None:
    retention = Retention(entries=entries)
    edit_config(home, ("a",), lambda document: document.set(("a",), value), label="config set a", retention=retention)


def test_a_full_history_without_a_gap_is_cut_without_reading_it(
    home: HermesHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit costs the same however full the history is."""

    def read_every_text(_home: HermesHome) -> tuple[str, ...]:
        raise AssertionError("every text of the history was read")

    monkeypatch.setattr(heal_config, "last_commented", read_every_text)
    for value in range(5):
        edit(home, value + 10, entries=3)

    assert len(History(home.path).records()) == 3


def test_a_gap_is_seen_and_its_text_is_spared(home: HermesHome) -> None:
    """Hermes dropped the comments: the entry that has them stays, however old it is."""
    edit(home, 10, entries=2)
    [kept] = History(home.path).records()
    home.config_file.write_text("a: 10\nb: 2\n")
    alone = is_ours_alone(home)

    for value in range(5):
        edit(home, value + 20, entries=2)

    assert not alone
    assert kept.id in {record.id for record in History(home.path).records()}
    assert find_loss(home) is not None


@pytest.mark.parametrize("seed", range(12))
def test_where_nobody_else_wrote_no_comment_was_dropped(home: HermesHome, seed: int) -> None:
    """Random edits, undos, foreign writes, a file that goes, texts that are gone: the quick word is never wrong."""
    dice, file = random.Random(seed), home.config_file
    said = []
    for step in range(12):
        match dice.randrange(8):
            case 0:
                file.write_text(f"a: {step}\nb: 2\n")
            case 1 if History(home.path).records():
                undo_change_quietly(home)
            case 2 if texts := sorted(home.path.rglob("history/*/0.before")):
                dice.choice(texts).unlink()
            case 3 if dice.random() < 0.3:
                file.unlink(missing_ok=True)
            case _:
                edit(home, 100 + step)
        if is_ours_alone(home):
            said.append(find_loss(home))

    assert said
    assert all(loss is None for loss in said)


def undo_change_quietly(home: HermesHome) -> None:
    from canon_ops.errors import CanonOpsError

    try:
        undo_change(Writing(home, {"HOME": str(home.path.parent)}, "undo"), None, lambda _file, _text: None)
    except CanonOpsError:
        return  # nothing to undo, or somebody wrote since
