"""The account of the comments of config.yaml: which ones another program dropped, and which text still has them.

Each of our commits keeps both texts of the file. Between two of them, and between the last one and the file as it is,
others write. Whatever comment goes in such a gap was dropped by another program, or by hand; what one of our own edits
takes out was meant to go. The account is kept from the oldest entry to the newest:

- a comment that comes back, however, is not missing any more;
- an undo that takes such comments away again makes them missing again;
- a snapshot has only the comments that it has: those that were missing before are missing still. It says that the
  file is fine as it is, so nobody is warned of them; a heal that is asked for brings them back all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from canon_ops.errors import CanonOpsError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.heal import own_comments, words_of
from canon_ops.hermes.boilerplate import find_boilerplate
from canon_ops.operate.kept_config import KeptConfig

__all__ = ["Drop", "comments_of", "dropped_comments"]

Words = Counter[str]
"""Comments by their words: one that moved, with its old path in front, is still the same."""


@dataclass(slots=True, eq=False)
class Drop:
    """The comments that went in one gap and are not back.

    Attributes:
        kept: the entry before the gap; its text has them.
        lost: those that are still missing.
        out_of: how many comments that text has.
        is_accepted: a snapshot was taken since.
    """

    kept: KeptConfig
    lost: Words
    out_of: int
    is_accepted: bool = False

    @property
    def is_rewrite(self) -> bool:
        """More than half went at once: Hermes does that when it saves the file, and no person does it by hand."""
        return self.lost.total() * 2 > self.out_of


@dataclass(slots=True)
class _Account:
    drops: list[Drop] = field(default_factory=list)
    brought: dict[str, list[tuple[Drop, Words]]] = field(default_factory=dict)

    def gap(self, last: KeptConfig, text: bytes) -> None:
        """Others made ``text`` of what ``last`` left."""
        before, after = comments_of(last.after), comments_of(text)
        if last.after == text or before is None or after is None:
            return
        self._come_back(after - before)
        if gone := before - after:
            self.drops.append(Drop(last, gone, before.total()))

    def ours(self, kept: KeptConfig) -> None:
        """One of our commits."""
        if kept.before is None:  # a file that was not there starts anew
            self.drops.clear()
        elif kept.record.undoes in self.brought:
            for drop, words in self.brought[kept.record.undoes]:
                drop.lost += words
                if drop not in self.drops:
                    self.drops.append(drop)
        elif self.drops:
            before, after = comments_of(kept.before), comments_of(kept.after)
            if before is not None and after is not None:
                self.brought[kept.record.id] = self._come_back(after - before)
        if kept.record.outcome == "kept":
            for drop in self.drops:
                drop.is_accepted = True

    def _come_back(self, words: Words) -> list[tuple[Drop, Words]]:
        found = []
        for drop in reversed(self.drops):
            if back := drop.lost & words:
                drop.lost -= back
                words = words - back
                found.append((drop, back))
        self.drops = [drop for drop in self.drops if drop.lost]
        return found


def dropped_comments(kept: Iterable[KeptConfig], present: bytes) -> tuple[Drop, ...]:
    """What other programs dropped and the file still lacks, newest gap first.

    Args:
        kept: the texts of the history, newest first.
    """
    account = _Account()
    last: KeptConfig | None = None
    for each in reversed(list(kept)):
        if last is not None and each.before is not None:
            account.gap(last, each.before)
        account.ours(each)
        if comments_of(each.after) is not None:  # what nobody can read says nothing about comments
            last = each
    if last is not None:
        account.gap(last, present)
    there = comments_of(present) or Counter()
    for drop in account.drops:
        drop.lost &= (comments_of(drop.kept.after) or Counter()) - there
    return tuple(reversed([drop for drop in account.drops if drop.lost]))


@lru_cache(maxsize=256)
def comments_of(text: bytes) -> Words | None:
    """The words of every comment that people wrote; None when nobody can read the text. Do not change it."""
    if b"#" not in text:
        return Counter()
    try:
        document = ConfigDocument.parse(text)
    except CanonOpsError:
        return None
    return Counter(words_of(placed.comment.text) for placed in own_comments(document, find_boilerplate))
