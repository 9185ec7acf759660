"""The manual: every command has its page, each page is complete, and the formatters find nothing to complain about."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click
import pytest

from canon_ops.cli.commands.schema import loaded_commands
from canon_ops.cli.manual.facts import EXITS
from canon_ops.cli.manual.files import differences, generated_files
from canon_ops.cli.manual.page import pages
from canon_ops.cli.manual.roff import man_page
from canon_ops.cli.tree import leaves
from canon_ops.errors import ExitCode
from tests.support.tools import needs

PAGES = {page.words: page for page in pages()}


def test_every_command_and_every_group_has_a_page() -> None:
    """One a command, and one for each group on the way to it."""
    wanted = {words[:length] for words, _ in leaves() for length in range(len(words) + 1)}

    assert set(PAGES) == wanted


def test_every_option_stands_on_the_page_of_its_command() -> None:
    """Names, values and sentence, as --help shows them; and each variable that answers for it."""
    for command in loaded_commands():
        page = PAGES[command.words]
        told = {row.term for section in page.sections if section.title.startswith("Options") for row in section.rows}
        variables = {row.term for section in page.sections if section.title == "Environment" for row in section.rows}
        for param in command.params:
            if isinstance(param, click.Option):
                assert any(param.opts[0] in term for term in told), (page.command, param.opts)
                assert not isinstance(param.envvar, str) or param.envvar in variables


def test_every_page_of_a_command_has_its_sections() -> None:
    """EXIT STATUS, FILES, ENVIRONMENT and EXAMPLES are there, and the examples call the command itself."""
    for words, _ in leaves():
        page = PAGES[words]
        assert {"Exit status", "Files", "Environment"} <= {section.title for section in page.sections}, page.command
        assert page.examples, f"{page.command} has no example"
        assert all(page.command in example for example in page.examples), page.command


def test_every_exit_code_has_its_words() -> None:
    """The table of codes and the table of words hold the same."""
    assert set(EXITS) == set(ExitCode)


@needs("groff")
def test_groff_has_no_warning(tmp_path: Path) -> None:
    """``groff -ww`` on all pages: no warning of any kind, and text comes out."""
    files = written(tmp_path)

    done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", *files], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert "canon-ops config get" in done.stdout


@needs("mandoc")
def test_mandoc_has_no_finding(tmp_path: Path) -> None:
    """``mandoc -Tlint`` on all pages: nothing, down to style."""
    done = subprocess.run(["mandoc", "-Tlint", *written(tmp_path)], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "")


@needs("mandoc")
@pytest.mark.parametrize("words", [("config", "set"), ("setup", "canon")], ids=" ".join)
def test_examples_and_options_can_be_copied(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Dashes, quotes and tildes of a rendered page are the ASCII ones."""
    file = tmp_path / "page.1"
    file.write_text(man_page(PAGES[words]))

    done = subprocess.run(["mandoc", "-Tutf8", "-Owidth=200", str(file)], capture_output=True, text=True, check=True)
    text = _plain(done.stdout)

    for example in PAGES[words].examples:
        assert example in text


def test_generating_twice_gives_the_same_and_notices_every_change(tmp_path: Path) -> None:
    """A missing file, a changed one and one that is left over are all named."""
    for path, text in generated_files().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert differences(tmp_path) == ([], [])

    (tmp_path / "man/man1/canon-ops-version.1").write_text("other")
    (tmp_path / "docs/reference/config.md").unlink()
    (tmp_path / "docs/schemas/old.json").write_text("{}")
    other, left_over = differences(tmp_path)

    assert sorted(map(str, other)) == ["docs/reference/config.md", "man/man1/canon-ops-version.1"]
    assert list(map(str, left_over)) == ["docs/schemas/old.json"]


def _plain(text: str) -> str:
    """Overstruck characters as themselves."""
    plain: list[str] = []
    for char in text:
        if char == "\b":
            plain.pop()
        else:
            plain.append(char)
    return "".join(plain)


def written(folder: Path) -> list[str]:
    """All pages as files."""
    for page in PAGES.values():
        (folder / f"{page.name}.1").write_text(man_page(page))
    return [str(file) for file in sorted(folder.glob("*.1"))]
