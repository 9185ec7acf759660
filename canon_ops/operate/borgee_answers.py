"""What ``setup borgee`` is told, and what it gives back: the two ends of its dialogue.

As with ``setup canon``, a field that is None is asked for, or takes its default when nobody can be asked; the key is
never among the answers that are saved.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from canon_ops.errors import CredentialError, RefusedError
from canon_ops.settings.borgee import BorgeeOptions
from canon_ops.settings.provenance import Origin
from canon_ops.settings.secret import Secret

__all__ = ["BorgeeAgent", "BorgeeAnswers", "BorgeeSetupResult", "OtherAgent", "SharedChange", "SharedRefused", "WhoIs"]


@dataclass(frozen=True, slots=True)
class BorgeeAnswers:
    """Answers given beforehand; each names the option that gives it."""

    base_url: str | None = None  # --base-url
    allow_insecure_loopback: bool | None = None  # --allow-insecure-loopback
    agent_id: str | None = None  # --agent-id
    keep_key: bool | None = None  # --keep-key
    api_key: Secret | None = field(default=None, repr=False)  # --api-key-stdin, --api-key-file, --api-key-env
    store: str | None = None  # --store: file or keyring
    change_shared: bool | None = None  # --change-shared

    def as_words(self) -> str:
        """The command with these answers; never a key."""
        words = ["setup borgee"]
        for name in ("base_url", "agent_id", "store"):
            if value := getattr(self, name):
                words.append(f"--{name.replace('_', '-')} {shlex.quote(value)}")
        for name in ("allow_insecure_loopback", "keep_key", "change_shared"):
            if getattr(self, name):
                words.append(f"--{name.replace('_', '-')}")
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class BorgeeAgent:
    """Who a key belongs to, as the server says."""

    agent_id: str
    display_name: str
    role: str


WhoIs = Callable[[BorgeeOptions, Secret], BorgeeAgent]
"""Asks the server whose key it is, over the connection that a gateway would use.

It raises an error of :mod:`canon_ops.errors`: a credential's exit code when the key is refused, a conflict while a
gateway holds the agent's one connection, anything else when the server was not reached.
"""


@dataclass(frozen=True, slots=True)
class SharedChange:
    """A setting of the whole gateway that Borgee needs otherwise.

    Attributes:
        before: what is written there; None for Hermes' default.
    """

    path: str
    before: object
    after: bool | str


@dataclass(frozen=True, slots=True)
class BorgeeSetupResult:
    """What setup did.

    Attributes:
        shared: the settings of the whole gateway that were changed.
        store: where the key is.
        changed: something was written, or would be: a file, or the key in the keyring.
        diff: the changes, secrets masked.
        overridden_by: a place outside ``.env`` whose key still beats the one that was set up.
        answers: everything that was answered, the key left out.
        is_installed: the plugin is enabled in this home.
    """

    options: BorgeeOptions
    agent: BorgeeAgent
    shared: tuple[SharedChange, ...]
    store: Literal["file", "keyring"]
    files: tuple[Path, ...]
    changed: bool
    diff: str
    history_id: str | None
    overridden_by: Origin | None
    answers: BorgeeAnswers
    is_installed: bool
    dry_run: bool


class OtherAgent(CredentialError):
    """The key is not that agent's, or not an agent's at all."""

    code = "borgee_other_agent"


class SharedRefused(RefusedError):
    """Borgee needs settings of the whole gateway that nobody agreed to change."""

    code = "borgee_shared_settings"

    def __init__(self, changes: tuple[SharedChange, ...]) -> None:
        told = " and ".join(f"{one.path}: {str(one.after).lower()}" for one in changes)
        super().__init__(
            f"Borgee needs {told}, which hold for every platform of this gateway; nothing was changed",
            fix="canon-ops setup borgee --change-shared, or serve Borgee from a Hermes profile of its own",
        )
