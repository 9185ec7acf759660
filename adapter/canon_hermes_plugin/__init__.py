"""Canon as a platform of the Hermes gateway.

Importing this package imports no host module and no network library; only :func:`register` may. Read registration.py
first, then runtime.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from canon_hermes_plugin.cards import RUNTIME_CARD_LIMITS, validate_card
    from canon_hermes_plugin.registration import PluginContext

__all__ = ["RUNTIME_CARD_LIMITS", "register", "validate_card"]


def register(ctx: PluginContext) -> None:
    """Register the Canon platform with the host that loads this plugin."""
    from canon_hermes_plugin.registration import register as register_with_host

    register_with_host(ctx)


def __getattr__(name: str) -> Any:
    """The names for domain plugins, loaded when somebody asks for one."""
    if name in ("RUNTIME_CARD_LIMITS", "validate_card"):
        from canon_hermes_plugin import cards

        return getattr(cards, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
