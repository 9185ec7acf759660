"""The names under which a home and a connection are locked: stable, and nothing can be read out of them.

Source: Borgee 3.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from canon_ops.settings.secret import Secret

__all__ = ["CREDENTIAL_SCOPE", "PROFILE_SCOPE", "Identities", "identities", "profile_identity"]

PROFILE_SCOPE: Final = "borgee-profile"
CREDENTIAL_SCOPE: Final = "borgee"


@dataclass(frozen=True, slots=True)
class Identities:
    """What one adapter wants for itself."""

    profile: str
    resource: str


def identities(home: Path, origin: str, key: Secret) -> Identities:
    """The identities of a home (links resolved) and of a key at a server.

    Args:
        origin: in its canonical form, so that two spellings of one server are one.
    """
    return Identities(
        profile=profile_identity(home),
        resource=f"{origin}|credential:" + _digest("borgee-hermes-lock-v1", key.reveal().encode()),
    )


def profile_identity(home: Path) -> str:
    """The identity of a home alone."""
    return "hermes-home:" + _digest("borgee-hermes-profile-lock-v1", os.fsencode(home.resolve()))


def _digest(purpose: str, content: bytes) -> str:
    return hashlib.sha256(purpose.encode() + b"\0" + content).hexdigest()
