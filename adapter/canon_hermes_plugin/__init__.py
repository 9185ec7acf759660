"""Canon as a platform of the Hermes gateway.

Importing this package imports no host module and no network library; only :func:`register` may. Read registration.py
first, then runtime.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from canon_hermes_plugin.cards import RUNTIME_CARD_LIMITS, validate_card
    from canon_hermes_plugin.domain import (
        CanonTurnContext,
        check_detached_approval,
        current_canon_inbound_media,
        current_canon_turn,
        request_card_for_current_human,
        request_detached_approval_for_current_human,
        send_card_to_current_conversation,
        upload_media_for_current_conversation,
    )
    from canon_hermes_plugin.media.captures import CanonInboundMedia
    from canon_hermes_plugin.registration import PluginContext

__all__ = [
    "RUNTIME_CARD_LIMITS",
    "CanonInboundMedia",
    "CanonTurnContext",
    "check_detached_approval",
    "current_canon_inbound_media",
    "current_canon_turn",
    "register",
    "request_card_for_current_human",
    "request_detached_approval_for_current_human",
    "send_card_to_current_conversation",
    "upload_media_for_current_conversation",
    "validate_card",
]


def register(ctx: PluginContext) -> None:
    """Register the Canon platform with the host that loads this plugin."""
    from canon_hermes_plugin.registration import register as register_with_host

    register_with_host(ctx)


def __getattr__(name: str) -> Any:
    """The names for domain plugins, loaded when somebody asks for one."""
    if name in ("RUNTIME_CARD_LIMITS", "validate_card"):
        from canon_hermes_plugin import cards

        return getattr(cards, name)
    if name in __all__:
        from canon_hermes_plugin import domain

        return getattr(domain, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
