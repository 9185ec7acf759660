"""One process for a home, one for a key. Borgee 9.2."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.locks.identity import identities
from borgee_hermes.locks.ownership import InUse, Lease, Ownership
from canon_ops.settings.secret import Secret

ORIGIN = "https://chat.example.com"
A, B = Secret("bgr_a"), Secret("bgr_b")


class Locks:
    """The host's locks, seen from one process; ``others`` holds what another process has."""

    def __init__(self, **trouble: BaseException) -> None:
        self.calls: list[tuple[str, str]] = []
        self.others: dict[str, Mapping[str, Any]] = {}
        self.trouble = trouble

    def acquire(self, scope: str, identity: str, metadata: Mapping[str, str]) -> tuple[bool, Mapping[str, Any] | None]:
        self.calls.append(("acquire", scope))
        if error := self.trouble.get(f"acquire_{scope.replace('-', '_')}"):
            raise error
        return scope not in self.others, self.others.get(scope)

    def release(self, scope: str, identity: str) -> None:
        self.calls.append(("release", scope))
        if error := self.trouble.get(f"release_{scope.replace('-', '_')}"):
            raise error


def test_one_lease_at_a_time(tmp_path: Path) -> None:
    """L1: denied while it is held, also after a release with a wrong token; granted after the right one."""
    ownership, locks = Ownership(), Locks()
    lease = ownership.acquire(locks, tmp_path, ORIGIN, A)

    with pytest.raises(InUse, match="another Borgee adapter of this process"):
        ownership.acquire(locks, tmp_path, ORIGIN, A)
    ownership.release(locks, Lease(lease.identities, "wrong"))
    with pytest.raises(InUse):
        ownership.acquire(locks, tmp_path, ORIGIN, A)
    ownership.release(locks, lease)

    assert ownership.acquire(locks, tmp_path, ORIGIN, A).token != lease.token


def test_two_releases_of_a_lease_free_it_once(tmp_path: Path) -> None:
    """3: a second one that comes while the first works waits for it, and then it is a no-op: it would free what a
    successor holds by then."""

    class Slow(Locks):
        def release(self, scope: str, identity: str) -> None:
            super().release(scope, identity)
            if len(self.calls) == 3:  # the first release of all
                second.start()
                second.join(0.1)

    ownership, locks = Ownership(), Slow()
    lease = ownership.acquire(locks, tmp_path, ORIGIN, A)
    second = threading.Thread(target=ownership.release, args=(locks, lease))

    ownership.release(locks, lease)
    second.join(10)

    assert locks.calls[2:] == [("release", "borgee"), ("release", "borgee-profile")]


def test_a_home_is_one_whatever_the_key_and_the_path(tmp_path: Path) -> None:
    """L2, L3: the same home with another key, or through a link, is denied."""
    ownership, locks = Ownership(), Locks()
    home, link = tmp_path / "home", tmp_path / "link"
    home.mkdir()
    link.symlink_to(home)
    ownership.acquire(locks, home, ORIGIN, A)

    for path in (home, link):
        with pytest.raises(InUse, match="The Hermes home"):
            ownership.acquire(locks, path, ORIGIN, B)


def test_a_key_is_one_whatever_the_home(tmp_path: Path) -> None:
    """L4, L6: another home with another key is granted, with the same key denied."""
    ownership, locks = Ownership(), Locks()
    ownership.acquire(locks, tmp_path / "x", ORIGIN, A)

    with pytest.raises(InUse, match="The Borgee key for"):
        ownership.acquire(locks, tmp_path / "y", ORIGIN, A)
    assert ownership.acquire(locks, tmp_path / "y", ORIGIN, B)
    assert ownership.acquire(locks, tmp_path / "z", "https://other.example.com", A)


def test_a_denied_credential_gives_the_profile_back(tmp_path: Path) -> None:
    """L7: profile, credential, profile released; the sentence names the other process, and no secret."""
    ownership, locks = Ownership(), Locks()
    locks.others["borgee"] = {"pid": 4711, "argv": ["--key", "bgr_secret"]}

    with pytest.raises(InUse, match="process 4711") as caught:
        ownership.acquire(locks, tmp_path, ORIGIN, A)

    assert locks.calls == [("acquire", "borgee-profile"), ("acquire", "borgee"), ("release", "borgee-profile")]
    assert "bgr_" not in str(caught.value)
    del locks.others["borgee"]
    assert ownership.acquire(locks, tmp_path, ORIGIN, A)


def test_a_release_happens_once(tmp_path: Path) -> None:
    """L8: a wrong token frees nothing, the right one the credential and then the profile, again nothing."""
    ownership, locks = Ownership(), Locks()
    lease = ownership.acquire(locks, tmp_path, ORIGIN, A)
    locks.calls.clear()

    ownership.release(locks, Lease(lease.identities, "wrong"))
    ownership.release(locks, lease)
    ownership.release(locks, lease)
    ownership.release(locks, None)

    assert locks.calls == [("release", "borgee"), ("release", "borgee-profile")]


def test_trouble_with_the_credential_leaves_nothing(tmp_path: Path) -> None:
    """L9: the error travels up, the profile is free, and the registry is clean."""
    ownership, locks = Ownership(), Locks(acquire_borgee=OSError("disk"))

    with pytest.raises(OSError, match="disk"):
        ownership.acquire(locks, tmp_path, ORIGIN, A)

    assert locks.calls[-1] == ("release", "borgee-profile")
    assert ownership.acquire(Locks(), tmp_path, ORIGIN, A)


def test_trouble_with_a_release_frees_the_other_one(tmp_path: Path) -> None:
    """L10: the error travels up, the profile was freed, and the old lease never touches its successor's."""
    ownership, locks = Ownership(), Locks(release_borgee=OSError("disk"))
    lease = ownership.acquire(locks, tmp_path, ORIGIN, A)

    with pytest.raises(OSError, match="disk"):
        ownership.release(locks, lease)
    assert locks.calls[-1] == ("release", "borgee-profile")
    successor = ownership.acquire(locks, tmp_path, ORIGIN, A)
    locks.calls.clear()
    ownership.release(locks, lease)

    assert locks.calls == []
    assert successor.token != lease.token


def test_of_many_that_ask_at_once_one_is_granted(tmp_path: Path) -> None:
    """The registry holds between threads."""
    ownership, locks = Ownership(), Locks()
    granted: list[Lease] = []
    barrier = threading.Barrier(8)

    def ask() -> None:
        barrier.wait()
        with contextlib.suppress(InUse):
            granted.append(ownership.acquire(locks, tmp_path, ORIGIN, A))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert len(granted) == 1


def test_names_of_locks_hold_no_key(tmp_path: Path) -> None:
    """The identities are hashes, each for its own purpose."""
    found = identities(tmp_path, ORIGIN, A)

    assert found.resource.startswith(f"{ORIGIN}|credential:")
    assert found.profile.startswith("hermes-home:")
    assert "bgr_a" not in repr(found)
    assert len({found.resource[-64:], found.profile[-64:]}) == 2
