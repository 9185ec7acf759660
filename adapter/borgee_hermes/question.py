"""The words of a question to people: Borgee has no card for one. Pure.

A host draws such a text itself, and one that lacks its catalogue draws the catalogue's key. So the words are ours, on
every host: the question, what can be chosen under its number, and how to answer. Numbers and the words of a choice are
read by the host, whoever drew them.

Source: docs/decisions/0090; hermes-host 14.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from canon_ops.hermes.catalogue import without_keys

__all__ = ["question_text"]


def question_text(question: str, choices: Sequence[Any] | None, *, takes_several: bool = False) -> str:
    """What people read.

    Args:
        choices: what can be chosen; without any the next message is the answer as it stands.
        takes_several: more than one of them may be chosen.
    """
    asked = f"❓ {without_keys(question)}"
    if not choices:
        return asked
    listed = [f"  {number}. {choice}" for number, choice in enumerate(choices, start=1)]
    several = "the numbers, with commas between them" if takes_several else "the number, the words of a choice"
    return "\n".join([asked, "", *listed, "", f"Answer with {several}, or in your own words."])
