"""What a sandbox is started with, and what it tells once it listens."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from canon_ops.errors import UsageError

__all__ = ["KEY_PREFIX", "PROJECTS", "CanonOptions", "Endpoints", "ModelEndpoints", "ModelOptions"]

KEY_PREFIX: Final = "agk_live_sandbox_"
"""Every key minted here starts like this, so that a log or a report shows at a glance that it opens nothing real."""

PROJECTS: Final = {"canon-prod-v1": "canonmail-prod", "canon-dev-v1": "canonmail-dev"}
"""Environment id -> project id, written down a second time on purpose: the sandbox checks our clients, so it must not
borrow the table they use. Source: Canon wire 1.1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonOptions:
    """How a loopback Canon server behaves from its first request on.

    Args:
        environment_id: the identity that both health endpoints tell.
        port: API port, 0 for any free one. The human side listens there too.
        stream_port: stream port, 0 for any free one.
        auto_approve: registrations are approved without a person, after ``approve_after_polls`` pending answers.
        key_life_s: how long after the approval a key waits to be acknowledged before it is dropped; None: for ever.
            Source: Canon wire 11.3.
        faults: texts for :func:`canon_ops.sandbox.faults.parse_fault`, armed before the first request.
        ready_file: written atomically when both listeners accept, and only then.
        seed: makes every minted id and token reproducible; None takes a random one.
        keep_alive_s: pause between comments on a quiet stream. Source: Canon wire 11.7.
        window_events: how many events of one agent can be replayed; older cursors get ``replay.expired``.
        journal_entries: how many requests the journal remembers.
        emit_suppressed: also stream agent messages that wake nobody, with the verdict ``record_only``.
        echo_to_author: also stream an agent's own messages back to it, which a client has to drop.
    """

    environment_id: str = "canon-dev-v1"
    port: int = 0
    stream_port: int = 0
    auto_approve: bool = False
    approve_after_polls: int = 1
    key_life_s: float | None = None
    faults: tuple[str, ...] = ()
    ready_file: Path | None = None
    seed: str | None = None
    keep_alive_s: float = 15.0
    window_events: int = 10_000
    journal_entries: int = 20_000
    emit_suppressed: bool = False
    echo_to_author: bool = False

    def __post_init__(self) -> None:
        if self.environment_id not in PROJECTS:
            raise UsageError(f"no such Canon environment: {self.environment_id!r} (there are {', '.join(PROJECTS)})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """Where a running sandbox is reached, and who lives there: the content of the ready file.

    ``agent_key`` belongs to the agent that exists from the start; ``conversation_id`` is its direct conversation with
    the owner. Registrations add agents with keys and conversations of their own.
    """

    api: str
    stream: str
    admin: str
    admin_token: str
    agent_key: str
    environment_id: str
    owner_id: str
    owner_phone: str
    conversation_id: str

    def as_dict(self) -> dict[str, str]:
        """The keys of the ready file, in its order."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """How a loopback model endpoint behaves.

    Args:
        port: 0 for any free one.
        answers: texts handed out one a model request, in order, before the user's own text decides again.
        default_answer: what is said when neither ``answers`` nor a directive decides; ``{text}`` is the user's text.
        model: the one model that is listed.
        context_length: what the listing says about it.
        journal_entries: how many requests are remembered.
        ready_file: written atomically when the listener accepts.
    """

    port: int = 0
    answers: tuple[str, ...] = ()
    default_answer: str = "You said: {text}"
    model: str = "sandbox-model"
    context_length: int = 200_000
    journal_entries: int = 20_000
    ready_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoints:
    """Where a running model endpoint is reached: the content of its ready file."""

    base_url: str
    model: str
    api_key: str

    def as_dict(self) -> dict[str, str]:
        return asdict(self)
