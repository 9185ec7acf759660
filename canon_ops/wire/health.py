"""Which environment a service says it belongs to.

Three exact matches make an identity: the header and two keys of the body. The HTTP status is not looked at: a degraded
service that is the right one passes. One that claims nothing at all is told apart from one that claims to be another:
with a server error beside it, it is merely down, which passes by itself.

Source: Canon wire 1.5; canon-adapter SC.5, D20.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from canon_ops.settings.environments import ENVIRONMENTS, Connection
from canon_ops.wire.fields import as_object

__all__ = ["ENVIRONMENT_HEADER", "Identity", "IdentityMismatch", "check_identity", "probe_urls"]

ENVIRONMENT_HEADER = "x-canon-environment-id"
_SHOWN_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Identity:
    """The service is the one we look for."""

    environment_id: str
    project_id: str


@dataclass(frozen=True, slots=True)
class IdentityMismatch:
    """The service is another one, or does not say.

    Attributes:
        claims_nothing: neither the header nor a body key was there.
        answers_for: the environment that all three claims agree on, when it is one that exists.
    """

    what: str
    claims_nothing: bool
    answers_for: str | None = None


def probe_urls(connection: Connection) -> tuple[tuple[str, str], tuple[str, str]]:
    """The two probes, name and address, in the order in which they are made; one slash belongs, the other does not."""
    return ("API", f"{connection.base_url}/healthz/"), ("stream", f"{connection.stream_url}/health")


def check_identity(
    connection: Connection, headers: Mapping[str, str], body: bytes | str
) -> Identity | IdentityMismatch:
    """Compare what a probe answered with what ``connection`` expects.

    Args:
        headers: any capitalisation of names.
        body: as received; text that is not a JSON object claims nothing.
    """
    claims = as_object(_json(body))
    found = {
        f"header {ENVIRONMENT_HEADER}": (
            {name.lower(): value for name, value in headers.items()}.get(ENVIRONMENT_HEADER)
        ),
        "environmentId": claims.get("environmentId"),
        "projectId": claims.get("projectId"),
    }
    expected = dict(
        zip(found, (connection.environment_id, connection.environment_id, connection.project_id), strict=True)
    )
    wrong = [
        f"{name} is {_shown(found[name])} instead of {value}"
        for name, value in expected.items()
        if found[name] != value
    ]
    if wrong:
        header, environment_id, project_id = found.values()
        answers_for = next(
            (
                other.environment_id
                for other in ENVIRONMENTS.values()
                if (header, environment_id, project_id)
                == (other.environment_id, other.environment_id, other.project_id)
            ),
            None,
        )
        return IdentityMismatch("; ".join(wrong), all(value is None for value in found.values()), answers_for)
    return Identity(connection.environment_id, connection.project_id)


def _json(body: bytes | str) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)[:_SHOWN_CHARACTERS]
