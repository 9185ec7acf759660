"""Lines of a host that lacks its own texts."""

from __future__ import annotations

import pytest

from canon_ops.hermes.catalogue import without_keys


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Which?\ngateway.clarify.skip_hint", "Which?"),
        ("gateway.clarify.skip_hint\n\nWhich?\n  gateway.a1.b_2 \n", "Which?"),
        ("gateway.clarify.skip_hint", ""),
    ],
)
def test_a_line_that_is_a_key_goes(said: str, left: str) -> None:
    """What the host meant to say there nobody knows."""
    assert without_keys(said) == left


@pytest.mark.parametrize(
    "said",
    [
        "",
        " Which? \n",
        "Set gateway.clarify.skip_hint?",
        "gateway.run",
        "gateway.restart_loop_guard",
        "Gateway.clarify.skip_hint",
        "gateway.clarify.",
        "agent.clarify.skip_hint",
    ],
)
def test_everything_else_stays_as_it_is(said: str) -> None:
    """Words with a key among them, a setting's name and blanks are somebody's own."""
    assert without_keys(said) == said
