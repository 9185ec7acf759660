"""JSON Schemas of every ``--json`` document, derived from the types that the commands answer with.

A command declares the type of its ``data``; nothing is written twice, and a test validates each command's documents,
failures included, against what is derived here. Unknown fields are allowed: within a version fields are only added.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import PurePath
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from canon_ops.cli.envelope import Json, schema_name
from canon_ops.cli.output import Problem
from canon_ops.hints import __all__ as stood_in

__all__ = ["document_schema", "type_schema"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCALARS: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_LIBRARYS_OWN = {name: getattr(typing, name) for name in stood_in}  # what canon_ops.hints has stand-ins for
_EMPTY: Json = {"type": "object", "maxProperties": 0}


def document_schema(words: Sequence[str], data: object, version: int = 1) -> dict[str, Json]:
    """The schema of the whole document of one command: its answer, its refusals and its wrong calls."""
    name = schema_name(words, version)
    definitions: dict[str, Json] = {}
    fields: dict[str, Json] = {
        "schema": {"const": name},
        "ok": {"type": "boolean"},
        "exit_code": {"type": "integer"},
        "hermes_profile": type_schema(str | None, definitions),
        "hermes_home": type_schema(str | None, definitions),
        "canon_profile": type_schema(str | None, definitions),
        "data": {"anyOf": [type_schema(data, definitions), _EMPTY]},
        "errors": {"type": "array", "items": type_schema(Problem, definitions)},
    }
    return {
        "$schema": _DIALECT,
        "$id": name,
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "$defs": definitions,
    }


def type_schema(kind: object, definitions: dict[str, Json]) -> Json:
    """The schema of one type; dataclasses go to ``definitions`` and are referred to.

    Raises:
        TypeError: the type has no JSON form; see :func:`canon_ops.cli.envelope.to_json`.
    """
    if kind in (Any, object):
        return {}
    if kind in _SCALARS:
        return {"type": _SCALARS[kind]}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [type_schema(argument, definitions) for argument in arguments]}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": type_schema(arguments[1], definitions)}
    if origin is not None and issubclass(origin, Sequence | frozenset | set):
        return _array(origin, arguments, definitions)
    if isinstance(kind, type):
        if issubclass(kind, Enum):
            return {"enum": [member.value for member in kind]}
        if issubclass(kind, PurePath):
            return {"type": "string"}
        if issubclass(kind, dict):
            return {"type": "object"}
        if dataclasses.is_dataclass(kind):
            return _object(kind, definitions)
    raise TypeError(f"{kind!r} has no JSON Schema")


def _array(origin: type, arguments: tuple[object, ...], definitions: dict[str, Json]) -> Json:
    if origin is tuple and arguments[-1] is not Ellipsis:
        items = [type_schema(argument, definitions) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    return {"type": "array", "items": type_schema(arguments[0], definitions)}


def _object(kind: type, definitions: dict[str, Json]) -> Json:
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = None  # taken: a type that refers to itself finds its own name
        hints = get_type_hints(kind, localns=_LIBRARYS_OWN)
        properties = {field.name: type_schema(hints[field.name], definitions) for field in dataclasses.fields(kind)}
        definitions[kind.__name__] = {"type": "object", "properties": properties, "required": list(properties)}
    return {"$ref": f"#/$defs/{kind.__name__}"}
