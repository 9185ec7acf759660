"""``canon-ops schema``: the JSON Schema of every ``--json`` document."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click

from canon_ops.cli.command import OperatorCommand
from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.envelope import schema_name
from canon_ops.cli.output import Raw, Result, Table
from canon_ops.cli.schemas import document_schema
from canon_ops.cli.tree import leaves
from canon_ops.errors import NotFoundError

__all__ = ["SchemaNames", "SchemaShown", "documents_of", "list_command", "loaded_commands", "show_command"]


class NoSuchSchema(NotFoundError):
    """No document has this name."""

    code = "no_such_schema"


@dataclass(frozen=True, slots=True)
class SchemaNames:
    """``data`` of ``canon-ops.schema.list/1``."""

    schemas: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SchemaShown:
    """``data`` of ``canon-ops.schema.show/1``: the schema itself is a value in it."""

    name: str
    json_schema: Mapping[str, Any]


@declare("schema list", data=SchemaNames, examples=("canon-ops schema list --json",))
def list_command(context: Context) -> Result:
    """List the JSON documents that commands answer with."""
    names = [(name, " ".join(command.words)) for name, command, _ in _documents()]
    return Result(SchemaNames(tuple(name for name, _ in names)), (Table(("schema", "command"), names),))


@declare("schema show", data=SchemaShown, examples=("canon-ops schema show config.get > config.get.schema.json",))
@click.argument("name")
def show_command(context: Context, name: str) -> Result:
    """Print the JSON Schema of one document.

    NAME is the document's name (canon-ops.config.get/1) or the command's words (config.get).
    """
    for full, _, schema in _documents():
        without_version = full.partition("/")[0]
        if name in (full, without_version, without_version.removeprefix("canon-ops.")):
            text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
            return Result(SchemaShown(full, schema), (Raw(text),))
    raise NoSuchSchema(f"No document is called {name}.", fix="canon-ops schema list")


def loaded_commands() -> list[OperatorCommand]:
    """Every command of the tree, loaded: only documentation needs them all."""
    found = []
    for _, entry in leaves():
        module, _, attribute = entry.target.partition(":")
        found.append(getattr(importlib.import_module(f"canon_ops.cli.commands.{module}"), attribute))
    return found


def documents_of(command: OperatorCommand) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and schema of every document that a command answers with."""
    for words, data in command.documents:
        yield schema_name(words, command.schema_version), document_schema(words, data, command.schema_version)


def _documents() -> Iterator[tuple[str, OperatorCommand, dict[str, Any]]]:
    for command in loaded_commands():
        for name, schema in documents_of(command):
            yield name, command, schema
