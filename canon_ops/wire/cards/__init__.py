"""``canon.card.v1``: the documents that an agent shows, and how to tell that one is right before Canon sees it."""

from canon_ops.wire.cards.document import Verdict, action_count, validate_card
from canon_ops.wire.cards.limits import MAX_CARD_BYTES, RUNTIME_CARD_LIMITS

__all__ = ["MAX_CARD_BYTES", "RUNTIME_CARD_LIMITS", "Verdict", "action_count", "validate_card"]
