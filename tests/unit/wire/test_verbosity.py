"""How much of a turn people see: the tables of configuration and kinds."""

from __future__ import annotations

import pytest

from canon_ops.settings.options import TurnVerbosity
from canon_ops.wire.verbosity import conversation_kind, parse_verbosity, resolve_verbosity


@pytest.mark.parametrize(
    ("configured", "kind", "expected"),
    [
        *(pytest.param(None, kind, "verbose", id=f"S6.49-{kind}") for kind in ("direct", "dm", "DM")),
        pytest.param(None, "group", "quiet", id="S6.49-group"),
        *(pytest.param(None, kind, "verbose", id=f"S6.49-{kind!r}") for kind in ("unknown", "", None, "channel")),
        pytest.param("auto", "group", "quiet", id="S6.49-auto-is-unset"),
        pytest.param(" Verbose ", "group", "verbose", id="S6.49-explicit-verbose"),
        pytest.param("quiet", "direct", "quiet", id="S6.49-explicit-quiet"),
        *(pytest.param(word, "group", "quiet", id=f"S6.49-{word!r}-is-default") for word in ("loud", "", 3)),
    ],
)
def test_the_verbosity_of_a_turn(configured: object, kind: object, expected: str) -> None:
    """S6.49: an explicit setting wins, else the kind of the conversation decides."""
    assert resolve_verbosity(parse_verbosity(configured), conversation_kind(kind)) is TurnVerbosity(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("QUIET ", TurnVerbosity.QUIET),
        ("Auto", TurnVerbosity.AUTO),
        ("", None),
        ("  ", None),
        (None, None),
        ("loud", None),
        (7, None),
        ([], None),
    ],
)
def test_reading_a_setting(value: object, expected: TurnVerbosity | None) -> None:
    """S6.50: words are trimmed and lower-cased, everything else is no setting."""
    assert parse_verbosity(value) is expected
