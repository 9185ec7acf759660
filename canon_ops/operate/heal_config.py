"""Comments that another program dropped from config.yaml: telling of it, and bringing them back.

:mod:`lost_comments` keeps the account. A heal brings back everything on it: where most of a text's comments went, that
text gets the present values (:func:`canon_ops.files.heal.heal`); what went besides is put to its keys.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from canon_ops.errors import CanonOpsError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.heal import Healed, Moved, bring_back, heal
from canon_ops.files.reading import read_optional
from canon_ops.files.transaction import Transaction
from canon_ops.files.yaml_proofs import ProofFailed
from canon_ops.hermes.boilerplate import find_boilerplate
from canon_ops.hermes.homes import HermesHome
from canon_ops.operate.change_config import ConfigPlan, plan_config
from canon_ops.operate.kept_config import KeptConfig, find_kept, kept_configs
from canon_ops.operate.lost_comments import Drop, comments_of, dropped_comments
from canon_ops.operate.writing import Writing

__all__ = [
    "HEAL_LABEL",
    "Loss",
    "find_loss",
    "find_unlike",
    "healed_document",
    "keep_comments",
    "last_commented",
    "plan_heal",
]

HEAL_LABEL = "config heal"


@dataclass(frozen=True, slots=True)
class Source:
    """A text of the history and the comments of it that are missing; see :class:`Drop`."""

    id: str
    text: bytes = field(repr=False)
    lost: Counter[str] = field(repr=False)
    is_rewrite: bool


@dataclass(frozen=True, slots=True)
class Loss:
    """Comments that the file had, and lacks.

    Attributes:
        since: the id of the history entry that has most of them.
        command: what that entry was.
        count: how many the file lacks now.
        is_worth_a_warning: most comments of one text went at once, and no snapshot was taken since.
        sources: every text that is needed to bring them back, that of ``since`` first.
    """

    since: str
    command: str
    count: int
    is_worth_a_warning: bool
    sources: tuple[Source, ...]


def find_loss(home: HermesHome) -> Loss | None:
    """The comments that others dropped and that are not back; None when there are none, or nothing is known.

    Raises:
        ConfigSyntaxError: Hermes cannot read the present file.
        NotAFile, DiskError: file or history cannot be read.
    """
    present = read_optional(home.config_file)
    if present is None:
        return None
    ConfigDocument.parse(present, str(home.config_file))
    drops = dropped_comments(kept_configs(home), present)
    if not drops:
        return None
    drops = tuple(sorted(drops, key=lambda drop: drop.lost.total(), reverse=True))  # of several alike the newest
    return Loss(
        since=drops[0].kept.record.id,
        command=drops[0].kept.record.label,
        count=sum(drop.lost.total() for drop in drops),
        is_worth_a_warning=any(drop.is_rewrite and not drop.is_accepted for drop in drops),
        sources=tuple(map(_source, drops)),
    )


def _source(drop: Drop) -> Source:
    return Source(drop.kept.record.id, drop.kept.after, drop.lost, drop.is_rewrite)


def find_unlike(home: HermesHome) -> Loss | None:
    """The newest entry with comments that the file lacks, whoever took them out; None when there is none."""
    return next((loss for kept in kept_configs(home) if (loss := _unlike(home, kept)).count), None)


def last_commented(home: HermesHome) -> tuple[str, ...]:
    """The ids of the entries that a heal would go back to, if any; () also when it cannot be told."""
    with suppress(CanonOpsError):
        loss = find_loss(home)
        return tuple(source.id for source in loss.sources) if loss is not None else ()
    return ()


def plan_heal(writing: Writing, since: str | None = None) -> tuple[ConfigPlan, Loss, Healed] | None:
    """Plan the text with its comments back; None when none are missing.

    Args:
        since: the history entry to take the comments from, instead of all that were dropped.

    Raises:
        NoSuchEntry: no such entry, or it has no text of config.yaml.
        ProofFailed: the comments cannot be brought back without changing what Hermes reads.
    """
    home = writing.home
    loss = find_loss(home) if since is None else _unlike(home, find_kept(home, since))
    if loss is None:
        return None
    healed: list[Healed] = []

    def edit(present: ConfigDocument) -> ConfigDocument:
        try:
            document, what = healed_document(loss, present)
        except ProofFailed as error:
            error.fix = home.own_command(f"config diff {loss.since}")  # has the comments, to copy from
            raise
        healed.append(what)
        return document

    return plan_config(writing, edit), loss, healed[-1]


def healed_document(loss: Loss, present: ConfigDocument) -> tuple[ConfigDocument, Healed]:
    """``present`` with the missing comments, and what is worth telling about it.

    Raises:
        ConfigSyntaxError: nobody can read the older text.
        ProofFailed: it cannot be done without changing what Hermes reads.
    """
    document, back, is_transplant = present, 0, False
    moved: list[Moved] = []
    for number, source in enumerate(loss.sources):
        older = ConfigDocument.parse(source.text, present.file)
        if number == 0 and source.is_rewrite:
            healed = heal(older, document, find_boilerplate)
            is_transplant = healed.is_transplant
        else:
            there = comments_of(document.data) or Counter()
            missing = source.lost & ((comments_of(source.text) or Counter()) - there)
            healed = bring_back(older, document, find_boilerplate, missing)
        document = ConfigDocument.parse(healed.data, present.file)
        back += healed.back
        moved += healed.moved
    return document, Healed(document.data, back, tuple(moved), is_transplant)


def _unlike(home: HermesHome, kept: KeptConfig) -> Loss:
    """All the comments of one entry that the file lacks."""
    there = comments_of(read_optional(home.config_file) or b"") or Counter()
    comments = comments_of(kept.after) or Counter()
    drop = Drop(kept, comments - there, comments.total())
    return Loss(kept.record.id, kept.record.label, drop.lost.total(), False, (_source(drop),))


def keep_comments(transaction: Transaction, home: HermesHome) -> str | None:
    """Put the present text into the history when it has comments that no text there has; gives the id of the entry.

    An installation does that, so that a heal has something to go back to although nothing was edited. While comments
    are missing nothing is kept: a snapshot would say that they are not wanted.

    Args:
        transaction: open, with nothing staged.
    """
    with suppress(CanonOpsError):  # what cannot be read or kept is not worth an installation
        present = transaction.read(home.config_file)
        if present is None or not comments_of(present):
            return None
        loss = find_loss(home)
        if loss is not None and loss.is_worth_a_warning:
            return None
        newest = next(kept_configs(home), None)
        return None if newest is not None and newest.after == present else transaction.keep(home.config_file)
    return None
