"""JSON Schemas derived from types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest

from canon_ops.cli.commands.schema import loaded_commands
from canon_ops.cli.envelope import Json, document, schema_name, to_json
from canon_ops.cli.output import Problem
from canon_ops.cli.schemas import document_schema, type_schema
from canon_ops.errors import ExitCode
from tests.unit.cli.conftest import Runner


class Shade(Enum):
    DARK = "dark"
    LIGHT = "light"


@dataclass(frozen=True)
class Lamp:
    shade: Shade
    place: Path
    watts: tuple[int, ...]
    twin: Lamp | None
    notes: Mapping[str, float]
    socket: Literal["a", "b"]
    size: tuple[int, str]
    anything: Any


LAMP = Lamp(Shade.DARK, Path("/x"), (1, 2), None, {"a": 0.5}, "b", (3, "cm"), object)


def test_a_value_agrees_with_the_schema_of_its_type() -> None:
    """What to_json writes for a value is what type_schema says about its type, references to itself included."""
    definitions: dict[str, Json] = {}
    reference = type_schema(Lamp, definitions)
    schema = {**reference, "$defs": definitions} if isinstance(reference, dict) else {}
    lamp = Lamp(Shade.LIGHT, Path("/y"), (), LAMP, {}, "a", (1, "m"), None)

    value = to_json({**vars(lamp), "twin": {**vars(LAMP), "anything": [1]}})

    jsonschema.validate(value, schema)


@pytest.mark.parametrize(
    "change",
    [{"shade": "blue"}, {"watts": ["1"]}, {"size": [1]}, {"socket": "c"}, {"notes": {"a": "b"}}, {"twin": 3}],
    ids=str,
)
def test_a_value_of_another_type_is_refused(change: dict[str, Json]) -> None:
    """The derived schema is not merely permissive."""
    definitions: dict[str, Json] = {}
    reference = type_schema(Lamp, definitions)
    schema = {**reference, "$defs": definitions} if isinstance(reference, dict) else {}
    value = to_json({**vars(LAMP), "anything": None})
    assert isinstance(value, dict)

    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**value, **change}, schema)


def test_a_type_without_json_form_is_our_bug() -> None:
    """Bytes cannot be promised to a script."""
    with pytest.raises(TypeError, match="bytes"):
        type_schema(bytes, {})


def test_every_command_has_a_valid_schema_that_admits_a_refusal() -> None:
    """The schema of each command is itself valid, and a failure of that command validates."""
    for command in loaded_commands():
        schema = document_schema(command.document_words, command.data, command.schema_version)
        refusal = document(
            schema=schema_name(command.document_words, command.schema_version),
            exit_code=ExitCode.FAILED,
            hermes_profile=None,
            hermes_home=None,
            problems=[Problem("refused", "No.")],
        )

        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(__import__("json").loads(refusal), schema)


@pytest.mark.parametrize("name", ["version", "canon-ops.version", "canon-ops.version/1"])
def test_a_schema_is_shown_by_its_name_or_by_the_command(program: Runner, name: str) -> None:
    """The short name, the long one, and the versioned one mean the same document."""
    shown = program("schema", "show", name, "--json").json

    assert shown["data"]["name"] == "canon-ops.version/1"
    assert shown["data"]["json_schema"]["properties"]["schema"] == {"const": "canon-ops.version/1"}


def test_an_unknown_schema_is_refused(program: Runner) -> None:
    """Exit 1 with the command that lists them; a version that does not exist is unknown too."""
    ran = program("schema", "show", "version/9")

    assert (ran.code, ran.out, ran.err) == (
        1,
        "",
        "Error: No document is called version/9.\n  fix: canon-ops schema list\n",
    )
