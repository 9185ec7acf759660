"""The stage on which ``setup canon`` plays: what the home and Canon's files say, and what can be done to them.

The three ways of setup share it. It is made once, at the beginning, so that whatever is damaged or managed shows before
anybody is asked anything. Its network calls run in event loops of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from canon_ops.client.health import verify_environment
from canon_ops.files.transaction import FileChange
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.surroundings import canon_paths_from_disk, surroundings_from_disk
from canon_ops.keyring.access import Keyring
from canon_ops.operate.forget_key import forget_key
from canon_ops.operate.home_identity import HomeIdentity, Lines, masked_diff, overriding
from canon_ops.operate.identify import identify
from canon_ops.operate.local_files import LocalFilesStore
from canon_ops.operate.profile_key import new_reference
from canon_ops.operate.rewinding import Rewinding
from canon_ops.operate.setup_answers import BadAnswer, SetupAnswers, SetupResult, Way
from canon_ops.operate.setup_trouble import reach_it, until_it_works
from canon_ops.operate.writing import Writing
from canon_ops.runtime.clock import Clock, SystemClock
from canon_ops.runtime.wakeful import run_wakeful
from canon_ops.settings.credentials import Resolution, chosen_profile, load_profiles
from canon_ops.settings.environments import Connection, connection_for
from canon_ops.settings.profiles import BOOTSTRAP_VARIABLE, KeyReference
from canon_ops.settings.secret import Secret
from canon_ops.wire.agents import AgentIdentity

__all__ = ["SETUP", "SetupPlace", "SetupStage", "endpoint_answers"]

SETUP = "canon-ops setup canon"


@dataclass(frozen=True, slots=True)
class SetupPlace:
    """Where setup works.

    Args:
        environ: the process environment.
        lock_timeout_s: how long to wait for another program that writes the same files.
        poll_s: the pause between two looks at a registration.
        timeout_s: for one request on the network.
        keyring: where new keys go when that is asked for.
        expected: digests that the home's ``.env`` must still have; see ``expect_unchanged``.
    """

    home: HermesHome
    environ: Mapping[str, str]
    clock: Clock = field(default_factory=SystemClock)
    lock_timeout_s: float = 10.0
    poll_s: float = 3.0  # Canon wire 2.6
    timeout_s: float = 30.0
    keyring: Keyring = field(default_factory=Keyring)
    expected: Sequence[tuple[Path | None, str]] = ()


class SetupStage:
    """One home, one person, one run.

    Attributes:
        agents: every Canon profile, those of the bootstrap variable included.
        pending: the registrations that are under way, ours and those of other clients.
        changes: what :meth:`use` did to the home's ``.env``, or would do.

    Raises:
        ManagedHome, DiskError, DamagedFile, BadBootstrap, UnreadableDotenv, ConfigSyntaxError: on making it.
    """

    def __init__(self, place: SetupPlace, answers: SetupAnswers, prompts: Rewinding, *, dry_run: bool) -> None:
        self.place, self.answers, self.prompts, self.dry_run = place, answers, prompts, dry_run
        self._identity = HomeIdentity(place.home, place.lock_timeout_s, expected=place.expected)
        if dry_run:
            self._identity.require_editable()
        else:
            self._identity.require_writable()
        paths = canon_paths_from_disk(place.home.path, place.environ)
        self.store = LocalFilesStore(paths, timeout_s=place.lock_timeout_s)
        self._surroundings = surroundings_from_disk(place.home.path, place.environ)
        self.agents = load_profiles(self._surroundings).agents
        self.pending = self.store.read().pending
        self.changes: tuple[FileChange, ...] = ()
        self._to_keyring = _wants_keyring(answers)
        self._verified: set[Connection] = set()

    def require_store(self) -> None:
        """Refuse early, when new keys are to go to a keyring that cannot be used.

        Raises:
            KeyringProblem.
        """
        if self._to_keyring:
            self.place.keyring.probe()

    def keep(self, profile: str, key: Secret) -> Secret | KeyReference:
        """Put a new key where it goes, and give what the profile holds in its place.

        Raises:
            KeyringProblem: the keyring did not take it.
        """
        if not self._to_keyring:
            return key
        reference = new_reference(profile, self.store.paths.agents_file)
        self.place.keyring.put(reference, key)
        return reference

    def forget(self, key: Secret) -> None:
        """Take a key that is in the keyring now out of the histories, where an earlier ``.env`` may have left it."""
        writing = Writing(self.place.home, self.place.environ, "setup canon", lock_timeout_s=self.place.lock_timeout_s)
        for folder in (self.place.home.path, self.store.paths.home):
            forget_key(writing, folder, key)

    @property
    def stores_in_keyring(self) -> bool:
        """Whether new keys go to the keyring."""
        return self._to_keyring

    @property
    def current_profile(self) -> str | None:
        """The Canon profile that the home names now."""
        setting = chosen_profile(self._surroundings)
        return str(setting.value) if setting and setting.value else None

    def verify(self, connection: Connection) -> None:
        """Make sure that API and stream belong to the environment; no key is sent.

        A person who is there may try again or answer otherwise; see :mod:`canon_ops.operate.setup_trouble`.

        Raises:
            EnvironmentMismatch, RequestFailed, ServiceUnavailable.
        """
        clock, timeout_s = self.place.clock, self.place.timeout_s

        def ask_it() -> None:
            with self.prompts.progress(f"Checking {connection.environment_id} at {connection.base_url}"):
                run_wakeful(verify_environment(connection, clock=clock, timeout_s=timeout_s, cure=reach_it))

        if connection not in self._verified:
            until_it_works(self.prompts, ask_it)
            self._verified.add(connection)

    def identify(self, connection: Connection, key: Secret, *, fix: str) -> AgentIdentity:
        """Ask Canon whose key it is.

        Args:
            fix: what helps when Canon does not take the key.

        Raises:
            Unauthorized, Forbidden: it does not.
            RequestFailed: Canon was not reached, or is in trouble.
        """
        clock, timeout_s = self.place.clock, self.place.timeout_s

        def ask_it() -> AgentIdentity:
            with self.prompts.progress("Asking Canon whose key it is"):
                return identify(connection, key, fix=fix, clock=clock, timeout_s=timeout_s, verify=False)

        return until_it_works(self.prompts, ask_it)

    def use(self, lines: Lines) -> None:
        """Make the home use an identity; in a dry run only plan it."""
        self.changes = self._identity.plan(lines) if self.dry_run else self._identity.write(lines)

    def adopt(self, profile: str) -> tuple[Path, ...]:
        """Write a profile that only the bootstrap variable has into agents.json; gives the files that changed."""
        if self.dry_run or profile in self.store.read().agents.entries:
            return ()
        self.store.adopt_bootstrap(self._surroundings.gateway_environ.get(BOOTSTRAP_VARIABLE))
        return (self.store.paths.agents_file,)

    def result(
        self,
        way: Way,
        connection: Connection,
        answers: SetupAnswers,
        is_meant: Callable[[Resolution], bool],
        *,
        files: Sequence[Path] = (),
        canon_profile: str | None = None,
        in_keyring: bool = False,
        agent_id: str | None,
        agent_name: str | None,
        request_id: str | None = None,
        resumed: bool = False,
    ) -> SetupResult:
        """What setup gives back.

        Args:
            is_meant: whether a resolution is what was set up; if not, something overrules it and is reported.
        """
        home, environ = self.place.home.path, self.place.environ
        return SetupResult(
            way=way,
            connection=connection,
            canon_profile=canon_profile,
            agent_id=agent_id,
            agent_name=agent_name,
            request_id=request_id,
            resumed=resumed,
            store="keyring" if in_keyring else "file",
            files=(*files, *(change.path for change in self.changes)),
            diff=masked_diff(self.changes),
            overridden_by=() if self.dry_run else overriding(home, environ, is_meant),
            answers=answers,
            dry_run=self.dry_run,
        )


def _wants_keyring(answers: SetupAnswers) -> bool:
    if answers.store not in (None, "file", "keyring"):
        raise BadAnswer("--store", "it is file or keyring")
    return answers.store == "keyring"


def endpoint_answers(connection: Connection) -> dict[str, Any]:
    """Environment and endpoints as answers; a packaged endpoint needs none."""
    packaged = connection_for(connection.environment_id)
    own = {name: getattr(connection, name) for name in ("base_url", "stream_url", "rtdb_url", "firebase_api_key")}
    given = {name: value for name, value in own.items() if value != getattr(packaged, name)}
    return {"environment": connection.environment_id, **given}
