"""What ``setup canon`` is told, and what it gives back: the two ends of its dialogue.

Every question of the dialogue has a field in :class:`SetupAnswers`; a field that is None is asked for, or takes its
default when nobody can be asked. The result holds the answers as they were in the end, so that they can be saved and
used again. Keys are never among them.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Literal

from canon_ops.errors import CredentialError, OutsideError, RefusedError, UsageError
from canon_ops.settings.environments import Connection
from canon_ops.settings.problems import reconnect_command
from canon_ops.settings.profiles import AgentProfile
from canon_ops.settings.provenance import Origin
from canon_ops.settings.secret import Secret

__all__ = [
    "BadAnswer",
    "ContradictingAnswers",
    "KeyOfAnotherAgent",
    "ManagedHome",
    "NoProfiles",
    "ProfileInTheWay",
    "RegistrationPending",
    "SetupAnswers",
    "SetupResult",
    "Way",
]


_WAIT_S = 300.0  # Canon wire 2.6
_NOT_TYPED = frozenset({"way", "api_key", "start_over", "wait_s"})  # the way follows from the others


class Way(Enum):
    """How a home comes to its Canon identity."""

    REGISTER = "register"  # ask the owner for a new agent, or for one that exists
    USE_PROFILE = "use-profile"  # a profile that agents.json already has
    KEY = "key"  # a key from elsewhere, for machines without a person


@dataclass(frozen=True, slots=True)
class SetupAnswers:
    """Answers given beforehand; each names the option that gives it.

    Args:
        start_over: make a new request: drop a pending one, and replace an agent that the profile holds unbound.
        wait_s: how long to wait for the owner; zero only sends the request and looks once.
    """

    way: Way | None = None  # --way
    environment: str | None = None  # --environment
    base_url: str | None = None  # --base-url
    stream_url: str | None = None  # --stream-url
    rtdb_url: str | None = None  # --rtdb-url
    firebase_api_key: str | None = None  # --firebase-api-key
    agent_name: str | None = None  # --agent-name
    description: str | None = None  # --description
    owner_phone: str | None = None  # --owner-phone
    canon_profile: str | None = None  # --canon-profile
    agent_id: str | None = None  # --agent-id
    use_profile: str | None = None  # --use-profile
    api_key: Secret | None = field(default=None, repr=False)  # --api-key-stdin, --api-key-file, --api-key-env
    store: str | None = None  # --store: file or keyring
    start_over: bool = False  # --start-over
    wait_s: float = _WAIT_S  # --wait

    def as_words(self) -> str:
        """The command with these answers, in the order of the fields; never a key, nor what is the default."""
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _NOT_TYPED}
        words = [
            f"--{name.replace('_', '-')} {shlex.quote(value.value if isinstance(value, Way) else value)}"
            for name, value in given.items()
            if value
        ]
        words += ["--start-over"] if self.start_over else []
        words += [f"--wait {self.wait_s:g}"] if self.wait_s != _WAIT_S else []
        return " ".join(["setup canon", *words])

    def implied_way(self) -> Way | None:
        """The way that the given answers belong to; None when they leave it open.

        Raises:
            ContradictingAnswers: they belong to different ways.
        """
        names_place = self.api_key is not None and self.store == "keyring"  # a pasted key then becomes a profile
        wanted: dict[Way, dict[str, object]] = {
            Way.USE_PROFILE: {"--use-profile": self.use_profile},
            Way.KEY: {"the key": self.api_key},
            Way.REGISTER: {
                "--canon-profile": None if names_place else self.canon_profile,
                "--owner-phone": self.owner_phone,
                "--agent-id": self.agent_id,
                "--agent-name": self.agent_name,
                "--description": self.description,
                "--start-over": self.start_over,
            },
        }
        said = {way: [name for name, value in options.items() if value] for way, options in wanted.items()}
        ways = [way for way, names in said.items() if names]
        if self.way is not None and any(way is not self.way for way in ways):
            ways = [self.way, *(way for way in ways if way is not self.way)]
        if len(ways) > 1:
            words = [said[way][0] if said[way] else f"--way {way.value}" for way in ways[:2]]
            raise ContradictingAnswers(f"{words[0]} and {words[1]} exclude each other", fix=f"leave out {words[1]}")
        return self.way or (ways[0] if ways else None)


@dataclass(frozen=True, slots=True)
class SetupResult:
    """What setup did.

    Args:
        canon_profile: the profile that the home uses now; None with a key of its own.
        agent_id, agent_name: as Canon or the profile tells them.
        request_id: the registration request; None where none was needed.
        resumed: an earlier run had begun the registration.
        files: what was written, or would be in a dry run.
        store: where the key is.
        diff: the change of the home's ``.env``, keys masked.
        overridden_by: places that still beat what was set up; each can be dropped by its own ``to_drop()``.
        answers: everything that was answered, the key left out.
        dry_run: nothing was written and no request was sent.
    """

    way: Way
    connection: Connection
    canon_profile: str | None
    agent_id: str | None
    agent_name: str | None
    request_id: str | None
    resumed: bool
    store: Literal["file", "keyring"]
    files: tuple[Path, ...]
    diff: str
    overridden_by: tuple[Origin, ...]
    answers: SetupAnswers
    dry_run: bool = False

    @property
    def changed(self) -> bool:
        """Anything was written, or would be."""
        return bool(self.files)


class BadAnswer(UsageError):
    """An answer that cannot be one."""

    code = "answer_invalid"

    def __init__(self, option: str, why: str, *, fix: str | None = None) -> None:
        super().__init__(f"The answer for {option} cannot be used: {why}", fix=fix or f"give another {option}")


class ContradictingAnswers(UsageError):
    """Answers for two ways at once."""

    code = "answers_contradict"


class ManagedHome(RefusedError):
    """A package manager owns the home's files."""

    code = "home_managed"

    def __init__(self, home: Path, managed_by: str) -> None:
        super().__init__(
            f"The Hermes home {home} is managed by {managed_by}; its .env is not edited here",
            fix=f"set CANON_AGENT in the {managed_by} configuration",
        )


