"""Every way in which settings can be wrong, as one shallow tree.

Each class owns one stable code. The class decides who has to act (its base); the place where the value came from
decides the fix, so most of them take an :class:`~canon_ops.settings.provenance.Origin`. All are ``ValueError`` too:
the Hermes host expects that from a platform whose settings do not hold.

::

    UsageError       UnknownEnvironment  BadEndpoint  MissingEndpoint  ForeignDatabase  BadOption  UnsetReference
                     BadBootstrap  BadBorgeeOption  BorgeeAddressMissing  BorgeeKeyInConfig
    CredentialError  NotConfigured  EnvironmentMissing  UnknownProfile  ForeignProfile  UnboundProfile  AmbiguousProfile
                     BorgeeKeyMissing
    RefusedError     DamagedFile  UnreadableDotenv  BorgeeUnshared
                     PendingProblem: PendingTokenMissing  PendingUnbound  PendingPhoneDiffers  PendingAgentDiffers
                     PendingForeign  PendingKeyDiffers  AgentDiffers  AcknowledgementOrphaned
    ConflictError    PendingVanished
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from canon_ops.errors import ConflictError, CredentialError, RefusedError, UsageError
from canon_ops.settings.encodings import to_utf8
from canon_ops.settings.provenance import Origin

__all__ = [
    "AcknowledgementOrphaned",
    "AgentDiffers",
    "AmbiguousProfile",
    "BadBootstrap",
    "BadBorgeeOption",
    "BadEndpoint",
    "BadOption",
    "BorgeeAddressMissing",
    "BorgeeKeyInConfig",
    "BorgeeKeyMissing",
    "BorgeeUnshared",
    "DamagedFile",
    "EnvironmentMissing",
    "ForeignDatabase",
    "ForeignProfile",
    "MissingEndpoint",
    "NotConfigured",
    "PendingAgentDiffers",
    "PendingForeign",
    "PendingKeyDiffers",
    "PendingPhoneDiffers",
    "PendingProblem",
    "PendingTokenMissing",
    "PendingUnbound",
    "PendingVanished",
    "UnboundProfile",
    "UnknownEnvironment",
    "UnknownProfile",
    "UnreadableDotenv",
    "UnsetReference",
    "reconnect_command",
    "reconnect_words",
]

_SETUP = "canon-ops setup canon"


def reconnect_command(profile: str | None, agent_id: str | None) -> str:
    """The call that brings an agent a new key under its own id, as far as profile and agent are known."""
    return f"canon-ops {reconnect_words(profile, agent_id)}"


def reconnect_words(profile: str | None, agent_id: str | None) -> str:
    """The words of :func:`reconnect_command` behind the program's name."""
    options = (("--canon-profile", profile), ("--agent-id", agent_id))
    return " ".join(["setup canon", *(f"{name} {shlex.quote(value)}" for name, value in options if value)])


def _at(origin: Origin | None) -> str:
    return f" ({origin.describe()})" if origin else ""


def _file(origin: Origin | None) -> str | None:
    return origin.file if origin else None


def _line(origin: Origin | None) -> int | None:
    return origin.line if origin else None


class UnknownEnvironment(UsageError, ValueError):
    """An environment id that Canon does not have."""

    code = "environment_unknown"

    def __init__(self, environment_id: str, known: Sequence[str], origin: Origin | None = None) -> None:
        super().__init__(
            f"Unsupported Canon environment ID: {environment_id}{_at(origin)}; known are {', '.join(known)}",
            fix=origin.to_change(known[0]) if origin else f"use one of: {', '.join(known)}",
            file=_file(origin),
            line=_line(origin),
        )


class BadEndpoint(UsageError, ValueError):
    """An endpoint that is no HTTPS URL, and no plain one on this machine either."""

    code = "endpoint_invalid"

    def __init__(self, field: str, shown: str, why: str, origin: Origin | None = None) -> None:
        super().__init__(
            f"The {field} {shown} cannot be used{_at(origin)}: {why}",
            fix=origin.to_change("https://HOST") if origin else f"give an https URL as the {field}",
            file=_file(origin),
            line=_line(origin),
        )
        self.field = field


