"""What the history knows of lost comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.history import History, Retention
from canon_ops.files.transaction import Transaction
from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.operate.edit_config import edit_config
from canon_ops.operate.heal_config import HEAL_LABEL, find_loss, healed_document, keep_comments

COMMENTED = b"# one\na: 1  # two\n# three\nb: 2\n"
STRIPPED = b"a: 1\nb: 2\n"


@pytest.fixture
def home(tmp_path: Path) -> HermesHome:
    return resolve_home({"HOME": str(tmp_path)}, hermes_home=tmp_path)


def ours(home: HermesHome, text: bytes, label: str = "config set") -> None:
    """A commit of ours."""
    with Transaction(home.path, label=label) as transaction:
        transaction.stage(home.config_file, text)
        transaction.commit()


def theirs(home: HermesHome, text: bytes) -> None:
    """Another program's write."""
    home.config_file.write_bytes(text)


def kept(home: HermesHome) -> int:
    with Transaction(home.path, label="install canon") as transaction:
        keep_comments(transaction, home)
    return len(History(home.path).records())


def test_a_loss_is_found_with_its_text(home: HermesHome) -> None:
    """The newest text with the comments, and how many are missing."""
    ours(home, COMMENTED)
    theirs(home, STRIPPED)

    loss = find_loss(home)

    assert loss is not None
    assert ([source.text for source in loss.sources], loss.count, loss.command) == ([COMMENTED], 3, "config set")


def test_a_loss_lasts_through_our_own_edits(home: HermesHome) -> None:
    """The gap is between two commits, however many came after it; every gap counts."""
    ours(home, COMMENTED)
    theirs(home, STRIPPED)
    ours(home, STRIPPED + b"c: 3\n")
    ours(home, STRIPPED + b"c: 4\n")
    first = find_loss(home)
    ours(home, b"# new\nx: 1\n# newer\ny: 1\n")
    theirs(home, b"x: 1\ny: 1\n")
    second = find_loss(home)

    assert first is not None and second is not None
    assert (first.count, second.count, len(second.sources)) == (3, 5, 2)


def test_what_is_back_is_no_loss(home: HermesHome) -> None:
    """However it came back; and what our own edit takes out later was meant to go."""
    ours(home, COMMENTED)
    theirs(home, STRIPPED)
    ours(home, COMMENTED, HEAL_LABEL)
    healed = find_loss(home)
    ours(home, STRIPPED, "config edit")
    edited = find_loss(home)

    assert (healed, edited) == (None, None)


@pytest.mark.parametrize(
    ("present", "is_loss"),
    [(b"# one\na: 1  # two\nb: 2\n", False), (b"# one\na: 1\nb: 2\n", True), (STRIPPED, True), (COMMENTED, False)],
)
def test_half_of_the_comments_is_no_alarm(home: HermesHome, present: bytes, is_loss: bool) -> None:
    """Hermes drops them all; who takes a few may mean them, but whoever asks gets them back."""
    ours(home, COMMENTED)
    theirs(home, present)

    loss = find_loss(home)

    assert (loss is not None and loss.is_worth_a_warning) is is_loss
    assert (loss.count if loss else 0) == COMMENTED.count(b"#") - present.count(b"#")


@pytest.mark.parametrize("label", ["config snapshot", "install canon"])
def test_a_snapshot_has_only_the_comments_that_it_has(home: HermesHome, label: str) -> None:
    """After a loss it ends the alarm, and forgets nothing; however many follow."""
    ours(home, COMMENTED)
    theirs(home, STRIPPED)
    for _ in range(2):
        with Transaction(home.path, label=label) as transaction:
            transaction.keep(home.config_file)

    loss = find_loss(home)

    assert loss is not None
    assert (loss.count, loss.is_worth_a_warning, loss.sources[0].text) == (3, False, COMMENTED)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_an_undone_heal_is_no_barrier(home: HermesHome, times: int) -> None:
    """Its comments are missing again, and there again when the undo is undone."""
    ours(home, COMMENTED)
    theirs(home, STRIPPED)
    ours(home, COMMENTED, HEAL_LABEL)
    for _ in range(times):
        newest = History(home.path).records()[0]
        with Transaction(home.path, label="undo") as transaction:
            transaction.take_back(newest)
            transaction.commit()

    loss = find_loss(home)

    assert (loss.count if loss else 0) == (3 if times % 2 else 0)


