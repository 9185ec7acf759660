"""Comments that another program dropped from config.yaml: finding that they are gone, and bringing them back.

Each of our commits keeps both texts of the file. Between two of them, and between the last one and the file as it is,
others write. A *loss* is such a gap in which fewer than half of the comments survived: that is what Hermes does when it
saves, and not what a person does by hand. The newest loss counts, unless its comments are back by now. A snapshot says
"this is the text that I want", and a heal has looked at everything before it: neither looks further back.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

from canon_ops.errors import CanonOpsError, NotFoundError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.heal import Healed, heal, own_comments
from canon_ops.files.reading import read_optional
from canon_ops.files.transaction import Transaction
from canon_ops.hermes.boilerplate import find_boilerplate
from canon_ops.hermes.homes import HermesHome
from canon_ops.operate.change_config import ConfigPlan, plan_config
from canon_ops.operate.kept_config import find_kept, kept_configs
from canon_ops.operate.writing import Writing

__all__ = [
    "HEAL_LABEL",
    "Loss",
    "NothingToHeal",
    "find_loss",
    "healed_document",
    "keep_comments",
    "last_commented",
    "plan_heal",
]

HEAL_LABEL = "config heal"


class NothingToHeal(NotFoundError):
    """No comments are known that the file lacks."""

    code: ClassVar[str] = "nothing_to_heal"


@dataclass(frozen=True, slots=True)
class Loss:
    """Comments that were in the file when we last wrote it, and are gone.

    Attributes:
        since: the id of the history entry whose text has them.
        command: what that entry was.
        count: how many the file lacks now.
        text: the commented text.
    """

    since: str
    command: str
    count: int
    text: bytes = field(repr=False)


def find_loss(home: HermesHome) -> Loss | None:
    """The newest loss of comments that still lasts; None when there is none, or nothing is known.

    Raises:
        ConfigSyntaxError: Hermes cannot read the present file.
        NotAFile, DiskError: file or history cannot be read.
    """
    present = read_optional(home.config_file)
    if present is None:
        return None
    lacks = _comments(present)
    behind = present
    for kept in kept_configs(home):
        record = kept.record
        gap = _comments_or_none(kept.after) if kept.after != behind else None
        if gap and (gap & _comments(behind)).total() * 2 < gap.total():
            missing = (gap - lacks).total()
            if missing * 2 > gap.total():
                return Loss(record.id, record.label, missing, kept.after)
        if record.outcome == "kept" or record.label.startswith(HEAL_LABEL):
            return None
        if kept.before is None or _comments_or_none(kept.before) is None:
            return None
        behind = kept.before
    return None


def last_commented(home: HermesHome) -> tuple[str, ...]:
    """The id of the entry that a heal would go back to, if any; () also when it cannot be told."""
    with suppress(CanonOpsError):
        loss = find_loss(home)
        return (loss.since,) if loss is not None else ()
    return ()


def plan_heal(writing: Writing, since: str | None = None) -> tuple[ConfigPlan, Loss, Healed]:
    """Plan the text with its comments back.

    Args:
        since: the history entry to take the comments from, instead of the newest loss.

    Raises:
        NothingToHeal: there is no loss.
        NoSuchEntry: no such entry, or it has no text of config.yaml.
        ProofFailed: the comments cannot be brought back without changing what Hermes reads.
    """
    loss = find_loss(writing.home) if since is None else _loss_since(writing.home, since)
    if loss is None:
        raise NothingToHeal(
            f"no comments are known that {writing.home.config_file} lacks",
            fix=f"{writing.home.own_command('history list')}   (then: config heal --since ID)",
        )
    healed: list[Healed] = []

    def edit(present: ConfigDocument) -> ConfigDocument:
        document, what = healed_document(loss.text, present)
        healed.append(what)
        return document

    return plan_config(writing, edit), loss, healed[-1]


def healed_document(older: bytes, present: ConfigDocument) -> tuple[ConfigDocument, Healed]:
    """``present`` with the comments of ``older``, and what is worth telling about it.

    Raises:
        ConfigSyntaxError: nobody can read the older text.
        ProofFailed: it cannot be done without changing what Hermes reads.
    """
    healed = heal(ConfigDocument.parse(older, present.file), present, find_boilerplate)
    return ConfigDocument.parse(healed.data, present.file), healed


def _loss_since(home: HermesHome, identity: str) -> Loss:
    kept = find_kept(home, identity)
    present = read_optional(home.config_file) or b""
    missing = (_comments(kept.after) - _comments(present)).total()
    return Loss(kept.record.id, kept.record.label, missing, kept.after)


@lru_cache(maxsize=64)
def _comments(text: bytes) -> Counter[str]:
    document = ConfigDocument.parse(text)
    return Counter(placed.comment.text for placed in own_comments(document, find_boilerplate))


def _comments_or_none(text: bytes) -> Counter[str] | None:
    """The comments of an old text; None when nobody can read it."""
    try:
        return _comments(text)
    except CanonOpsError:
        return None


def keep_comments(transaction: Transaction, home: HermesHome) -> str | None:
    """Put the present text into the history when it has comments that no text there has; gives the id of the entry.

    An installation does that, so that a heal has something to go back to although nothing was edited. While comments
    are missing nothing is kept: a snapshot would say that they are not wanted.

    Args:
        transaction: open, with nothing staged.
    """
    with suppress(CanonOpsError):  # what cannot be read or kept is not worth an installation
        present = transaction.read(home.config_file)
        if present is None or not _comments(present) or find_loss(home) is not None:
            return None
        newest = next(kept_configs(home), None)
        return None if newest is not None and newest.after == present else transaction.keep(home.config_file)
    return None
