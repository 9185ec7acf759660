"""The order in which an agent is registered, as a pure machine: crash anywhere, and the next run goes on.

::

    PREPARE ──▶ SUBMIT ──▶ RECORD ──▶ WAIT ──▶ SAVE ──▶ MARK ──▶ ACKNOWLEDGE ──▶ BIND ──▶ FORGET ──▶ REGISTERED
       │                              ▲ │ │                          ▲
       │ entry has its request ───────┘ │ └─▶ UNDECIDED               │
       │ entry has its marker ──────────┼────────────────────────────┘
                     │                  └─ rejected, or the key is gone ──▶ DROP ──▶ REFUSED
                     └─ refused for good: Canon has no such request ─────────▲

Each phase has one effect, and the effect is complete and durable before the next phase begins. A key is in agents.json
before Canon may forget it (SAVE before ACKNOWLEDGE). The pending entry goes last, after the home was bound to the
profile: as long as it is there, a run that died finds out what is left to do, and every effect may be repeated. (The
published client deletes it before binding and cannot resume that last step; both orders read each other's files.)

A shell calls :func:`begin`, carries out the effect of the phase, hands what came of it to :func:`advance`, and stops
at a final phase. For the phases that write, :func:`rewrite` computes the new files from those on the disk.

Source: Canon wire 3.5; canon-adapter SC.11 to SC.14.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from canon_ops.errors import CanonOpsError, InternalError, RefusedError
from canon_ops.settings.local_files import LocalFiles
from canon_ops.settings.pending import Due, PendingFile, PendingRegistration, Wanted
from canon_ops.settings.problems import AcknowledgementOrphaned, AgentDiffers, ForeignProfile
from canon_ops.settings.profiles import AgentsFile, KeyReference
from canon_ops.settings.secret import Secret
from canon_ops.wire.registration import (
    KeyAlreadyDelivered,
    KeyExpired,
    RegistrationReceipt,
    RegistrationRequest,
    RegistrationStatus,
    Verdict,
)

__all__ = [
    "Credential",
    "Done",
    "Phase",
    "Refused",
    "Registration",
    "RegistrationRefused",
    "RegistrationRejected",
    "RequestNotOurs",
    "Written",
    "advance",
    "begin",
    "request_of",
    "rewrite",
]

T = TypeVar("T")

DEFAULT_NAME = "Hermes"  # Canon wire 3.2
DEFAULT_DESCRIPTION = "Hermes gateway agent"  # likewise


class Phase(Enum):
    """What is to be done next; the numbers are those of Canon wire 3.5."""

    PREPARE = "prepare"  # 2, 3: write the pending entry
    SUBMIT = "submit"  # 4: send the request
    RECORD = "record"  # 5: write request id and poll token
    WAIT = "wait"  # 6: ask until the owner has decided
    SAVE = "save"  # 7: write the profile
    MARK = "mark"  # 8: write that the acknowledgement is due
    ACKNOWLEDGE = "acknowledge"  # 9: tell Canon that the key is safe
    BIND = "bind"  # 11: make the home use the profile
    FORGET = "forget"  # 10: remove the pending entry
    DROP = "drop"  # remove the pending entry of a request that leads nowhere
    REGISTERED = "registered"  # final
    UNDECIDED = "undecided"  # final: the owner has said nothing within the time; the entry stays
    REFUSED = "refused"  # final: refused, rejected, or the key is gone; ``trouble`` says which

    @property
    def writes(self) -> bool:
        """Whether the effect is :func:`rewrite`."""
        return self in _WRITING

    @property
    def is_final(self) -> bool:
        """Whether there is nothing more to do."""
        return self in (Phase.REGISTERED, Phase.UNDECIDED, Phase.REFUSED)


_WRITING = frozenset({Phase.PREPARE, Phase.RECORD, Phase.SAVE, Phase.MARK, Phase.FORGET, Phase.DROP})


class RegistrationRejected(RefusedError):
    """The owner said no."""

    code = "registration_rejected"

    def __init__(self, profile: str) -> None:
        super().__init__(
            f"The owner rejected the registration of {profile}; nothing was saved",
            fix=f"agree with the owner, then register again: canon-ops setup canon --canon-profile {profile}",
        )


class RegistrationRefused(RefusedError):
    """Canon took the request for wrong and keeps nothing of it.

    Attributes:
        is_owner_unknown: what is wrong is the owner's phone number.
    """

    code = "registration_refused"

    def __init__(self, profile: str, owner_phone: str, why: str, *, is_owner_unknown: bool) -> None:
        self.is_owner_unknown = is_owner_unknown
        again = f"canon-ops setup canon --canon-profile {shlex.quote(profile)}"
        super().__init__(
            f"Canon knows no owner with the phone number {owner_phone}; nothing was registered ({why})"
            if is_owner_unknown
            else f"Canon refused to register {profile}; nothing was saved: {why}",
            fix=f"{again} --owner-phone NUMBER" if is_owner_unknown else f"change what it complains about: {again}",
        )


class RequestNotOurs(RefusedError):
    """Canon has another request under our local id, of which there is no record here."""

    code = "registration_conflict"

    def __init__(self, profile: str, why: str) -> None:
        super().__init__(
            f"Canon has another request of {profile} under the same id: {why}",
            fix=f"canon-ops setup canon --canon-profile {shlex.quote(profile)} --start-over",
        )


@dataclass(frozen=True, slots=True)
class Credential:
    """What an approval brings; the key itself, or where it was put (the shell decides before SAVE)."""

    api_key: Secret | KeyReference
    agent_id: str
    agent_name: str


@dataclass(frozen=True, slots=True)
class Registration:
    """Where a run stands.

    Args:
        start_over: drop what an earlier run left before preparing.
        entry: the pending entry as it was written last.
        resumed: an earlier run had sent the request already.
        trouble: why the run ends in REFUSED; to be raised once the entry is gone.
    """

    phase: Phase
    wanted: Wanted
    start_over: bool = False
    entry: PendingRegistration | None = None
    resumed: bool = False
    receipt: RegistrationReceipt | None = None
    credential: Credential | None = None
    agent_id: str | None = None
    agent_name: str | None = None
    trouble: CanonOpsError | None = None

    @property
    def request_id(self) -> str | None:
        """The request that is with Canon, as far as we know."""
        return self.receipt.request_id if self.receipt else (self.entry.request_id if self.entry else None)


@dataclass(frozen=True, slots=True)
class Written:
    """The files as :func:`rewrite` made them are on the disk."""

    files: LocalFiles


@dataclass(frozen=True, slots=True)
class Done:
    """An effect without a result (ACKNOWLEDGE, BIND) is complete."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Canon refused the request for good, and has none."""

    trouble: RegistrationRefused


