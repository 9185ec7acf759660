"""One subject of ``make bench-peers`` for real, with the published plugin in an environment of its own."""

from __future__ import annotations

import pytest

from scripts import bench_peers

pytestmark = [pytest.mark.long, pytest.mark.checkout, pytest.mark.timeout(900)]


def test_a_subject_is_measured_on_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    """T8: the registry's lines name the peer's version, and count on both sides how often the disk is waited for."""
    assert bench_peers.main(["--only", "registry", "--rounds", "1"]) == 0

    said = capsys.readouterr().out
    assert "registry of 1,000, on the clock" in said
    assert "canon-hermes-plugin 0.16.2" in said
    assert "ours waits for the disk 3 times a change" in said
    assert "not measured" not in said
