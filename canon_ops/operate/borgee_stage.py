"""The stage on which ``setup borgee`` plays: what the home says before the first question, and what was answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from canon_ops.errors import CanonOpsError
from canon_ops.files.transaction import Transaction
from canon_ops.files.writable import require_writable
from canon_ops.hermes.borgee_block import SHARED_SESSIONS, block_path, borgee_extra
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.keyring.access import Keyring
from canon_ops.operate.borgee_answers import BorgeeAgent, BorgeeAnswers, SharedChange
from canon_ops.operate.edit_config import refuse_managed
from canon_ops.operate.rewinding import Rewinding
from canon_ops.operate.setup_answers import BadAnswer
from canon_ops.operate.writing import Writing
from canon_ops.settings.borgee import BUSY_MODE, BorgeeOptions, settings_for_host, startup_refusal
from canon_ops.settings.borgee_key import BorgeeKey, borgee_key
from canon_ops.settings.secret import Secret

__all__ = ["BorgeePlan", "BorgeeStage", "Store", "value_at"]

Store = Literal["file", "keyring"]


@dataclass(frozen=True, slots=True)
class BorgeePlan:
    """What was answered and found out, before anything is written.

    Attributes:
        is_kept: the key is the one that is in force already.
        store: where the key goes; a kept key stays where it is unless a place was named.
    """

    options: BorgeeOptions
    agent: BorgeeAgent
    key: Secret
    is_kept: bool
    store: Store
    shared: tuple[SharedChange, ...]


class BorgeeStage:
    """One home, as it is before the first question.

    Raises:
        ManagedHome, DiskError, ConfigSyntaxError, ConfigRefused, UnreadableDotenv: the files cannot be edited.
        BorgeeKeyInConfig, BorgeeUnshared: config.yaml holds a key, or one process serves several profiles.
        BadAnswer, KeyringProblem: ``--store`` names no place, or the keyring cannot be used.
    """

    def __init__(self, writing: Writing, keyring: Keyring, answers: BorgeeAnswers, prompts: Rewinding) -> None:
        self.writing, self.keyring, self.answers, self.prompts = writing, keyring, answers, prompts
        home = writing.home
        if (managed := refuse_managed(home)) is not None:
            raise managed
        with Transaction(home.path, dry_run=True) as files:
            writing.expect(files, home.config_file, home.env_file)
        if not writing.dry_run:
            require_writable(home.path, home.config_file, home.env_file)
        self.config = read_config(home.config_file)
        self.extra = {**settings_for_host(self.config.tree, {}), **borgee_extra(self.config)}  # there may be no block
        self.known: dict[tuple[str, str], BorgeeAgent] = {}
        if (refusal := startup_refusal({**self.extra, SHARED_SESSIONS: False, BUSY_MODE: "queue"})) is not None:
            raise refusal
        self.key = self._key_there()
        if answers.store not in (None, "file", "keyring"):
            raise BadAnswer("--store", "it is file or keyring")
        if answers.store == "keyring":
            keyring.probe()

    @property
    def block_path(self) -> str:
        """Where Borgee's own settings are written."""
        return block_path(self.config)

    def _key_there(self) -> BorgeeKey | None:
        try:
            return borgee_key(surroundings_from_disk(self.writing.home.path, self.writing.environ))
        except CanonOpsError:  # there is none, or its reference is none: a new one replaces it
            return None


def value_at(tree: Mapping[str, object], path: str) -> object:
    """What a parsed file says at a dotted path; None where it says nothing."""
    value: object = tree
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
