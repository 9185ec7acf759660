"""A backend that writes passwords where everybody can read them, as some that people install do."""

from __future__ import annotations

from tests.support.keyring_backend import FileKeyring


class PlaintextKeyring(FileKeyring):
    """It works, and is no keyring."""
