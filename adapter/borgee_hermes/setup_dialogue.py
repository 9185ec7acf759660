"""``hermes gateway setup`` for Borgee: the dialogue of ``canon-ops setup borgee``, asked with Hermes' own prompts.

Source: hermes-host 6.5; decisions F2.
"""

from __future__ import annotations

import os

from borgee_hermes.host import home_folder, host_prompts
from borgee_hermes.introduction import who_is
from canon_ops.hermes.homes import resolve_home
from canon_ops.keyring.access import Keyring
from canon_ops.operate.borgee_answers import BorgeeAnswers
from canon_ops.operate.hermes_prompts import HermesPrompts, HostPrompts, lead_in_hermes
from canon_ops.operate.setup_borgee import setup_borgee
from canon_ops.operate.writing import Writing

__all__ = ["run_setup"]

_WAIT_S = 15.0


def run_setup(host: HostPrompts | None = None) -> None:
    """The host's ``setup_fn``: give this Hermes home its Borgee agent; what goes wrong is told, never raised."""
    front = host or host_prompts()

    def lead(prompts: HermesPrompts) -> None:
        home = resolve_home(os.environ, hermes_home=home_folder())
        asking = who_is(home, os.environ, timeout_s=_WAIT_S)
        writing = Writing(home, os.environ, "setup borgee")
        result = setup_borgee(writing, Keyring(os.environ), BorgeeAnswers(), prompts, who_is=asking)
        name = result.agent.display_name or result.agent.agent_id
        front.success(f"Borgee is set up: this Hermes answers as {name} at {result.options.origin}.")
        if (origin := result.overridden_by) is not None:
            front.error(f"{origin.describe()} still beats it: {origin.to_drop()}")

    lead_in_hermes(front, "Borgee", lead)