class NoProfiles(CredentialError):
    """There is no profile to choose from."""

    code = "profile_none"

    def __init__(self, agents_file: str) -> None:
        super().__init__(
            f"{agents_file} has no Canon profile for Hermes", fix="canon-ops setup canon", file=agents_file
        )


class KeyOfAnotherAgent(CredentialError):
    """Canon knows the key, but as another agent's than the profile says."""

    code = "key_other_agent"

    def __init__(self, profile: str, stored: str, actual: str | None, agents_file: str) -> None:
        super().__init__(
            f"The key of the Canon profile {profile} is that of agent {actual}, not of {stored}",
            fix=f"reconnect it: {reconnect_command(profile, stored)}",
            file=agents_file,
        )


class ProfileInTheWay(RefusedError):
    """The name holds an agent that is not bound to the chosen environment; registering would write over it.

    Attributes:
        may_be_same_agent: the profile names no other environment, so its agent may be one of the chosen one.
    """

    code = "profile_in_the_way"

    def __init__(self, profile: AgentProfile, environment_id: str, agents_file: str) -> None:
        self.may_be_same_agent = profile.environment_id in (None, environment_id)
        agent = f"agent {profile.agent_id}" if profile.agent_id else "a key"
        name = shlex.quote(profile.name)
        again = f"canon-ops setup canon --canon-profile {name}"
        fix = f"choose another --canon-profile, or replace it: {again} --start-over"
        if self.may_be_same_agent:
            reconnect = reconnect_command(profile.name, profile.agent_id) if profile.agent_id else ""
            fix = (
                f"canon-ops profile migrate {name} --environment {environment_id}   # keeps its key; or "
                + (f"reconnect it: {reconnect}; or " if reconnect else "")
                + f"replace it: {again} --start-over"
            )
        super().__init__(
            f"The Canon profile {profile.name} holds {agent} and is bound to "
            + (f"no endpoints of {environment_id}" if self.may_be_same_agent else str(profile.environment_id)),
            fix=fix,
            file=agents_file,
        )


class RegistrationPending(OutsideError):
    """The owner has not decided within the time; the request stays and the next run goes on with it."""

    code = "registration_pending"
    retryable = True

    def __init__(self, profile: str, request_id: str | None) -> None:
        super().__init__(
            f"The owner has not decided about {profile} yet (request {request_id}); the request stays",
            fix=f"approve it in the Canon app, then: canon-ops setup canon --canon-profile {profile}",
        )
        self.profile = profile
        self.request_id = request_id
