"""Every ``--json`` document that a test reads is held to its schema, with what stands in it."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema

from canon_ops.cli.commands.schema import loaded_commands
from canon_ops.cli.envelope import schema_name
from canon_ops.cli.schemas import document_schema

__all__ = ["checked"]

_ENDS = (".", "!", "?", "…")


def checked(document: dict[str, Any]) -> dict[str, Any]:
    """The document, which agrees with the schema of its command; one that answers has an answer in it.

    A schema admits empty data, for refusals; so a document that says ``ok`` is refused here when it has none.
    """
    _validator(document["schema"]).validate(document)
    assert document["ok"] is (document["exit_code"] == 0)
    assert document["data"] or not document["ok"], f"{document['schema']} is ok and says nothing"
    broken_off = [one["message"] for one in document["errors"] if not one["message"].endswith(_ENDS)]
    assert broken_off == [], "a message is a sentence, with its end"
    return document


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    found = [each for each in loaded_commands() if schema_name(each.document_words, each.schema_version) == name]
    assert found, f"no command has the schema {name}"
    command = found[0]
    return jsonschema.Draft202012Validator(
        document_schema(command.document_words, command.data, command.schema_version)
    )