class MissingEndpoint(UsageError, ValueError):
    """An endpoint that nobody gave and for which the environment has no default."""

    code = "endpoint_missing"

    def __init__(self, environment_id: str, field: str, variable: str) -> None:
        super().__init__(f"Missing endpoint: {environment_id}.{field} has no value", fix=f"set {variable}")
        self.field = field


class ForeignDatabase(UsageError, ValueError):
    """A realtime database of another project: it would tie a key to the wrong trust domain."""

    code = "endpoint_foreign"

    def __init__(self, url: str, project_id: str, origin: Origin | None = None) -> None:
        super().__init__(
            f"The RTDB URL {url} must belong to project {project_id}{_at(origin)}",
            fix=origin.to_drop() if origin else f"give the RTDB URL of {project_id}, or leave it out",
            file=_file(origin),
            line=_line(origin),
        )
        self.field = "rtdb_url"


class BadOption(UsageError, ValueError):
    """A setting with a value that is not among the allowed ones, or of a kind that cannot be one."""

    code = "option_invalid"

    def __init__(self, variable: str, shown: str, allowed: Sequence[str], origin: Origin) -> None:
        choice = f"; allowed: {', '.join(allowed)}" if allowed else "; it must be text"
        super().__init__(
            f"{variable} cannot be {shown} ({origin.describe()}){choice}",
            fix=origin.to_change(allowed[0] if allowed else "VALUE"),
            file=origin.file,
            line=origin.line,
        )


class UnsetReference(UsageError, ValueError):
    """A configuration value that stands for a variable which nobody sets."""

    code = "reference_unset"

    def __init__(self, variable: str, reference: str, origin: Origin) -> None:
        super().__init__(
            f"{origin.describe()} refers to ${{{reference}}}, which is not set; it would give {variable}",
            fix=f"canon-ops env set {reference}",
            file=origin.file,
            line=origin.line,
        )


class BadBootstrap(UsageError, ValueError):
    """``CANON_AGENTS_JSON_BOOTSTRAP`` holds something else than profiles."""

    code = "bootstrap_invalid"

    def __init__(self, why: str) -> None:
        super().__init__(
            f"CANON_AGENTS_JSON_BOOTSTRAP cannot be used: {why}",
            fix="give it the content of an agents.json, as JSON or as base64 of JSON, or unset it",
        )


class NotConfigured(CredentialError, ValueError):
    """No key and no profile anywhere."""

    code = "credential_missing"

    def __init__(self, agents_file: str, *, foreign: int = 0) -> None:
        others = f" ({foreign} profile(s) there belong to other clients)" if foreign else ""
        super().__init__(
            f"No Canon credential: CANON_API_KEY is not set and {agents_file} has no profile{others}", fix=_SETUP
        )


class BorgeeAddressMissing(UsageError, ValueError):
    """Borgee's block names no server."""

    code = "borgee_address_missing"

    def __init__(self, config_file: str) -> None:
        super().__init__(
            f"borgee.base_url is not set in {config_file}: Borgee has no server to connect to",
            fix="canon-ops setup borgee",
            file=config_file,
        )


class BorgeeKeyMissing(CredentialError, ValueError):
    """Borgee has neither a key nor a reference to one."""

    code = "borgee_key_missing"

    def __init__(self, dotenv_file: str) -> None:
        super().__init__(
            f"No Borgee credential: BORGEE_API_KEY is not set, nor in {dotenv_file}",
            fix="canon-ops env set BORGEE_API_KEY",
            file=dotenv_file,
        )


class BorgeeKeyInConfig(UsageError, ValueError):
    """A key of Borgee's in config.yaml, where everybody who reads or shares the file would have it."""

    code = "borgee_key_in_config"

    def __init__(self, place: str, config_file: str) -> None:
        super().__init__(
            f"{place} in {config_file} holds a key; Borgee's key comes only from BORGEE_API_KEY",
            fix=f"canon-ops env set BORGEE_API_KEY, then canon-ops config unset {place}",
            file=config_file,
        )


class BadBorgeeOption(UsageError, ValueError):
    """A value in Borgee's block that cannot be one."""

    code = "borgee_option_invalid"

    def __init__(self, name: str, value: object, allowed: str, place: Origin) -> None:
        super().__init__(
            f"borgee.{name} cannot be {value!r} ({place.describe()}); it must be {allowed}",
            fix=place.to_change("VALUE"),
            file=place.file,
        )


