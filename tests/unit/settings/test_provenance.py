"""Places in words, and how each of them is mended."""

from __future__ import annotations

import pytest

from canon_ops.settings.provenance import Origin, Setting, Source
from canon_ops.settings.secret import Secret

PLACES = {
    Source.MANAGED: (
        Origin(Source.MANAGED, "CANON_AGENT", "/etc/hermes/.env"),
        "CANON_AGENT in /etc/hermes/.env",
        "ask whoever maintains /etc/hermes/.env for CANON_AGENT=ops",
        "ask whoever maintains /etc/hermes/.env to drop CANON_AGENT",
    ),
    Source.PROCESS: (
        Origin(Source.PROCESS, "CANON_AGENT"),
        "CANON_AGENT in the process environment",
        "export CANON_AGENT=ops where the gateway is started, or unset it there",
        "unset CANON_AGENT where the gateway is started",
    ),
    Source.DOTENV: (
        Origin(Source.DOTENV, "CANON_AGENT", "/h/.env", 4),
        "CANON_AGENT in /h/.env, line 4",
        "canon-ops env set CANON_AGENT ops",
        "canon-ops env unset CANON_AGENT",
    ),
    Source.CONFIG: (
        Origin(Source.CONFIG, "platforms.canon.extra.agent", "/h/config.yaml"),
        "platforms.canon.extra.agent in /h/config.yaml",
        "canon-ops config set platforms.canon.extra.agent ops",
        "canon-ops config unset platforms.canon.extra.agent",
    ),
    Source.BOOTSTRAP: (
        Origin(Source.BOOTSTRAP, "o.ps.baseUrl", "/c/agents.json"),
        "o.ps.baseUrl from CANON_AGENTS_JSON_BOOTSTRAP",
        "give the profile o.ps another value in CANON_AGENTS_JSON_BOOTSTRAP",
        "remove the profile o.ps from CANON_AGENTS_JSON_BOOTSTRAP",
    ),
    Source.AGENTS_FILE: (
        Origin(Source.AGENTS_FILE, "o ps.baseUrl", "/c/agents.json"),
        "o ps.baseUrl in /c/agents.json",
        "canon-ops setup canon --canon-profile 'o ps'",
        "remove o ps.baseUrl from /c/agents.json",
    ),
    Source.OPTION: (
        Origin(Source.OPTION, "--base-url"),
        "the answer for --base-url",
        "--base-url ops",
        "leave out --base-url",
    ),
    Source.DEFAULT: (
        Origin(Source.DEFAULT, "CANON_BASE_URL"),
        "the packaged default for CANON_BASE_URL",
        "report this: the packaged default for CANON_BASE_URL is wrong",
        "nothing: CANON_BASE_URL is a packaged default",
    ),
}


def test_every_source_is_covered() -> None:
    """A new source needs its three sentences."""
    assert set(PLACES) == set(Source)


@pytest.mark.parametrize(("origin", "described", "changed", "dropped"), PLACES.values(), ids=[s.value for s in PLACES])
def test_a_place_says_what_it_is_and_how_it_is_mended(
    origin: Origin, described: str, changed: str, dropped: str
) -> None:
    """Each place reads well in a sentence and names the command that changes or drops it."""
    assert (origin.describe(), origin.to_change("ops"), origin.to_drop()) == (described, changed, dropped)


def test_a_setting_shows_no_secret() -> None:
    """What people see of a secret setting is its hint."""
    origin = Origin(Source.PROCESS, "CANON_API_KEY")

    assert Setting("CANON_API_KEY", Secret("agk_live_0123456789a1b2"), origin).shown == "…a1b2"
    assert Setting("CANON_AGENT", "ops", origin).shown == "ops"
