"""What the agent's page about cards is called: apart from the cards' rules, as each process of a host is told it."""

from typing import Final

__all__ = ["DESCRIPTION", "SKILL_NAME"]

SKILL_NAME: Final = "rich-cards"
DESCRIPTION: Final = "How to write canon.card.v1 cards for Canon, with all blocks, forms and limits and two examples."
