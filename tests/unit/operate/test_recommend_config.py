"""The documented settings, proposed one by one."""

from __future__ import annotations

import pytest

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.operate.recommend_config import (
    Recommendation,
    apply_recommendations,
    pick,
    recommendations,
)
from tests.support.scripted_prompts import ScriptedPrompts

DOCUMENTED = {
    "platforms.canon.enabled": True,
    "display.platforms.canon.interim_assistant_messages": False,
    "display.platforms.canon.tool_progress": "off",
    "display.platforms.canon.show_reasoning": False,
    "streaming.enabled": True,
    "approvals.mode": "manual",
}


def proposed(text: str, *platforms: str) -> dict[str, object]:
    found = recommendations(ConfigDocument.parse(text.encode()), platforms or ("canon",))
    return {each.path: each.after for each in found}


def test_an_empty_file_gets_every_documented_setting() -> None:
    """Of the platform asked for, and of Hermes; what is the default anyway is not proposed."""
    assert proposed("") == DOCUMENTED
    assert "borgee.enabled" in proposed("", "borgee")
    assert not any("canon" in path for path in proposed("", "borgee"))


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("streaming: {enabled: true}\n", "streaming.enabled", None),
        ("streaming: {enabled: 'true'}\n", "streaming.enabled", True),  # a text is no switch (BR-08)
        ("approvals: {mode: off}\n", "approvals.mode", "manual"),  # false, for Hermes (BR-07)
        ("streaming: {mode: edit}\n", "streaming.mode", "auto"),  # the file's own spelling
        ("multiplex_profiles: true\n", "multiplex_profiles", False),
    ],
)
def test_what_the_file_says_decides(text: str, path: str, expected: object) -> None:
    """Another value, another type and another spelling."""
    assert proposed(text).get(path) == expected


def test_a_person_picks_some() -> None:
    """Each is asked about, with what it means."""
    both = (Recommendation("a", None, True, "meaning of a"), Recommendation("b", 1, "x", "meaning of b"))
    prompts = ScriptedPrompts(("--yes", False), ("--yes", True))

    chosen = pick(prompts, both)

    assert chosen == both[1:]
    assert prompts.asked == ["Set a to true?", "Set b to x?"]


def test_what_was_picked_is_set_and_nothing_else() -> None:
    """The comments stay; afterwards there is nothing to propose."""
    document = ConfigDocument.parse(b"# mine\napprovals:\n  mode: smart  # once\n")

    after = apply_recommendations(document, recommendations(document, ("canon",)))

    assert b"# mine\napprovals:\n  mode: manual  # once\n" in after.data
    assert recommendations(after, ("canon",)) == ()
