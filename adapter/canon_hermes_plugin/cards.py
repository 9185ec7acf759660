"""Cards, for whoever writes a plugin of their own; the grammar itself is :mod:`canon_ops.wire.cards` (decisions F4)."""

from canon_ops.wire.cards import MAX_CARD_BYTES, RUNTIME_CARD_LIMITS, validate_card

__all__ = ["MAX_CARD_BYTES", "RUNTIME_CARD_LIMITS", "validate_card"]
