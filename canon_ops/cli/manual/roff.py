"""A page as source for ``man``: the macros of man(7), clean under ``groff -ww`` and ``mandoc -Tlint``."""

from __future__ import annotations

import re
import textwrap

from canon_ops import __version__
from canon_ops.cli.manual.page import Page

__all__ = ["EDITION", "man_page"]

EDITION = "2026-11-30"  # of the words; a build must not depend on the day on which it is made
_WIDTH = 78
_NAMED = {'"': "\\(dq", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def man_page(page: Page) -> str:
    """The whole file, for section 1."""
    lines = [
        '.\\" Generated from the command tree; `make generate` writes it.',
        f'.TH {page.name.upper()} 1 {EDITION} "canon-ops {__version__}" "canon-ops manual"',
        ".SH NAME",
        *_filled(f"{_text(page.name)} \\- {_text(page.purpose.removesuffix('.'))}"),
        ".SH SYNOPSIS",
        f".B {_text(page.command)}",
        *_filled(_breakable(page.synopsis)),
        ".SH DESCRIPTION",
    ]
    for number, paragraph in enumerate(page.description):
        lines += [*([".PP"] if number else []), *_filled(_text(paragraph))]
    for section in page.sections:
        lines.append(f".SH {section.title.upper()}")
        for row in section.rows:
            lines += [".TP", f".B {_breakable(row.term)}", *_filled(_text(row.text or row.term))]
    if page.examples:
        lines.append(".SH EXAMPLES")
        for number, example in enumerate(page.examples):
            lines += [*([".PP"] if number else []), ".EX", _guarded(_text(example)), ".EE"]
    if page.see_also:
        lines.append(".SH SEE ALSO")
        names = ["-".join(("canon-ops", *words)) for words in page.see_also]
        lines += [f".BR {_text(name)} (1){',' if name != names[-1] else ''}" for name in names]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Text that roff prints as it is: dashes and quotes that can be copied, ASCII only."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"[^\x20-\x7e]", lambda match: f"\\[u{ord(match[0]):04X}]", text)
    for plain, name in _NAMED.items():
        text = text.replace(plain, name)
    return text


def _breakable(text: str) -> str:
    """A list of choices may go over a line's end."""
    return _text(text).replace("|", "|\\:")


def _filled(text: str) -> list[str]:
    """Lines of source that the formatter fills again; none is taken for a macro."""
    lines = textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [_guarded(line) for line in lines]


def _guarded(line: str) -> str:
    return f"\\&{line}" if line.startswith(".") else line