def test_a_comment_that_moved_is_there(home: HermesHome) -> None:
    """Its key is gone, so it stands elsewhere with its old path in front; it is not asked for again."""
    ours(home, COMMENTED)
    theirs(home, b"a: 1\n")
    loss = find_loss(home)
    assert loss is not None
    document, healed = healed_document(loss, ConfigDocument.parse(b"a: 1\n"))
    ours(home, document.data, HEAL_LABEL)

    assert [each.path for each in healed.moved] == ["b"]
    assert find_loss(home) is None


def test_every_loss_is_made_good(home: HermesHome) -> None:
    """Comments of several gaps come back in one heal, each to its key; what stood there stays."""
    ours(home, b"a: 1  # one\nb: 2  # two\nc: 3  # three\n")
    theirs(home, b"a: 1  # one\nb: 2\nc: 3  # three\n")
    ours(home, b"a: 1  # one\nb: 2\nc: 3  # three\nd: 4  # four\n")
    theirs(home, b"a: 1\nb: 2\nc: 3\nd: 4\n# five\n")
    loss = find_loss(home)
    assert loss is not None

    document, healed = healed_document(loss, ConfigDocument.parse(home.config_file.read_bytes()))

    assert (loss.count, healed.back) == (4, 4)
    assert document.data == b"a: 1  # one\nb: 2  # two\nc: 3  # three\nd: 4  # four\n\n# five\n"


def test_hermes_own_help_is_not_missed(home: HermesHome) -> None:
    """Its blocks come and go with its own writes."""
    ours(home, b"a: 1\n# \xe2\x94\x80\xe2\x94\x80 Security \xe2\x94\x80\xe2\x94\x80\n#   redact_secrets: true\n")
    theirs(home, b"a: 2\n")

    assert find_loss(home) is None


def test_nothing_is_known_without_a_history(home: HermesHome) -> None:
    """No file, no entries, an entry whose texts are gone, an entry that nobody can read."""
    assert find_loss(home) is None
    theirs(home, STRIPPED)
    assert find_loss(home) is None
    ours(home, COMMENTED)
    theirs(home, STRIPPED)
    (entry,) = (home.path / ".canon-ops" / "history").iterdir()
    (entry / "0.after").write_bytes(b"a: [\n")
    assert find_loss(home) is None
    (entry / "0.after").unlink()
    assert find_loss(home) is None


def test_an_installation_keeps_a_commented_text_once(home: HermesHome) -> None:
    """Only what the history does not have, only with comments, and never while comments are missing."""
    theirs(home, STRIPPED)
    assert kept(home) == 0
    theirs(home, COMMENTED)
    assert (kept(home), kept(home)) == (1, 1)
    theirs(home, STRIPPED)
    assert kept(home) == 1
    assert find_loss(home) is not None
    theirs(home, b"a: [\n")
    assert kept(home) == 1


def test_the_text_with_the_comments_outlives_the_retention(home: HermesHome) -> None:
    """As long as they are missing; once they are back it goes like every other."""
    few = Retention(entries=3)

    def edit(number: int) -> None:
        edit_config(home, ("n",), lambda document: document.set(("n",), number), label="config set", retention=few)

    ours(home, COMMENTED)
    theirs(home, STRIPPED)
    for number in range(6):
        edit(number)
    loss = find_loss(home)
    entries = len(History(home.path).records())
    ours(home, COMMENTED, HEAL_LABEL)
    edit(7)

    assert loss is not None and loss.sources[0].text == COMMENTED
    assert entries == 4
    assert len(History(home.path).records()) == 3


def test_a_home_under_another_name_has_the_same_history(tmp_path: Path) -> None:
    """The file behind the links counts, not the name that a command was given."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    through = resolve_home({"HOME": str(tmp_path)}, hermes_home=link)
    ours(through, COMMENTED)
    theirs(through, STRIPPED)

    assert find_loss(resolve_home({"HOME": str(tmp_path)}, hermes_home=real)) is not None
