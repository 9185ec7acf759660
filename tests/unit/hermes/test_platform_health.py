"""The health file: what is written is read back, and what is no longer true is not believed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from canon_ops.hermes.platform_health import JSON_SCHEMA, SCHEMA, PlatformHealth, StreamState, Trust, health_file

NOW = 1_790_000_000_000
REPORT = PlatformHealth(
    platform="canon",
    version="0.1.0",
    host_version="0.19.0",
    pid=7,
    written_at_ms=NOW,
    environment_id="canon-dev-v1",
    agent_id="agent-1",
    stream=StreamState.LOST,
    stream_since_ms=NOW - 5,
    reconnects=3,
    last_trouble="the connection ended",
    last_event_at_ms=NOW - 9,
    cursor="evt-1",
    cursor_age_s=1.5,
    in_work=2,
    turns_open=1,
    outbox_depth=1,
    outbox_oldest_ms=NOW - 100,
)

SHIPPED = Path(__file__).parents[3] / "docs" / "schemas" / "canon-ops.platform-health.1.json"


@pytest.mark.checkout
@pytest.mark.parametrize("report", [REPORT, replace(REPORT, agent_id=None, cursor=None, last_trouble=None)], ids=str)
def test_a_report_is_read_back(report: PlatformHealth) -> None:
    """X9: the file fits the schema that is shipped, and its reader sees what its writer said."""
    shipped = json.loads(SHIPPED.read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(shipped)
    validator.check_schema(shipped)

    validator.validate(json.loads(report.data))
    assert list(validator.iter_errors({**json.loads(report.data), "stream": "dreaming"})) != []
    assert PlatformHealth.parse(report.data) == report


def test_the_schema_names_every_field() -> None:
    """A field that is added without its shape is noticed here."""
    assert set(JSON_SCHEMA["properties"]) == {"schema", *json.loads(REPORT.data)}
    assert json.loads(REPORT.data)["schema"] == SCHEMA


def test_fields_of_a_newer_writer_are_left_alone() -> None:
    """A reader of this version takes what it knows."""
    data = json.dumps({**json.loads(REPORT.data), "mood": "fine"}).encode()

    assert PlatformHealth.parse(data) == REPORT


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"\xff",
        b"{}",
        json.dumps({**json.loads(REPORT.data), "schema": "other/1"}).encode(),
        json.dumps({**json.loads(REPORT.data), "stream": "sideways"}).encode(),
        json.dumps({**json.loads(REPORT.data), "pid": "7"}).encode(),
        json.dumps({**json.loads(REPORT.data), "pid": True}).encode(),
        json.dumps({key: value for key, value in json.loads(REPORT.data).items() if key != "pid"}).encode(),
    ],
)
def test_what_is_no_report_reads_as_none(data: bytes) -> None:
    """A file that was cut, or written by something else, is no report and no error."""
    assert PlatformHealth.parse(data) is None


@pytest.mark.parametrize(
    ("age_s", "is_alive", "trust"),
    [(0, True, Trust.CURRENT), (89, True, Trust.CURRENT), (91, True, Trust.STALE), (0, False, Trust.DEAD)],
)
def test_a_report_is_believed_while_its_process_writes(age_s: int, is_alive: bool, trust: Trust) -> None:
    """D62: a killed gateway's last word, and that of one whose loop hangs, is not taken for the present."""
    assert REPORT.trust(now_ms=NOW + age_s * 1_000, is_alive=is_alive) is trust


def test_the_file_lies_with_the_platforms_state(tmp_path: Path) -> None:
    """X9 names the place."""
    assert health_file(tmp_path, "canon") == tmp_path / "plugins" / "canon" / "health.json"
