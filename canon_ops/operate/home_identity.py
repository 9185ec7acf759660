"""Which Canon identity a Hermes home uses: the lines of its ``.env`` that say so, and nothing else in it.

Either a profile is named (``CANON_AGENT``) and everything that would overrule it is gone, or a key stands there with
the environment that it belongs to. What stands outside ``.env`` (the process environment, config.yaml) is not touched;
:func:`overriding` finds it, so that it can be reported.

Source: Canon wire 3.5 step 11, 3.8; the product document on direct keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from canon_ops.errors import CanonOpsError
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.transaction import FileChange, Transaction, edit_files
from canon_ops.files.writable import require_writable
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.operate.dotenv_diff import dotenv_diff
from canon_ops.operate.edit_config import expect_unchanged
from canon_ops.operate.setup_answers import ManagedHome
from canon_ops.settings.borgee_key import BORGEE_REFERENCE
from canon_ops.settings.credentials import Resolution, direct_key, resolve
from canon_ops.settings.environments import Connection, connection_for
from canon_ops.settings.provenance import Origin, Source
from canon_ops.settings.secret import Secret

__all__ = ["HomeIdentity", "key_lines", "masked_diff", "overriding", "profile_lines"]

_ENDPOINTS = {
    "base_url": "CANON_BASE_URL",
    "stream_url": "CANON_STREAM_URL",
    "rtdb_url": "CANON_RTDB_URL",
    "firebase_api_key": "CANON_FIREBASE_API_KEY",
}
_KEY, _ENVIRONMENT, _PROFILE = "CANON_API_KEY", "CANON_ENVIRONMENT_ID", "CANON_AGENT"

_SHOWN = frozenset({_ENVIRONMENT, _PROFILE, *_ENDPOINTS.values(), BORGEE_REFERENCE})

Lines = Mapping[str, str | None]
"""Variable → its value in ``.env``; None removes every line of it."""


def profile_lines(profile: str) -> Lines:
    """The lines of a home that uses a profile. Source: Canon wire 3.5, step 11."""
    return {_PROFILE: profile, **dict.fromkeys((_KEY, _ENVIRONMENT, *_ENDPOINTS.values()))}


def key_lines(api_key: Secret, connection: Connection) -> Lines:
    """The lines of a home with a key of its own; endpoints stand there only where they are not the packaged ones."""
    packaged = connection_for(connection.environment_id)
    own = {name: (getattr(connection, field), getattr(packaged, field)) for field, name in _ENDPOINTS.items()}
    return {
        _KEY: api_key.reveal(),
        _ENVIRONMENT: connection.environment_id,
        **{name: value if value != default else None for name, (value, default) in own.items()},
        _PROFILE: None,
    }


@dataclass(frozen=True, slots=True)
class HomeIdentity:
    """The editor of those lines for one home.

    Args:
        expected: digests that ``.env`` must have whenever it is edited; see ``expect_unchanged``.

    Raises:
        ManagedHome: on writing, when a package manager owns the home.
        ChangedUnderUs: ``.env`` is not the file that was expected.
    """

    home: HermesHome
    timeout_s: float = 10.0
    label: str = "setup canon"
    expected: Sequence[tuple[Path | None, str]] = ()

    def require_editable(self) -> None:
        """Refuse early, before anybody is asked anything, what must not be edited."""
        if self.home.managed_by is not None:
            raise ManagedHome(self.home.path, self.home.managed_by)
        with self._transaction(dry_run=True) as transaction:
            self._expect(transaction)

    def require_writable(self) -> None:
        """Refuse early, too, what cannot be written.

        Raises:
            DiskError: the home or its ``.env`` may not be written by this user.
        """
        self.require_editable()
        require_writable(self.home.path, self.home.env_file)

    def plan(self, lines: Lines) -> tuple[FileChange, ...]:
        """What :meth:`write` would change."""
        with self._transaction(dry_run=True) as transaction:
            return self._edit(transaction, lines)

    def write(self, lines: Lines) -> tuple[FileChange, ...]:
        """Set and remove the lines; repeating it changes nothing.

        Raises:
            ManagedHome, LockTimeout, ChangedUnderUs, DiskError: nothing was written.
        """
        self.require_writable()
        return edit_files(lambda transaction: self._edit(transaction, lines), self._transaction)

    def _edit(self, transaction: Transaction, lines: Lines) -> tuple[FileChange, ...]:
        path = self.home.env_file
        self._expect(transaction)
        before = transaction.read(path)
        document = DotenvDocument.parse(before or b"", str(path))
        for name, value in lines.items():
            document = document.remove(name) if value is None else document.set(name, value)
        if document.data != (before or b""):
            transaction.stage(path, document.data, private=True)
        changes = transaction.changes()
        transaction.commit()
        return changes

    def _expect(self, transaction: Transaction) -> None:
        expect_unchanged(transaction, self.expected, home=self.home, changing=[self.home.env_file])

    def _transaction(self, *, dry_run: bool = False) -> Transaction:
        return Transaction(self.home.path, timeout_s=self.timeout_s, label=self.label, dry_run=dry_run)


def overriding(home: Path, environ: Mapping[str, str], is_meant: Callable[[Resolution], bool]) -> tuple[Origin, ...]:
    """The places that still win over what was written: the administrator's, this process's environment, config.yaml.

    Args:
        is_meant: whether a resolution is what was set up.
    """
    surroundings = surroundings_from_disk(home, environ)
    try:
        found = resolve(surroundings)
    except CanonOpsError:
        key = direct_key(surroundings)
        return (key.origin,) if key else ()
    if is_meant(found):
        return ()
    names = ("api_key", "profile", "environment_id")
    origins = [found.settings[name].origin for name in names if name in found.settings]
    return tuple(origin for origin in origins if origin.source in (Source.MANAGED, Source.PROCESS, Source.CONFIG))[:1]


def masked_diff(changes: tuple[FileChange, ...]) -> str:
    """The changes of ``.env`` as a diff in which only the values that are public and ours can be read."""
    return "".join(dotenv_diff(change, _SHOWN.__contains__) for change in changes)