Event = Written | Done | Refused | RegistrationReceipt | RegistrationStatus | None
"""What came of a phase. None stands for a wait that ended without a decision."""


def begin(wanted: Wanted, *, start_over: bool = False) -> Registration:
    """A run that has done nothing yet."""
    return Registration(Phase.PREPARE, wanted, start_over)


def rewrite(state: Registration, files: LocalFiles, *, now_ms: int) -> LocalFiles:
    """The files that a writing phase wants, computed from those that are there.

    Raises:
        PendingProblem, PendingVanished, ForeignProfile: they do not fit; nothing is to be written.
    """
    profile, pending, agents = state.wanted.profile, files.pending, files.agents
    match state.phase:
        case Phase.PREPARE:
            return replace(files, pending=_prepared(state, files, now_ms))
        case Phase.RECORD:
            receipt = _have(state.receipt)
            pending = pending.submitted(
                profile, request_id=receipt.request_id, poll_token=receipt.poll_token, now_ms=now_ms
            )
        case Phase.SAVE:
            new = _have(state.credential)
            agents = agents.with_credential(
                profile,
                state.wanted.connection,
                api_key=new.api_key,
                agent_id=new.agent_id,
                agent_name=new.agent_name,
                now_ms=now_ms,
            )
        case Phase.MARK:
            agent_id = _have(state.agent_id)
            if profile in pending.entries or not _holds_key(agents, state, agent_id):
                pending = pending.credential_saved(profile, agent_id=agent_id, now_ms=now_ms)
            # Else a run beside this one has saved the same key and is through: nothing is due any more.
        case Phase.FORGET | Phase.DROP:
            pending = pending.without(profile)
        case _:
            raise InternalError(f"the phase {state.phase.value} writes nothing")
    return LocalFiles(agents, pending)


def request_of(state: Registration) -> RegistrationRequest:
    """The request that SUBMIT sends: what the entry on the disk says, so that a repetition is the same request."""
    entry = _have(state.entry)
    return RegistrationRequest(
        owner_phone=_have(entry.owner_phone),
        local_registration_id=_have(entry.local_registration_id),
        name=entry.agent_name or DEFAULT_NAME,
        description=entry.description or DEFAULT_DESCRIPTION,
        requested_agent_id=entry.requested_agent_id,
    )


def advance(state: Registration, event: Event, files: LocalFiles | None = None) -> Registration:
    """The state after ``event``; the table on top says where each phase leads.

    Args:
        files: the files now; only WAIT looks at them, to find a key that an earlier run has already saved.

    Raises:
        AgentDiffers, MalformedApproval: the approval is not for this request; nothing of it may be saved.
        AcknowledgementOrphaned: an acknowledgement is due for a key that is not in agents.json.
        InternalError: the event does not belong to the phase; a fault of the shell.
    """
    match state.phase, event:
        case Phase.PREPARE, Written(now):
            return _prepared_to_go_on(state, now)
        case Phase.SUBMIT, RegistrationReceipt():
            return replace(state, phase=Phase.RECORD, receipt=event)
        case Phase.SUBMIT, Refused(trouble):  # kept, the entry would hold the next run to the same wrong answers
            return replace(state, phase=Phase.DROP, trouble=trouble)
        case Phase.RECORD, Written(now):
            return replace(state, phase=Phase.WAIT, entry=now.pending.registration(state.wanted.profile))
        case Phase.WAIT, None:
            return replace(state, phase=Phase.UNDECIDED)
        case Phase.WAIT, RegistrationStatus():
            return _decided(state, event, files)
        case Phase.SAVE, Written():
            return replace(state, phase=Phase.MARK)
        case Phase.MARK, Written(now):
            entry = now.pending.registration(state.wanted.profile) or state.entry
            return replace(state, phase=Phase.ACKNOWLEDGE, entry=entry)
        case Phase.ACKNOWLEDGE, Done():
            return replace(state, phase=Phase.BIND)
        case Phase.BIND, Done():
            return replace(state, phase=Phase.FORGET)
        case Phase.FORGET, Written():
            return replace(state, phase=Phase.REGISTERED)
        case Phase.DROP, Written():
            return replace(state, phase=Phase.REFUSED)
        case _:
            raise InternalError(f"{type(event).__name__} does not belong to the phase {state.phase.value}")


