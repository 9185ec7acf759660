"""Telling Hermes' appended help texts from comments that people wrote."""

from __future__ import annotations

from canon_ops.hermes.boilerplate import find_boilerplate

SECURITY = "# ── Security ──────────\n# Secret redaction is ON.\n#\n# security:\n#   redact_secrets: true\n"
FALLBACK = (
    "# ── Fallback Model ────\n# Automatic failover.\n#\n# fallback_model:\n#   model: anthropic/claude-sonnet-4\n"
)


def found(text: str) -> list[str]:
    return [text[start:end] for start, end in find_boilerplate(text)]


def test_both_blocks_are_found() -> None:
    """Whole, from heading to ending, with or without the other."""
    assert found(f"a: 1\n\n{SECURITY}\n{FALLBACK}") == [SECURITY, FALLBACK]
    assert found(f"a: 1\n{FALLBACK}") == [FALLBACK]
    assert found(f"{SECURITY}{FALLBACK}b: 1\n") == [SECURITY, FALLBACK]


def test_what_a_person_wrote_below_is_theirs() -> None:
    """A comment that follows the ending, and a block whose ending was changed."""
    assert found(f"{SECURITY}# mine\n") == [SECURITY]
    assert found(SECURITY.replace("true", "false")) == []
    assert found("# Security matters\n#   redact_secrets: true\n") == []


def test_a_text_without_is_empty() -> None:
    """Nothing is made up."""
    assert found("") == []
    assert found("# ── Security ──\n") == []
