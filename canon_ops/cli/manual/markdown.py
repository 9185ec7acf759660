"""The reference: the pages of one top-level command in one Markdown file, and the list of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from canon_ops.cli.manual.page import Page
from canon_ops.cli.manual.row import Row

__all__ = ["GENERATED", "cell", "chapter", "contents", "prose"]

GENERATED = "<!-- Generated from the command tree; `make generate` writes it. -->\n\n"
_SAME_EVERYWHERE = ("Options of every command", "Exit status", "Files", "Environment")


def contents(pages: Sequence[Page]) -> str:
    """The page of the program itself: all commands with links, the options, the exit codes, the tables."""
    program = pages[0]
    lines = [f"{GENERATED}# Command reference\n", *(f"{prose(each)}\n" for each in program.description)]
    lines.append("\n| command | what it does |\n|---|---|\n")
    for page in pages[1:]:
        anchor = "" if len(page.words) == 1 else f"#{page.command.replace(' ', '-')}"
        lines.append(f"| [`{' '.join(page.words)}`]({page.words[0]}.md{anchor}) | {cell(page.purpose)} |\n")
    for section in program.sections:
        if section.title != "Commands":
            lines.append(_section(section.title, section.rows))
    return "".join(lines)


def chapter(pages: Sequence[Page]) -> str:
    """One top-level command with its members."""
    return GENERATED + "\n".join(_page(page, depth=1 if number == 0 else 2) for number, page in enumerate(pages))


def _page(page: Page, *, depth: int) -> str:
    lines = [f"{'#' * depth} {page.command}\n\n", f"```\n{page.command} {page.synopsis}\n```\n\n"]
    lines += [f"{prose(paragraph)}\n\n" for paragraph in page.description]
    for section in page.sections:
        if section.title not in _SAME_EVERYWHERE or (section.title != "Options of every command" and depth == 1):
            lines.append(_section(section.title, section.rows, depth + 1))
    if page.examples:
        lines.append("```\n" + "".join(f"{example}\n" for example in page.examples) + "```\n")
    return "".join(lines).rstrip() + "\n"


def _section(title: str, rows: Sequence[Row], depth: int = 2) -> str:
    table = "".join(f"| `{_code(row.term)}` | {cell(row.text)} |\n" for row in rows)
    return (
        f"\n{'#' * depth} {title}\n\n| | |\n|---|---|\n{table}\n"
        if depth == 2
        else f"| {title.lower()} | |\n|---|---|\n{table}\n"
    )


def _code(text: str) -> str:
    return text.replace("|", "\\|")


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return prose(text).replace("|", "\\|")


def prose(text: str) -> str:
    """Text that Markdown prints as it is; what stands between backticks is code, in which nothing is a mark."""
    pieces = " ".join(text.split()).split("`")
    return "`".join(
        re.sub(r"([*<>]|\b_|_\b)", r"\\\1", piece) if n % 2 == 0 else piece for n, piece in enumerate(pieces)
    )
