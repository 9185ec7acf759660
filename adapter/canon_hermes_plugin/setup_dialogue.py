"""``hermes gateway setup`` for Canon: the dialogue of ``canon-ops setup canon``, asked with Hermes' own prompts.

The dialogue and everything it writes belong to :mod:`canon_ops.operate`.

Source: Canon adapter R1.11; hermes-host 6.5; decisions F2.
"""

from __future__ import annotations

import os

from canon_hermes_plugin.host import home_folder, host_prompts
from canon_ops.hermes.homes import resolve_home
from canon_ops.operate.hermes_prompts import HermesPrompts, HostPrompts, lead_in_hermes
from canon_ops.operate.setup_answers import SetupAnswers
from canon_ops.operate.setup_canon import SetupPlace, setup_canon

__all__ = ["run_setup"]


def run_setup(host: HostPrompts | None = None) -> None:
    """The host's ``setup_fn``: give this Hermes home its Canon agent; what goes wrong is told, never raised."""
    front = host or host_prompts()

    def lead(prompts: HermesPrompts) -> None:
        home = resolve_home(os.environ, hermes_home=home_folder())
        result = setup_canon(SetupPlace(home, os.environ), SetupAnswers(), prompts)
        name = result.agent_name or result.agent_id or "its agent"
        front.success(f"Canon is set up: this Hermes answers as {name} in {result.connection.environment_id}.")
        for origin in result.overridden_by:
            front.error(f"{origin.describe()} still beats it: {origin.to_drop()}")

    lead_in_hermes(front, "Canon", lead)