class BorgeeUnshared(RefusedError, ValueError):
    """A setting of the whole gateway with which Borgee's promises do not hold."""

    code = "borgee_gateway_setting"

    def __init__(self, key: str, value: str, why: str, config_file: str) -> None:
        super().__init__(
            f"Borgee needs {key}: {value} in {config_file}: {why}",
            fix=f"canon-ops config set {key} {value}",
            file=config_file,
        )


class EnvironmentMissing(CredentialError, ValueError):
    """A key given directly, without the environment that it belongs to."""

    code = "environment_missing"

    def __init__(self, key_origin: Origin, known: Sequence[str]) -> None:
        where = {"config": "canon-ops config set platforms.canon.extra.environment_id"}
        command = where.get(key_origin.source.value, "canon-ops env set CANON_ENVIRONMENT_ID")
        super().__init__(
            f"A Canon key is set directly ({key_origin.describe()}) without CANON_ENVIRONMENT_ID, "
            f"the environment that owns it",
            fix=f"{command} {known[0]}   # one of: {', '.join(known)}",
            file=key_origin.file,
            line=key_origin.line,
        )


class UnknownProfile(CredentialError, ValueError):
    """The chosen Canon profile is not in agents.json."""

    code = "profile_unknown"

    def __init__(self, profile: str, known: Sequence[str], agents_file: str, origin: Origin | None = None) -> None:
        choice = f"it has {', '.join(known)}" if known else "it has no profile for Hermes"
        fix = origin.to_change(known[0]) if origin and known else f"{_SETUP} --canon-profile {profile}"
        super().__init__(
            f"{agents_file} has no Canon profile {profile}{_at(origin)}; {choice}", fix=fix, file=agents_file
        )


class ForeignProfile(CredentialError, ValueError):
    """The chosen Canon profile belongs to another kind of client."""

    code = "profile_foreign"

    def __init__(self, profile: str, client_type: str, agents_file: str) -> None:
        super().__init__(
            f"The Canon profile {profile} belongs to client type {client_type}, not hermes",
            fix=f"choose another profile, or register one for Hermes: {_SETUP}",
            file=agents_file,
        )


class UnboundProfile(CredentialError, ValueError):
    """A profile without all that ties its key to an agent and an environment: it fails closed."""

    code = "profile_unbound"

    def __init__(self, profile: str, missing: Sequence[str], agents_file: str, *, agent_id: str | None = None) -> None:
        name = shlex.quote(profile)
        again = reconnect_command(profile, agent_id)
        has_key = "apiKey" not in missing
        super().__init__(
            f"The Canon profile {profile} lacks its identity or environment binding: {', '.join(missing)}",
            fix=f"canon-ops profile migrate {name}   # or reconnect it: {again}" if has_key else again,
            file=agents_file,
        )
        self.missing = tuple(missing)


class AmbiguousProfile(CredentialError, ValueError):
    """Several profiles could be meant and none is chosen."""

    code = "profile_ambiguous"

    def __init__(self, profiles: Sequence[str], agents_file: str) -> None:
        super().__init__(
            f"{agents_file} has {len(profiles)} Canon profiles ({', '.join(profiles)}) and CANON_AGENT chooses none",
            fix=f"canon-ops profile bind {shlex.quote(profiles[0])}",
            file=agents_file,
        )
        self.profiles = tuple(profiles)


class DamagedFile(RefusedError, ValueError):
    """A file of profiles or pending registrations that we cannot read whole, and therefore never overwrite."""

    code = "file_damaged"

    def __init__(self, what: str, file: str, why: str, *, line: int | None = None, column: int | None = None) -> None:
        super().__init__(
            f"Could not read {what}: {why}; the file is left as it is",
            fix=f"repair {file} by hand, or move it away",
            file=file,
            line=line,
            column=column,
        )
        self.why = why


class UnreadableDotenv(RefusedError, ValueError):
    """A ``.env`` in an encoding that neither Hermes nor we read."""

    code = "dotenv_encoding"

    def __init__(self, encoding: str, file: str) -> None:
        super().__init__(
            f"{file} is {encoding}; Hermes does not read it",
            fix=to_utf8(encoding, file),
            file=file,
        )


