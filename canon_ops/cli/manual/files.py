"""Everything that is generated and checked in, by its path in the checkout: from the command tree, from the rules of
cards, and the shape of the health file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from canon_ops.cli.checks import EVERY_CHECK
from canon_ops.cli.commands.schema import documents_of, loaded_commands
from canon_ops.cli.completion.scripts import scripts
from canon_ops.cli.error_catalogue import error_facts
from canon_ops.cli.manual.markdown import chapter, contents
from canon_ops.cli.manual.page import pages
from canon_ops.cli.manual.roff import man_page
from canon_ops.cli.manual.troubleshooting import troubleshooting
from canon_ops.hermes import platform_health
from canon_ops.operate.completion_place import Shell
from canon_ops.wire.card_skill import SKILL_NAME
from canon_ops.wire.cards.page import skill_page

__all__ = ["FOLDERS", "differences", "generated_files", "text_of"]

# Whatever lies in these and is not generated is a leftover; the README in docs/reference is generated too.
FOLDERS = ("completions", "man/man1", "docs/reference", "docs/schemas", "adapter/canon_hermes_plugin/skills")


def generated_files() -> Mapping[PurePosixPath, str]:
    """Path below the checkout → text."""
    files: dict[str, str] = {}
    for shell, texts in scripts().items():
        for name, text in texts.items():
            files[f"completions/{name}{'.bash' if shell is Shell.BASH else ''}"] = text
    every = pages()
    for page in every:
        files[f"man/man1/{page.name}.1"] = man_page(page)
    files["docs/reference/README.md"] = contents(every)
    for first in dict.fromkeys(page.words[0] for page in every if page.words):
        files[f"docs/reference/{first}.md"] = chapter([page for page in every if page.words[:1] == (first,)])
    files["docs/reference/troubleshooting.md"] = troubleshooting(EVERY_CHECK, error_facts())
    for command in loaded_commands():
        for name, schema in documents_of(command):
            files[_schema_file(name)] = _document(schema)
    files[_schema_file(platform_health.SCHEMA)] = _document(platform_health.JSON_SCHEMA)
    files[f"adapter/canon_hermes_plugin/skills/{SKILL_NAME}/SKILL.md"] = skill_page()
    return {PurePosixPath(name): text for name, text in files.items()}


def _schema_file(name: str) -> str:
    return f"docs/schemas/{name.replace('/', '.')}.json"


def _document(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def differences(root: Path) -> tuple[list[PurePosixPath], list[PurePosixPath]]:
    """What is missing or other than generated, and what lies there and is not generated."""
    wanted = generated_files()
    other = [path for path, text in wanted.items() if text_of(root / path) != text]
    there = [
        PurePosixPath(file.relative_to(root).as_posix())
        for folder in FOLDERS
        for file in sorted((root / folder).rglob("*"))
        if file.is_file()
    ]
    return other, [path for path in there if path not in wanted]


def text_of(file: Path) -> str | None:
    """What ``file`` holds; None when there is no such text."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
