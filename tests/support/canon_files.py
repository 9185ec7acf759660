"""Entries of Canon's local files, as tests write them by hand: never through the code under test."""

from __future__ import annotations

import json

__all__ = ["DEV_BINDING", "KEY", "as_file", "pending_entry", "profile_entry"]

KEY = "agk_live_0123456789abcdef"

DEV_BINDING = {
    "environmentId": "canon-dev-v1",
    "baseUrl": "http://127.0.0.1:8701",
    "streamUrl": "http://127.0.0.1:8702",
    "rtdbUrl": "http://127.0.0.1:8703",
    "firebaseApiKey": "loopback",
}


def profile_entry(**changes: object) -> dict[str, object]:
    """A complete profile of client type ``hermes``; a change to None leaves the field out."""
    entry: dict[str, object] = {
        "agentId": "agent_7Qx",
        "agentName": "Ops Hermes",
        "apiKey": KEY,
        "clientType": "hermes",
        "registeredAt": "2026-09-11T15:51:09Z",
        **DEV_BINDING,
        **changes,
    }
    return {name: value for name, value in entry.items() if value is not None}


def pending_entry(**changes: object) -> dict[str, object]:
    """The pending registration of the profile ``ops``, nothing sent yet; a change to None leaves the field out."""
    entry: dict[str, object] = {
        "profile": "ops",
        "clientType": "hermes",
        "createdAt": "2026-09-11T15:00:00Z",
        "updatedAt": "2026-09-11T15:00:00Z",
        "localRegistrationId": "hermes-3f0d6c1a9b7e4f2d8c5a1e6b7d9f0a2c",
        "ownerPhone": "+14155550123",
        **DEV_BINDING,
        **changes,
    }
    return {name: value for name, value in entry.items() if value is not None}


def as_file(**entries: object) -> bytes:
    """The bytes of a file with these entries."""
    return json.dumps(entries).encode()
