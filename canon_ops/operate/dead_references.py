"""No undo brings back a reference to the keyring without the key that it stands for.

The history keeps the texts of files, and a keyring has no history: ``creds move --to file`` and ``creds remove`` take
the entry away. The text from before them would leave an agent without any key, and say that all is as it was.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from canon_ops.errors import CanonOpsError, RefusedError
from canon_ops.files.transaction import FileChange
from canon_ops.hermes.homes import HermesHome
from canon_ops.keyring.access import Keyring
from canon_ops.settings.borgee_key import BORGEE_KEY, BORGEE_REFERENCE
from canon_ops.settings.dotenv import read_dotenv
from canon_ops.settings.problems import reconnect_words
from canon_ops.settings.profiles import AgentsFile, KeyReference

__all__ = ["DeadReference", "refuse_dead_references"]


class DeadReference(RefusedError):
    """The older text refers to an entry of the keyring that is not there any more."""

    code: ClassVar[str] = "undo_of_a_key"


def refuse_dead_references(changes: Sequence[FileChange], home: HermesHome, keyring: Keyring) -> None:
    """Refuse when ``changes`` would bring a reference into a file that leads to nothing.

    Raises:
        DeadReference: the keyring has no such entry.
        KeyringProblem: it cannot be asked.
    """
    for change in changes:
        now, then = _references(change.path, change.before), _references(change.path, change.after)
        for reference, name in then.items():
            if reference not in now and keyring.find(reference) is None:
                raise DeadReference(
                    f"{change.path} would refer to {reference.text} again, which the keyring does not have any more",
                    fix=home.own_command(_cure(change, name)),
                    file=str(change.path),
                )


def _references(file: Path, data: bytes | None) -> dict[KeyReference, str]:
    """The references in a text, each with its Canon profile; "" for Borgee's."""
    found: dict[KeyReference, str] = {}
    with suppress(CanonOpsError):  # a text that nobody can read refers to nothing
        if file.name == ".env":
            told = [entry.value or "" for entry in read_dotenv(data or b"") if entry.name == BORGEE_REFERENCE]
            found = {reference: "" for text in told[-1:] if (reference := KeyReference.parse(text)) is not None}
        elif file.suffix != ".yaml":
            agents = AgentsFile.parse(data or None, file=str(file))
            found = {one.api_key_ref: one.name for one in agents.for_hermes() if one.api_key_ref is not None}
    return found


def _cure(change: FileChange, name: str) -> str:
    """To have the key in the keyring again; where it is nowhere, to get a new one."""
    if not name:
        has_key = any(entry.name == BORGEE_KEY and entry.value for entry in read_dotenv(change.before or b""))
        return "creds move --to keyring --platform borgee" if has_key else f"env set {BORGEE_KEY}"
    for data in (change.before, change.after):
        profile = AgentsFile.parse(data or None, file=str(change.path)).profile(name)
        if profile is not None:
            if profile.api_key is not None:
                return f"creds move --to keyring --canon-profile {shlex.quote(name)}"
            return reconnect_words(name, profile.agent_id)
    return reconnect_words(name, None)
