"""Who owns a home and a connection: two locks between processes, in a fixed order, and a registry within one.

Hermes' own scoped locks keep other processes out, but let the process that holds one take it again; so a registry with
a token for each lease does the same between the adapters of one process. A lease frees what it holds itself and never
what a successor holds by now.

Order: profile, then credential; released the other way round, each also when the other one's release fails.

Source: Borgee 3.
"""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from borgee_hermes.locks.identity import CREDENTIAL_SCOPE, PROFILE_SCOPE, Identities, identities
from canon_ops.errors import ConflictError
from canon_ops.settings.secret import Secret

__all__ = ["OWNERSHIP", "InUse", "Lease", "Ownership", "ScopedLocks"]


class ScopedLocks(Protocol):
    """The host's locks between processes."""

    def acquire(self, scope: str, identity: str, metadata: Mapping[str, str]) -> tuple[bool, Mapping[str, Any] | None]:
        """Whether it is ours now, and the record of the owner if it is somebody's."""
        ...

    def release(self, scope: str, identity: str) -> None:
        """Free it if this process holds it."""
        ...


class InUse(ConflictError):
    """Another adapter has the home or the connection."""

    code = "borgee_in_use"


@dataclass(frozen=True, slots=True)
class Lease:
    """What one adapter holds."""

    identities: Identities
    token: str


class Ownership:
    """The leases of this process.

    Args:
        new_token: makes the token of a lease.
    """

    def __init__(self, *, new_token: Callable[[], str] = lambda: uuid.uuid4().hex) -> None:
        self._new_token = new_token
        self._guard = threading.Lock()
        self._owners: dict[str, str] = {}  # identity -> token

    def acquire(self, locks: ScopedLocks, home: Path, origin: str, key: Secret) -> Lease:
        """Take both; it touches the disk.

        Raises:
            InUse: somebody has one of them; nothing is held afterwards.
        """
        wanted = identities(home, origin, key)
        lease = Lease(wanted, self._new_token())
        with self._guard:
            for identity, what in ((wanted.profile, f"The Hermes home {home}"), (wanted.resource, _key_at(origin))):
                if identity in self._owners:
                    raise _in_use(what, "another Borgee adapter of this process")
            self._owners[wanted.profile] = self._owners[wanted.resource] = lease.token
        try:
            self._take_both(locks, wanted, home, origin)
        except BaseException:
            self._forget(lease)
            raise
        return lease

    def release(self, locks: ScopedLocks, lease: Lease | None) -> None:
        """Free what the lease still holds; both are tried, then the first error is raised. Repeating it is harmless."""
        if lease is None:
            return
        wanted = lease.identities
        first: BaseException | None = None
        with self._guard:  # to the end: a second release of this lease would free what a successor holds by then
            if {self._owners.get(wanted.profile), self._owners.get(wanted.resource)} != {lease.token}:
                return
            for scope, identity in ((CREDENTIAL_SCOPE, wanted.resource), (PROFILE_SCOPE, wanted.profile)):
                try:
                    locks.release(scope, identity)
                except Exception as error:  # the host's code: the other lock is freed whatever this one says
                    first = first or error
            del self._owners[wanted.profile], self._owners[wanted.resource]
        if first is not None:
            raise first

    def _take_both(self, locks: ScopedLocks, wanted: Identities, home: Path, origin: str) -> None:
        about_profile = {"platform": "borgee", "lock_kind": "hermes_profile"}
        taken, owner = locks.acquire(PROFILE_SCOPE, wanted.profile, about_profile)
        if not taken:
            raise _in_use(f"The Hermes home {home}", _named(owner))
        try:
            about_key = {"platform": "borgee", "profile_key": wanted.profile}
            taken, owner = locks.acquire(CREDENTIAL_SCOPE, wanted.resource, about_key)
            if not taken:
                raise _in_use(_key_at(origin), _named(owner))
        except BaseException:
            _release_quietly(locks, wanted.profile)
            raise

    def _forget(self, lease: Lease) -> None:
        with self._guard:
            for identity in (lease.identities.profile, lease.identities.resource):
                if self._owners.get(identity) == lease.token:
                    del self._owners[identity]


OWNERSHIP: Final = Ownership()  # the one of this process


def _release_quietly(locks: ScopedLocks, identity: str) -> None:
    with contextlib.suppress(Exception):  # the error that led here is the one that is raised
        locks.release(PROFILE_SCOPE, identity)


def _key_at(origin: str) -> str:
    return f"The Borgee key for {origin}"


def _named(owner: Mapping[str, Any] | None) -> str:
    """The other owner in words: its process, and nothing that its record may hold besides."""
    process = owner.get("pid") if owner is not None else None
    return f"process {process}" if isinstance(process, int) else "another process"


def _in_use(what: str, owner: str) -> InUse:
    return InUse(f"{what} is in use by {owner}", fix="hermes gateway status, and stop the other gateway first")
