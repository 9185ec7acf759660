"""``setup canon``: the dialogue that gives a Hermes home its Canon identity.

Three ways: register (or reconnect) an agent, use a profile that exists, or paste a key. Each settles the environment
first and makes sure that its API and its stream answer for it; only then is anything asked of the owner, and only at
the end is anything written that the gateway reads. The order inside a registration, and how it survives a crash, is
the business of :mod:`canon_ops.operate.registration_steps`; the questions stand in ``setup_questions``.

The dialogue speaks through :class:`~canon_ops.operate.prompts.Prompts`, takes answers beforehand, prints nothing, and
gives back a :class:`~canon_ops.operate.setup_answers.SetupResult`. It is synchronous and runs the network in event
loops of its own, so it must not be called from inside one.

Source: command-line contract, section 7; Canon wire 1.5, 3.5; the product document, "Install".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from canon_ops.client.api import CanonApi
from canon_ops.client.errors import ApiError
from canon_ops.client.health import verify_environment
from canon_ops.client.registration import RegistrationApi
from canon_ops.errors import CredentialError
from canon_ops.files.transaction import FileChange
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.surroundings import canon_paths_from_disk, surroundings_from_disk
from canon_ops.operate.home_identity import HomeIdentity, Lines, key_lines, masked_diff, overriding, profile_lines
from canon_ops.operate.local_files import LocalFilesStore
from canon_ops.operate.prompts import Prompts, Question
from canon_ops.operate.register import RegistrationRun, mint_local_id
from canon_ops.operate.registration_steps import DEFAULT_DESCRIPTION, DEFAULT_NAME, Phase, Registration, begin, rewrite
from canon_ops.operate.setup_answers import KeyOfAnotherAgent, RegistrationPending, SetupAnswers, SetupResult, Way
from canon_ops.operate.setup_questions import (
    ask_agent_id,
    ask_connection,
    ask_existing_profile,
    ask_key,
    ask_owner_phone,
    ask_profile_name,
    ask_text,
    ask_way,
)
from canon_ops.runtime.clock import Clock, SystemClock
from canon_ops.settings.credentials import Resolution, chosen_profile, load_profiles
from canon_ops.settings.environments import Connection, connection_for
from canon_ops.settings.pending import Due, PendingRegistration, Wanted
from canon_ops.settings.profiles import BOOTSTRAP_VARIABLE, AgentProfile, merge_bootstrap
from canon_ops.settings.secret import Secret
from canon_ops.wire.agents import AgentIdentity

__all__ = ["SetupPlace", "setup_canon"]

_SETUP = "canon-ops setup canon"

Watch = Callable[[Registration], None]


@dataclass(frozen=True, slots=True)
class SetupPlace:
    """Where setup works.

    Args:
        environ: the process environment.
        lock_timeout_s: how long to wait for another program that writes the same files.
        poll_s: the pause between two looks at a registration.
    """

    home: HermesHome
    environ: Mapping[str, str]
    clock: Clock = field(default_factory=SystemClock)
    lock_timeout_s: float = 10.0
    poll_s: float = 3.0  # Canon wire 2.6


def setup_canon(
    place: SetupPlace,
    answers: SetupAnswers,
    prompts: Prompts,
    *,
    dry_run: bool = False,
    watch: Watch = lambda _state: None,
) -> SetupResult:
    """Lead the dialogue to its end.

    Args:
        answers: what is answered beforehand; the rest is asked.
        dry_run: ask, check and verify, but send no request and write nothing.
        watch: told each phase of a registration before it begins.

    Raises:
        RegistrationPending: the owner has not decided; the request stays.
        RegistrationRejected, KeyExpired, KeyAlreadyDelivered: this request leads nowhere; its entry is gone.
        AcknowledgementFailed: everything but the acknowledgement is done; the next run repeats it.
        DamagedFile: agents.json or the pending registrations cannot be read; nothing was asked.
        EnvironmentMismatch, RequestFailed: the environment does not answer as itself; nothing was saved.
        CredentialError: Canon refuses the key.
        UsageError: an answer is wrong or missing.
        KeyboardInterrupt: Ctrl-C; a request that was sent stays pending, and a note has said so.
    """
    return _Dialogue(place, answers, prompts, dry_run, watch).lead()


class _Dialogue:
    """One conversation; the attributes are what was found out at its beginning."""

    def __init__(self, place: SetupPlace, answers: SetupAnswers, prompts: Prompts, dry_run: bool, watch: Watch) -> None:
        self.place, self.answers, self.prompts = place, answers, prompts
        self.dry_run, self.watch = dry_run, watch
        self.identity = HomeIdentity(place.home, place.lock_timeout_s)
        self.identity.require_writable()
        paths = canon_paths_from_disk(place.home.path, place.environ)
        self.store = LocalFilesStore(paths, timeout_s=place.lock_timeout_s)
        self.surroundings = surroundings_from_disk(place.home.path, place.environ)
        # Whatever is damaged shows here, before anybody is asked anything.
        self.agents = load_profiles(self.surroundings).agents
        self.pending = self.store.read().pending
        self.changes: tuple[FileChange, ...] = ()

    def lead(self) -> SetupResult:
        waiting = self.pending.for_hermes()
        match ask_way(self.prompts, self.answers, has_profiles=bool(self.agents.for_hermes()), pending=waiting):
            case Way.REGISTER:
                return self._register(waiting)
            case Way.USE_PROFILE:
                return self._use_profile()
            case Way.KEY:
                return self._use_key()

    # The three ways ---------------------------------------------------------------------------------------------

    def _register(self, waiting: Sequence[str]) -> SetupResult:
        default = self._usual_profile(waiting)
        name = ask_profile_name(self.prompts, self.answers, default=default, taken=self.agents.names)
        known = self.agents.profile(name)
        entry = self.pending.registration(name)
        if self.answers.start_over:
            entry = None
        connection = ask_connection(self.prompts, self.answers, pending=entry, known=known)
        self._verify(connection)
        wanted = self._wanted(name, connection, entry, known)
        done = None if self.dry_run else self._run(wanted)
        if done is None:
            preview = begin(wanted, start_over=self.answers.start_over)
            rewrite(preview, self.store.read(), now_ms=self.place.clock.now_ms())  # raises what a run would raise
            self._bind(profile_lines(name))
        return self._result(
            Way.REGISTER,
            connection,
            self._answers_of(wanted),
            lambda found: found.profile == name,
            files=(self.store.paths.pending_file, self.store.paths.agents_file),
            canon_profile=name,
            agent_id=done.agent_id if done else None,
            agent_name=done.agent_name if done else wanted.agent_name,
            request_id=done.request_id if done else (entry.request_id if entry else None),
            resumed=done.resumed if done else bool(entry and entry.due is not Due.REGISTER),
        )

    def _use_profile(self) -> SetupResult:
        file = self.agents.file
        ours = self.agents.for_hermes()
        name = ask_existing_profile(self.prompts, self.answers, ours, agents_file=file, current=self._current_profile())
        profile = next(each for each in ours if each.name == name)
        connection = profile.connection(file)
        self._verify(connection)
        if profile.api_key is not None:  # one in the keyring is not fetched for this
            identity = self._identify(connection, profile.api_key, f"reconnect it: {_SETUP} --canon-profile {name}")
            if identity.agent_id != profile.agent_id:
                raise KeyOfAnotherAgent(name, str(profile.agent_id), identity.agent_id, file)
        adopted = () if self.dry_run else self._adopt(name)
        self._bind(profile_lines(name))
        return self._result(
            Way.USE_PROFILE,
            connection,
            SetupAnswers(Way.USE_PROFILE, use_profile=name),
            lambda found: found.profile == name,
            files=adopted,
            canon_profile=name,
            agent_id=profile.agent_id,
            agent_name=profile.agent_name,
        )

    def _use_key(self) -> SetupResult:
        connection = ask_connection(self.prompts, self.answers, pending=None, known=None)
        self._verify(connection)
        key = ask_key(self.prompts, self.answers)
        identity = self._identify(connection, key, f"copy the key again, or register an agent: {_SETUP}")
        self.prompts.note(f"The key belongs to {identity.display_name or 'an agent'} ({identity.agent_id}).")
        self._bind(key_lines(key, connection))
        return self._result(
            Way.KEY,
            connection,
            SetupAnswers(Way.KEY, **_endpoint_answers(connection)),
            lambda found: found.api_key == key,
            agent_id=identity.agent_id,
            agent_name=identity.display_name,
        )

    # A registration ---------------------------------------------------------------------------------------------

    def _wanted(
        self, name: str, connection: Connection, entry: PendingRegistration | None, known: AgentProfile | None
    ) -> Wanted:
        """Ask what the request needs; a request that is under way is not asked about again."""
        agent_id, agent_name, description = self.answers.agent_id, self.answers.agent_name, self.answers.description
        if entry is not None and entry.due is not Due.REGISTER:
            self.prompts.note(f"Going on with the registration of {name} (request {entry.request_id}).")
        else:
            default_name = (entry and entry.agent_name) or (known and known.agent_name) or DEFAULT_NAME
            agent_name = ask_text(
                self.prompts, Question("Agent's name", "--agent-name"), agent_name, default=default_name
            )
            default_description = (entry and entry.description) or DEFAULT_DESCRIPTION
            question = Question("What it is for", "--description")
            description = ask_text(self.prompts, question, description, default=default_description)
            agent_id = self._agent_id(connection, entry, known)
        stored_phone = entry.owner_phone if entry and self.answers.owner_phone is None else None
        return Wanted(
            profile=name,
            connection=connection,
            owner_phone=stored_phone or ask_owner_phone(self.prompts, self.answers),
            new_local_id=mint_local_id(),
            agent_id=agent_id,
            agent_name=agent_name,
            description=description,
        )

    def _agent_id(
        self, connection: Connection, entry: PendingRegistration | None, known: AgentProfile | None
    ) -> str | None:
        """The identity to ask for; what the files already say is told, not asked."""
        if self.answers.agent_id is None:
            stored = entry.requested_agent_id if entry else None
            if stored is None and known is not None and known.is_bound_to(connection):
                stored = known.agent_id
            if stored is not None:
                self.prompts.note(f"Agent {stored} is asked for again.")
                return None
        return ask_agent_id(self.prompts, self.answers)

    def _run(self, wanted: Wanted) -> Registration:
        run: RegistrationRun | None = None

        async def carry_out() -> Registration:
            nonlocal run
            async with RegistrationApi(wanted.connection, clock=self.place.clock) as calls:
                run = RegistrationRun(
                    begin(wanted, start_over=self.answers.start_over),
                    calls,
                    self.store,
                    self.place.clock,
                    bind=lambda profile: self._bind(profile_lines(profile)),
                    watch=self._watch,
                    wait_s=self.answers.wait_s,
                    every_s=self.place.poll_s,
                )
                return await run.carry_out()

        try:
            with self.prompts.progress(f"Registering {wanted.profile} with Canon"):
                state = asyncio.run(carry_out())
        except BaseException as exc:
            if not isinstance(exc, Exception) and run is not None and run.is_with_canon:  # Ctrl-C, or a signal
                self.prompts.note(_stays(wanted.profile, run.state))
            raise
        if state.trouble is not None:
            raise state.trouble
        if state.phase is Phase.UNDECIDED:
            raise RegistrationPending(wanted.profile, state.request_id)
        return state

    def _watch(self, state: Registration) -> None:
        if state.phase is Phase.WAIT:
            self.prompts.note(f"Request {state.request_id} is with the owner, who approves it in the Canon app.")
        self.watch(state)

    # Canon and the files ----------------------------------------------------------------------------------------

    def _verify(self, connection: Connection) -> None:
        with self.prompts.progress(f"Checking {connection.environment_id} at {connection.base_url}"):
            asyncio.run(verify_environment(connection, clock=self.place.clock))

    def _identify(self, connection: Connection, key: Secret, fix: str) -> AgentIdentity:
        async def me() -> AgentIdentity:
            async with CanonApi(connection, key, clock=self.place.clock) as api:
                return await api.me()

        try:
            with self.prompts.progress("Asking Canon whose key it is"):
                return asyncio.run(me())
        except ApiError as exc:
            if isinstance(exc, CredentialError):
                exc.fix = fix
            raise

    def _bind(self, lines: Lines) -> None:
        self.changes = self.identity.plan(lines) if self.dry_run else self.identity.write(lines)

    def _adopt(self, name: str) -> tuple[Path, ...]:
        """Write a profile that only the bootstrap variable has into agents.json."""
        bootstrap = self.surroundings.gateway_environ.get(BOOTSTRAP_VARIABLE)
        before = self.store.read().agents
        if name in before.entries:
            return ()
        self.store.update(lambda files: replace(files, agents=merge_bootstrap(files.agents, bootstrap)[0]))
        return (self.store.paths.agents_file,)

    def _current_profile(self) -> str | None:
        setting = chosen_profile(self.surroundings)
        return str(setting.value) if setting and setting.value else None

    def _usual_profile(self, waiting: Sequence[str]) -> str:
        """The profile that is most likely meant."""
        ours = [profile.name for profile in self.agents.for_hermes()]
        if len(waiting) == 1:
            return waiting[0]
        if (current := self._current_profile()) is not None:
            return current
        if len(ours) == 1:
            return ours[0]
        own = self.place.home.profile_name
        return "hermes" if own in ("default", "custom") else own

    # The end ----------------------------------------------------------------------------------------------------

    def _answers_of(self, wanted: Wanted) -> SetupAnswers:
        return SetupAnswers(
            way=Way.REGISTER,
            **_endpoint_answers(wanted.connection),
            agent_name=wanted.agent_name,
            description=wanted.description,
            owner_phone=wanted.owner_phone,
            canon_profile=wanted.profile,
            agent_id=wanted.agent_id,
            wait_s=self.answers.wait_s,
        )

    def _result(
        self,
        way: Way,
        connection: Connection,
        answers: SetupAnswers,
        is_meant: Callable[[Resolution], bool],
        *,
        files: Sequence[Path] = (),
        canon_profile: str | None = None,
        agent_id: str | None,
        agent_name: str | None,
        request_id: str | None = None,
        resumed: bool = False,
    ) -> SetupResult:
        place = self.place
        return SetupResult(
            way=way,
            connection=connection,
            canon_profile=canon_profile,
            agent_id=agent_id,
            agent_name=agent_name,
            request_id=request_id,
            resumed=resumed,
            files=(*files, *(change.path for change in self.changes)),
            diff=masked_diff(self.changes),
            overridden_by=() if self.dry_run else overriding(place.home.path, place.environ, is_meant),
            answers=answers,
            dry_run=self.dry_run,
        )


def _endpoint_answers(connection: Connection) -> dict[str, Any]:
    """Environment and endpoints as answers; a packaged endpoint needs none."""
    packaged = connection_for(connection.environment_id)
    own = {name: getattr(connection, name) for name in ("base_url", "stream_url", "rtdb_url", "firebase_api_key")}
    given = {name: value for name, value in own.items() if value != getattr(packaged, name)}
    return {"environment": connection.environment_id, **given}


def _stays(profile: str, state: Registration) -> str:
    again = f"{_SETUP} --canon-profile {profile}"
    if state.request_id is None:
        return f"The request for {profile} may be with Canon already; its pending entry stays. Go on with: {again}"
    return f"The registration of {profile} (request {state.request_id}) stays pending. Go on with: {again}"
