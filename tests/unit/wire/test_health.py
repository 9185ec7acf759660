"""Who a service says it is."""

from __future__ import annotations

import json

import pytest

from canon_ops.wire.health import Identity, IdentityMismatch, check_identity, probe_urls
from tests.support.canon_wire import a_connection

HEADERS = {"X-Canon-Environment-Id": "canon-dev-v1"}
BODY = {"status": "ok", "environmentId": "canon-dev-v1", "projectId": "canonmail-dev"}


def test_sc_5_the_two_addresses() -> None:
    """SC.5: the API's path ends with a slash, the stream's does not, and the API comes first."""
    connection = a_connection("https://api.test", "https://stream.test")

    assert probe_urls(connection) == (
        ("API", "https://api.test/healthz/"),
        ("stream", "https://stream.test/health"),
    )


def test_sc_5_three_matches_make_an_identity() -> None:
    """SC.5: header and body agree with the environment; further keys and the case of the header are of no matter."""
    assert check_identity(a_connection(), HEADERS, json.dumps(BODY)) == Identity("canon-dev-v1", "canonmail-dev")
    assert isinstance(
        check_identity(a_connection(), {"x-CANON-environment-ID": "canon-dev-v1"}, json.dumps(BODY)), Identity
    )


@pytest.mark.parametrize(
    ("headers", "body", "what"),
    [
        ({}, BODY, "header x-canon-environment-id is missing instead of canon-dev-v1"),
        ({"X-Canon-Environment-Id": "canon-prod-v1"}, BODY, "header x-canon-environment-id is 'canon-prod-v1'"),
        ({"X-Canon-Environment-Id": "canon-dev-v1 "}, BODY, "header x-canon-environment-id is 'canon-dev-v1 '"),
        (HEADERS, {**BODY, "environmentId": "canon-prod-v1"}, "environmentId is 'canon-prod-v1'"),
        (HEADERS, {**BODY, "projectId": "canonmail-prod"}, "projectId is 'canonmail-prod' instead of canonmail-dev"),
        (HEADERS, {**BODY, "projectId": 7}, "projectId is 7"),
        (HEADERS, [BODY], "environmentId is missing"),
        (HEADERS, "<html>", "environmentId is missing"),
    ],
    ids=str,
)
def test_sc_5_each_difference_alone_is_a_mismatch(headers: dict[str, str], body: object, what: str) -> None:
    """SC.5: one wrong value is enough, and the sentence names it with what was expected."""
    text = body if isinstance(body, str) else json.dumps(body)

    verdict = check_identity(a_connection(), headers, text)

    assert isinstance(verdict, IdentityMismatch)
    assert what in verdict.what
    assert not verdict.claims_nothing or headers == {}


def test_a_service_that_says_nothing_is_told_apart() -> None:
    """No header and no known key: nobody claims to be another environment."""
    verdict = check_identity(a_connection(), {"Server": "proxy"}, b"<html>502</html>")

    assert isinstance(verdict, IdentityMismatch) and verdict.claims_nothing


def test_what_a_stranger_says_is_quoted_in_part() -> None:
    """A long value does not fill the log."""
    verdict = check_identity(a_connection(), HEADERS, json.dumps({**BODY, "projectId": "x" * 10_000}))

    assert isinstance(verdict, IdentityMismatch) and len(verdict.what) < 200
