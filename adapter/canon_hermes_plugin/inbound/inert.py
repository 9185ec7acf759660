"""Words of strangers, made unable to pose as structure.

The host builds its prompt from sections that begin with a bracketed header on a line of its own. A name or a body that
may open a line could forge such a header. Here both come out on one line: a name as plain words, a body with a visible
mark where its lines ended.

Some hosts have a helper for names, which takes line ends away and nothing else; what it gives passes here too.

Source: canon-adapter R3.7, D33, D34; decision H3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from canon_ops.unseen import SHAPELESS, TURNING
from canon_ops.wire.activity import shorten
from canon_ops.wire.messages import inline_text

__all__ = ["NAME_CHARS", "Neutraliser", "inert_body", "inert_name"]

Neutraliser: TypeAlias = Callable[[str], str]

NAME_CHARS: Final = 240  # canon-adapter R3.7

# It begins where its blanks begin: tried at each of a row of blanks, a body of blanks alone would take minutes.
_LINE_END: Final = re.compile(r"(?<![ \t])[ \t]*(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])\s*")
_LINE_MARK: Final = " ⏎ "
_UNSEEN: Final = re.compile(rf"[\x00-\x08\x0e-\x1f\x7f-\x9f{TURNING}{SHAPELESS}]")


def inert_name(name: str) -> str:
    """A name on one line, at most 240 characters; a longer one ends in three dots."""
    return shorten(" ".join(inline_text(name).split()), NAME_CHARS)


def inert_body(text: str) -> str:
    """A body on one line: each run of line ends is a visible mark, what is not seen is gone."""
    return _UNSEEN.sub("", _LINE_END.sub(_LINE_MARK, text.strip()))
