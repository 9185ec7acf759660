"""Registering an agent: the shell around :mod:`canon_ops.operate.registration_steps`.

It has no opinion of its own: it carries out the effect of the present phase, hands the outcome back, and goes on. What
goes wrong is raised as it comes; the files then say where the next run begins.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from canon_ops.client.errors import ApiError, RequestFailed
from canon_ops.errors import InternalError, OutsideError
from canon_ops.operate.local_files import LocalFilesStore
from canon_ops.operate.registration_steps import (
    Done,
    Event,
    Phase,
    Refused,
    Registration,
    RegistrationRefused,
    RequestNotOurs,
    Written,
    advance,
    request_of,
    rewrite,
)
from canon_ops.runtime.clock import Clock
from canon_ops.settings.profiles import KeyReference
from canon_ops.settings.secret import Secret
from canon_ops.wire.registration import RegistrationReceipt, RegistrationRequest, RegistrationStatus, Verdict

__all__ = [
    "AcknowledgementFailed",
    "RegistrationCalls",
    "RegistrationRun",
    "RegistrationUnknown",
    "mint_local_id",
]

POLL_S = 3.0  # Canon wire 2.6
LIMIT_S = 300.0  # likewise


class RegistrationCalls(Protocol):
    """What is needed of :class:`canon_ops.client.registration.RegistrationApi`."""

    async def register(self, request: RegistrationRequest) -> RegistrationReceipt: ...

    async def status(self, request_id: str, poll_token: Secret) -> RegistrationStatus: ...

    async def wait(
        self,
        request_id: str,
        poll_token: Secret,
        *,
        every_s: float,
        limit_s: float,
        watch: Callable[[float], None],
    ) -> RegistrationStatus | None: ...

    async def ack(self, request_id: str, poll_token: Secret) -> None: ...


class AcknowledgementFailed(OutsideError):
    """The key is saved and can be used; only Canon does not know it yet. The next run repeats just that."""

    code = "acknowledgement_failed"
    retryable = True


class RegistrationUnknown(OutsideError):
    """Canon no longer knows the request that the pending entry waits for."""

    code = "registration_unknown"


@dataclass(slots=True)
class RegistrationRun:
    """One run, from where the files stand to the end or to the first failure.

    Args:
        state: of :func:`~canon_ops.operate.registration_steps.begin`; afterwards it says how far the run came.
        bind: makes the Hermes home use the profile; it must be repeatable.
        watch: told each phase before its effect begins, the final one included.
        waiting: told, while the owner thinks, the request and how many seconds are left.
        wait_s: how long the owner may take; zero asks once without pausing.
        keep: where a new key goes before the profile is written: itself for the file, or a reference to where it was
            put. Until Canon has its acknowledgement the key can be fetched again, so a failure here loses nothing.
    """

    state: Registration
    calls: RegistrationCalls
    store: LocalFilesStore
    clock: Clock
    bind: Callable[[str], None]
    watch: Callable[[Registration], None] = lambda _state: None
    waiting: Callable[[str, float], None] = lambda _request_id, _left_s: None
    wait_s: float = LIMIT_S
    every_s: float = POLL_S
    keep: Callable[[Secret], Secret | KeyReference] = lambda key: key

    @property
    def is_with_canon(self) -> bool:
        """Whether Canon has the request, or may have it, so that the pending entry matters."""
        return self.state.phase is Phase.SUBMIT or (
            self.state.request_id is not None and self.state.phase not in (Phase.REGISTERED, Phase.REFUSED)
        )

    async def carry_out(self) -> Registration:
        """Go on until a final phase.

        Raises:
            AcknowledgementFailed: only the acknowledgement is missing.
            RegistrationUnknown: the request that we wait for is gone.
            RequestNotOurs: our local id stands for another request.
            RequestFailed: Canon was not reached, or is in trouble; the pending entry stays.
            CanonOpsError: the refusals of the machine and of the files.
        """
        self.watch(self.state)
        while not self.state.phase.is_final:
            self.state = await self._step(self.state)
            self.watch(self.state)
        return self.state

    async def _step(self, state: Registration) -> Registration:
        if state.phase is Phase.SAVE and state.credential and isinstance(state.credential.api_key, Secret):
            kept = self.keep(state.credential.api_key)
            state = replace(state, credential=replace(state.credential, api_key=kept))
        if state.phase.writes:
            now_ms = self.clock.now_ms()
            written = self.store.update(lambda files: rewrite(state, files, now_ms=now_ms))
            return advance(state, Written(written))
        event = await self._effect(state)
        return advance(state, event, self.store.read() if state.phase is Phase.WAIT else None)

    async def _effect(self, state: Registration) -> Event:
        match state.phase:
            case Phase.SUBMIT:
                return await self._submit(state)
            case Phase.WAIT:
                return await self._wait(state)
            case Phase.ACKNOWLEDGE:
                return await self._acknowledge(state)
            case Phase.BIND:
                self.bind(state.wanted.profile)
                return Done()
            case _:
                raise InternalError(f"the phase {state.phase.value} has no effect")

    async def _submit(self, state: Registration) -> RegistrationReceipt | Refused:
        request = request_of(state)
        try:
            return await self.calls.register(request)
        except ApiError as exc:
            profile = state.wanted.profile
            if exc.status == 409:
                raise RequestNotOurs(profile, exc.what) from exc
            if not _is_definite_refusal(exc):
                raise
            is_owner_unknown = exc.status == 404
            return Refused(
                RegistrationRefused(profile, request.owner_phone, exc.what, is_owner_unknown=is_owner_unknown)
            )

    async def _wait(self, state: Registration) -> RegistrationStatus | None:
        request_id, poll_token = _request(state)
        try:
            if state.resumed or self.wait_s <= 0:  # the decision may be there already; the wait itself pauses first
                status = await self.calls.status(request_id, poll_token)
                if status.verdict is not Verdict.WAITING:
                    return status
            if self.wait_s <= 0:
                return None
            every_s = min(self.every_s, self.wait_s)
            return await self.calls.wait(
                request_id,
                poll_token,
                every_s=every_s,
                limit_s=self.wait_s,
                watch=lambda left_s: self.waiting(request_id, left_s),
            )
        except RequestFailed as exc:
            if _is_gone(exc):
                raise RegistrationUnknown(
                    f"Canon no longer knows the registration {request_id} of {state.wanted.profile}",
                    fix=f"{_again(state)} --start-over",
                ) from exc
            if isinstance(exc, ApiError) and exc.status in (401, 403):  # the token will not be right the next time
                exc.fix = f"{_again(state)} --start-over   (request {request_id} is not ours to ask about)"
            else:
                exc.fix = f"{_again(state)}   (it goes on with request {request_id})"
            raise

    async def _acknowledge(self, state: Registration) -> Done:
        try:
            await self.calls.ack(*_request(state))
        except RequestFailed as exc:
            if not _is_gone(exc):  # a request that Canon has forgotten hands out no key any more
                raise AcknowledgementFailed(
                    f"The key of agent {state.agent_id} is saved as profile {state.wanted.profile}, "
                    f"but Canon did not take the acknowledgement: {exc.what}",
                    fix=_again(state),
                ) from exc
        return Done()


def mint_local_id() -> str:
    """A new local registration id. Source: Canon wire 0.1."""
    return f"hermes-{secrets.token_hex(16)}"


def _request(state: Registration) -> tuple[str, Secret]:
    entry = state.entry
    if entry is None or entry.request_id is None or entry.poll_token is None:
        raise InternalError("there is no request to ask about")
    return entry.request_id, entry.poll_token


def _is_definite_refusal(exc: ApiError) -> bool:
    """Whether the request itself is wrong, and Canon has nothing of it."""
    return 400 <= exc.status < 500 and not exc.retryable and not exc.may_have_landed


def _is_gone(exc: RequestFailed) -> bool:
    return isinstance(exc, ApiError) and exc.status in (404, 410)


def _again(state: Registration) -> str:
    return f"canon-ops setup canon --canon-profile {shlex.quote(state.wanted.profile)}"