class PendingProblem(RefusedError, ValueError):
    """A pending registration that does not fit what is wanted now; nothing is sent and nothing is changed."""

    code = "pending_refused"


class PendingTokenMissing(PendingProblem):
    """A request was sent, but the token that lets us ask for its outcome is gone."""

    code = "pending_token_missing"

    def __init__(self, profile: str, request_id: str, file: str) -> None:
        super().__init__(
            f"The pending registration of {profile} has request {request_id} but no pollToken",
            fix=f"restore pollToken of {profile} in {file}, or add --start-over to drop that request",
            file=file,
        )


class PendingUnbound(PendingProblem):
    """A request was sent to one environment and another one is chosen now."""

    code = "pending_other_environment"

    def __init__(self, profile: str, request_id: str, differing: Sequence[str], stored: str | None, file: str) -> None:
        back = f"{_SETUP} --canon-profile {profile} --environment {stored}; or " if stored else ""
        super().__init__(
            f"The pending registration of {profile} (request {request_id}) is not bound to this environment: "
            f"{', '.join(differing)} differ",
            fix=f"{back}add --start-over to drop that request",
            file=file,
        )
        self.differing = tuple(differing)


class PendingPhoneDiffers(PendingProblem):
    """The stored request names another owner's phone."""

    code = "pending_other_phone"

    def __init__(self, profile: str, stored: str, file: str) -> None:
        super().__init__(
            f"The pending registration of {profile} was made for the owner phone {stored}",
            fix=f"{_SETUP} --canon-profile {profile} --owner-phone {stored}, or add --start-over to drop that request",
            file=file,
        )


class PendingAgentDiffers(PendingProblem):
    """The stored request asks for another agent identity."""

    code = "pending_other_agent"

    def __init__(self, profile: str, stored: str | None, wanted: str, file: str) -> None:
        asked = f"asks for agent {stored}" if stored else "asks for a new agent"
        same = f" --agent-id {stored}" if stored else ""
        super().__init__(
            f"The pending registration of {profile} {asked}, not for agent {wanted}",
            fix=f"finish it first: {_SETUP} --canon-profile {profile}{same}; or add --start-over to drop that request",
            file=file,
        )


class PendingForeign(PendingProblem):
    """The name is taken by another client's pending registration, which is not ours to touch."""

    code = "pending_foreign"

    def __init__(self, profile: str, client_type: str, file: str) -> None:
        super().__init__(
            f"The pending registration of {profile} belongs to client type {client_type}, not hermes",
            fix="choose another --canon-profile",
            file=file,
        )


class PendingKeyDiffers(PendingProblem):
    """An entry is filed under one profile and names another."""

    code = "pending_misfiled"

    def __init__(self, profile: str, named: str, file: str) -> None:
        super().__init__(
            f"The pending registration filed under {profile} names the profile {named}",
            fix=f"correct the entry in {file} by hand",
            file=file,
        )


class PendingVanished(ConflictError, ValueError):
    """The entry that this run works on was removed while it worked."""

    code = "pending_vanished"

    def __init__(self, profile: str, file: str) -> None:
        super().__init__(
            f"Another program removed the pending registration of {profile} from {file} in the meantime",
            fix=f"{_SETUP} --canon-profile {profile}",
            file=file,
        )


class AgentDiffers(PendingProblem):
    """The owner approved another agent than the one that was asked for; nothing of it is kept."""

    code = "approval_other_agent"

    def __init__(self, profile: str, wanted: str, got: str) -> None:
        super().__init__(
            f"Agent {wanted} was asked for, but the approval is for agent {got}; its key was not saved",
            fix=f"ask the owner for {wanted}, or drop the request: {_SETUP} --canon-profile {profile} --start-over",
        )


class AcknowledgementOrphaned(PendingProblem):
    """An acknowledgement is due, but the credential that it would acknowledge is not stored."""

    code = "pending_credential_lost"

    def __init__(self, profile: str, agent_id: str, why: str, pending_file: str, agents_file: str) -> None:
        super().__init__(
            f"The registration of {profile} waits for its acknowledgement, but {agents_file} does not hold "
            f"the key of agent {agent_id}: {why}",
            fix=f"restore that profile in {agents_file}, or add --start-over to register anew",
            file=pending_file,
        )
