"""A home that serves Borgee alone is not told what it lacks of Canon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Runner

BORGEE = "plugins: {enabled: [borgee]}\nborgee: {enabled: true}\n"


@pytest.fixture
def hermes(home: Path) -> Path:
    folder = home / ".hermes"
    folder.mkdir()
    folder.joinpath("config.yaml").write_text(BORGEE)
    return folder


def areas(program: Runner, *words: str) -> set[str]:
    found = program("doctor", "--offline", "--python", "/nonexistent", "--json", *words).json["data"]["checks"]
    return {one["area"] for one in found} | {one["id"] for one in found}


def test_borgee_alone_is_asked_about_borgee(program: Runner, hermes: Path) -> None:
    """Files, host, gateway and Borgee; nothing about a credential that nobody wants."""
    asked = areas(program)

    assert {"host", "config", "borgee", "fs"} <= asked
    assert asked & {"canon", "net", "approvals", "registration", "creds.present", "plugin.enabled"} == set()


def test_whoever_names_a_check_gets_it(program: Runner, hermes: Path) -> None:
    """By id and by area."""
    assert "creds.present" in areas(program, "--area", "creds")
    assert "plugin.enabled" in areas(program, "--only", "plugin.enabled")


@pytest.mark.parametrize("trace", ["plugin", "denied", "switch", "credential", "no borgee", "unreadable"])
def test_the_least_trace_of_canon_brings_its_questions(program: Runner, hermes: Path, home: Path, trace: str) -> None:
    """In doubt everything is asked."""
    config = hermes / "config.yaml"
    match trace:
        case "plugin":
            config.write_text(BORGEE.replace("[borgee]", "[borgee, canon-hermes]"))
        case "denied":
            config.write_text(BORGEE.replace("[borgee]", "[borgee], disabled: [canon-hermes]"))
        case "switch":
            config.write_text(BORGEE + "platforms: {canon: {enabled: true}}\n")
        case "credential":
            (home / ".canon").mkdir()
            profile = {"clientType": "hermes", "agentId": "a", "apiKey": "agk_live_sandbox_x"}
            binding = {"environmentId": "canon-dev-v1"}
            (home / ".canon" / "agents.json").write_text(json.dumps({"ops": {**profile, **binding}}))
        case "no borgee":
            config.write_text("model: {default: x}\n")
        case "unreadable":
            config.write_text("a: [\n")

    assert {"creds.present", "net", "canon"} <= areas(program)
