"""What the history knows of lost comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.files.history import History, Retention
from canon_ops.files.transaction import Transaction
from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.operate.edit_config import edit_config
from canon_ops.operate.heal_config import HEAL_LABEL, find_loss, keep_comments

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
    assert (loss.text, loss.count, loss.command) == (COMMENTED, 3, "config set")


def test_a_loss_lasts_through_our_own_edits(home: HermesHome) -> None:
    """The gap is between two commits, however many came after it; the last gap counts."""
    ours(home, COMMENTED)
    theirs(home, STRIPPED)
    ours(home, STRIPPED + b"c: 3\n")
    ours(home, STRIPPED + b"c: 4\n")
    first = find_loss(home)
    ours(home, b"# new\nx: 1\n# newer\ny: 1\n")
    theirs(home, b"x: 1\ny: 1\n")
    second = find_loss(home)

    assert first is not None and second is not None
    assert (first.count, second.count) == (3, 2)


def test_what_is_back_is_no_loss(home: HermesHome) -> None:
    """However it came back; and a heal ends the search even when its comments went later, by our own edit."""
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
def test_half_of_the_comments_is_a_persons_wish(home: HermesHome, present: bytes, is_loss: bool) -> None:
    """Hermes drops them all; who takes a few means them."""
    ours(home, COMMENTED)
    theirs(home, present)

    assert (find_loss(home) is not None) is is_loss


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
    """As long as they are missing; once they are back, or not wanted any more, it goes like every other."""
    few = Retention(entries=3)

    def edit(number: int) -> None:
        edit_config(home, ("n",), lambda document: document.set(("n",), number), label="config set", retention=few)

    ours(home, COMMENTED)
    theirs(home, STRIPPED)
    for number in range(6):
        edit(number)
    loss = find_loss(home)
    entries = len(History(home.path).records())
    with Transaction(home.path, label="config snapshot") as transaction:
        transaction.keep(home.config_file)
    edit(7)

    assert loss is not None and loss.text == COMMENTED
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
