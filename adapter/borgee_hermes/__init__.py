"""Borgee as a platform of the Hermes gateway.

Importing this package imports no host module and no network library; only :func:`register` may. Read registration.py
first, then runtime.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from borgee_hermes.registration import PluginContext

__all__ = ["register"]


def register(ctx: PluginContext) -> None:
    """Register the Borgee platform with the host that loads this plugin."""
    from borgee_hermes.registration import register as register_with_host

    register_with_host(ctx)
