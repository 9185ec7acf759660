"""``canon-ops man``: the manual of this version, whether its pages are installed or not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Line, Raw, Result
from canon_ops.errors import NotFoundError

__all__ = ["ManPage", "ManPath", "path_command", "show_command"]


class NoSuchPage(NotFoundError):
    """No command has these words."""

    code = "no_such_page"


class NoManual(NotFoundError):
    """The pages are not installed here."""

    code = "no_manual"


@dataclass(frozen=True, slots=True)
class ManPage:
    """``data`` of ``canon-ops.man.show/1``.

    Attributes:
        source: for ``man``, ``groff -man`` or ``mandoc``.
    """

    name: str
    section: int
    source: str


@dataclass(frozen=True, slots=True)
class ManPath:
    """``data`` of ``canon-ops.man.path/1``."""

    folder: Path


@declare(
    "man show",
    data=ManPage,
    examples=("canon-ops man show", "canon-ops man show config get", "canon-ops man show doctor | mandoc -T html"),
)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
def show_command(context: Context, words: tuple[str, ...]) -> Result:
    """Show the manual page of a command.

    On a terminal the page is opened in the pager of man; elsewhere, and where there is no man, its source is printed.
    Without a COMMAND it is the page of canon-ops itself.
    """
    from canon_ops.cli.manual.page import pages
    from canon_ops.cli.manual.roff import man_page

    page = next((page for page in pages() if page.words == words), None)
    if page is None:
        raise NoSuchPage(f"There is no command {' '.join(words)}.", fix=f"{context.program.name} --help")
    source = man_page(page)
    if context.session.for_people and context.session.may_ask and _open(page.name, source):
        return Result(ManPage(page.name, 1, source))
    return Result(ManPage(page.name, 1, source), (Raw(source),))


@declare("man path", data=ManPath, examples=('export MANPATH="$(canon-ops man path):"',))
def path_command(context: Context) -> Result:
    """Print the folder of the manual pages, for MANPATH."""
    candidates = (Path(sys.prefix) / "share" / "man", Path(__file__).parents[3] / "man")
    for folder in candidates:
        if (folder / "man1" / "canon-ops.1").is_file():
            return Result(ManPath(folder), (Line(str(folder)),))
    raise NoManual("The manual pages are not installed beside this program.", fix="canon-ops man show")


def _open(name: str, source: str) -> bool:
    """Let man show the page; False where there is none, or it cannot."""
    program = shutil.which("man")
    if program is None:
        return False
    from canon_ops.runtime.scratch import scratch_folder

    with scratch_folder() as scratch:
        file = scratch.path / f"{name}.1"
        file.write_text(source, encoding="utf-8")
        return subprocess.run([program, str(file)], check=False).returncode == 0