def _prepared(state: Registration, files: LocalFiles, now_ms: int) -> PendingFile:
    profile, pending = state.wanted.profile, files.pending
    known = files.agents.profile(profile)
    if known is not None and not known.is_for_hermes:  # refused now, not after the owner has approved
        raise ForeignProfile(profile, str(known.client_type), files.agents.file)
    if state.start_over and pending.registration(profile) is not None:
        pending = pending.without(profile)
    is_same_place = known is not None and known.is_bound_to(state.wanted.connection)
    known_agent_id = known.agent_id if known is not None and is_same_place else None
    return pending.prepared(state.wanted, known_agent_id=known_agent_id, now_ms=now_ms)


def _prepared_to_go_on(state: Registration, files: LocalFiles) -> Registration:
    entry = _have(files.pending.registration(state.wanted.profile))
    state = replace(state, entry=entry, resumed=entry.due is not Due.REGISTER)
    match entry.due:
        case Due.REGISTER:
            return replace(state, phase=Phase.SUBMIT)
        case Due.POLL:
            return replace(state, phase=Phase.WAIT)
        case Due.ACKNOWLEDGE:
            agent_id, agent_name = _require_saved(state, entry, files)
            return replace(state, phase=Phase.ACKNOWLEDGE, agent_id=agent_id, agent_name=agent_name)


def _require_saved(state: Registration, entry: PendingRegistration, files: LocalFiles) -> tuple[str, str]:
    """The agent whose key an earlier run has saved, or the reason why there is nothing to acknowledge."""
    agent_id = _have(entry.credential_agent_id)
    known = files.agents.profile(entry.profile)
    why = None
    if known is None:
        why = f"there is no profile {entry.profile}"
    elif known.agent_id != agent_id:
        why = f"the profile {entry.profile} is for agent {known.agent_id}"
    elif not (known.api_key or known.api_key_ref) or known.agent_name is None:
        why = f"the profile {entry.profile} lacks its key or its name"
    elif not known.is_bound_to(state.wanted.connection):
        why = f"the profile {entry.profile} is bound to another environment"
    elif not entry.request_id or entry.poll_token is None:
        why = "the pending entry has lost its requestId or pollToken"
    if why is not None or known is None or known.agent_name is None:
        raise AcknowledgementOrphaned(
            entry.profile, agent_id, str(why), pending_file=files.pending.file, agents_file=files.agents.file
        )
    return agent_id, known.agent_name


def _decided(state: Registration, status: RegistrationStatus, files: LocalFiles | None) -> Registration:
    match status.verdict:
        case Verdict.WAITING:
            return state
        case Verdict.REJECTED:
            return replace(state, phase=Phase.DROP, trouble=RegistrationRejected(state.wanted.profile))
        case Verdict.APPROVED:
            return _approved(state, status, files)


def _approved(state: Registration, status: RegistrationStatus, files: LocalFiles | None) -> Registration:
    wanted = state.entry.requested_agent_id if state.entry else None
    if wanted and status.agent_id and status.agent_id != wanted:
        raise AgentDiffers(state.wanted.profile, wanted, status.agent_id)
    try:
        api_key, agent_id, agent_name = status.credentials()
    except (KeyExpired, KeyAlreadyDelivered) as exc:
        if files is None or status.agent_id is None or not _holds_key(files.agents, state, status.agent_id):
            return replace(state, phase=Phase.DROP, trouble=exc)
        known = _have(files.agents.profile(state.wanted.profile))
        return replace(state, phase=Phase.MARK, agent_id=known.agent_id, agent_name=known.agent_name)
    return replace(
        state,
        phase=Phase.SAVE,
        credential=Credential(api_key, agent_id, agent_name),
        agent_id=agent_id,
        agent_name=agent_name,
    )


def _holds_key(agents: AgentsFile, state: Registration, agent_id: str) -> bool:
    """Whether agents.json has exactly this agent's key for this run: another run saved it, or died right after."""
    known = agents.profile(state.wanted.profile)
    return (
        known is not None
        and not known.missing()
        and known.agent_id == agent_id
        and known.is_bound_to(state.wanted.connection)
    )


def _have(value: T | None) -> T:
    """A value that the phase guarantees; its absence is a fault of ours."""
    if value is None:
        raise InternalError("a registration step came before the one that it builds on")
    return value
