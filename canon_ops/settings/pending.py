"""``pending-registrations.json``: requests for an agent that are not finished, one entry a Canon profile.

The entry is the whole memory of a registration. Its fields tell which step is due, so a run that was killed anywhere
goes on from what the file says:

====================  =========================================  ==================
the entry has         what happened                              what is due
====================  =========================================  ==================
no ``requestId``      nothing was sent, or we never heard back   send the request
``requestId``         the request is with the owner              ask for its outcome
``credentialAgentId`` the key is in agents.json                  acknowledge it
====================  =========================================  ==================

``localRegistrationId`` is minted once and kept: sending the request again under it is the same request to Canon.

The functions here are the transitions: they check, and give a new file. Whoever calls them writes it and only then
takes the step. Several programs share the file; their entries and every unknown field survive.

Source: Canon wire 3.5, 3.6; Appendix C of the adapter's specification.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from canon_ops.lean import dataclass, field
from canon_ops.settings.environments import BINDING_FIELDS, Connection
from canon_ops.settings.problems import (
    PendingAgentDiffers,
    PendingForeign,
    PendingKeyDiffers,
    PendingPhoneDiffers,
    PendingTokenMissing,
    PendingUnbound,
    PendingVanished,
)
from canon_ops.settings.profiles import CLIENT_TYPE
from canon_ops.settings.records import Fields, client_type_of, format_time, parse_records, render_records, text_field
from canon_ops.settings.secret import Secret

__all__ = ["Due", "PendingFile", "PendingRegistration", "Wanted"]

_WHAT = "pending Canon registrations"


class Due(Enum):
    """What an entry waits for."""

    REGISTER = "register"
    POLL = "poll"
    ACKNOWLEDGE = "acknowledge"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a run wants to register.

    Args:
        new_local_id: ``hermes-`` and 32 hex digits, used only when the entry has none yet.
        agent_id: an agent identity that the operator names; None when nobody named one.
        agent_name, description: how the agent is to be called; None keeps what an earlier run asked for.
    """

    profile: str
    connection: Connection
    owner_phone: str
    new_local_id: str
    agent_id: str | None = None
    agent_name: str | None = None
    description: str | None = None


@dataclass(frozen=True, slots=True)
class PendingRegistration:
    """One entry, read; a field is None when it is absent or no text.

    ``agent_name`` and ``description`` are fields of ours, ``requestedAgentName`` and ``requestedDescription``: a
    request that is sent again under the same local id has to be the same request.
    """

    profile: str
    client_type: str | None
    created_at: str | None
    updated_at: str | None
    local_registration_id: str | None
    environment_id: str | None
    owner_phone: str | None
    requested_agent_id: str | None
    agent_name: str | None
    description: str | None
    request_id: str | None
    poll_token: Secret | None
    credential_agent_id: str | None
    fields: Fields = field(repr=False)

    @property
    def due(self) -> Due:
        """The step that comes next; see the table of this module."""
        if self.credential_agent_id:
            return Due.ACKNOWLEDGE
        return Due.POLL if self.request_id else Due.REGISTER

    def differing(self, connection: Connection) -> tuple[str, ...]:
        """The binding fields, as the file spells them, that are not exactly this connection's."""
        return tuple(name for name, value in connection.binding().items() if text_field(self.fields, name) != value)


@dataclass(frozen=True, slots=True)
class PendingFile:
    """All pending registrations; every transition gives a new one."""

    file: str
    entries: Mapping[str, Fields] = field(repr=False)

    @classmethod
    def parse(cls, data: bytes | None, *, file: str) -> PendingFile:
        """Read the file's bytes; None, for a missing file, gives no entries.

        Raises:
            DamagedFile: it cannot be read whole.
        """
        return cls(file, parse_records(data, what=_WHAT, file=file))

    @property
    def data(self) -> bytes:
        """The bytes to write; without entries an empty object, never no file."""
        return render_records(self.entries)

    @property
    def names(self) -> tuple[str, ...]:
        """The profiles with an entry, foreign ones included, sorted."""
        return tuple(sorted(self.entries))

    def for_hermes(self) -> tuple[str, ...]:
        """The profiles whose entries are ours, sorted."""
        return tuple(name for name in self.names if client_type_of(self.entries[name]) in (None, CLIENT_TYPE))

    def registration(self, profile: str) -> PendingRegistration | None:
        """The entry of ``profile``; None when there is none.

        Raises:
            PendingForeign: another client type's.
            PendingKeyDiffers: the entry names another profile than the one it is filed under.
        """
        entry = self.entries.get(profile)
        if entry is None:
            return None
        owner = client_type_of(entry)
        if owner not in (None, CLIENT_TYPE):
            raise PendingForeign(profile, str(owner), self.file)
        named = entry.get("profile")
        if named is not None and named != profile:
            raise PendingKeyDiffers(profile, str(named), self.file)
        return _read(profile, entry)

    def prepared(self, wanted: Wanted, *, known_agent_id: str | None, now_ms: int) -> PendingFile:
        """Steps 2 and 3: create the entry, or refresh it after checking that it is for the same wish.

        An entry whose request was sent must have its token, the same environment, owner and agent. One that sent
        nothing is bound to the environment chosen now.

        Args:
            known_agent_id: the agent that agents.json already has under this profile in the same environment; it is
                asked for again when nothing else says what to ask for.

        Raises:
            PendingTokenMissing, PendingUnbound, PendingPhoneDiffers, PendingAgentDiffers, PendingForeign,
            PendingKeyDiffers: it is for something else; the file stays as it is.
        """
        old = self.registration(wanted.profile)
        if old is not None:
            self._require_same_wish(old, wanted)
        fields: dict[str, object] = dict(old.fields) if old else {}
        now = format_time(now_ms)
        fields["profile"] = wanted.profile
        fields["clientType"] = CLIENT_TYPE
        fields["createdAt"] = text_field(fields, "createdAt") or text_field(fields, "submittedAt") or now
        fields["updatedAt"] = now
        fields["localRegistrationId"] = text_field(fields, "localRegistrationId") or wanted.new_local_id
        fields["ownerPhone"] = wanted.owner_phone
        fields.update(wanted.connection.binding())
        agent_id = wanted.agent_id or (old.requested_agent_id if old else None)
        if not (old and old.request_id):
            agent_id = agent_id or known_agent_id
            names = {"requestedAgentName": wanted.agent_name, "requestedDescription": wanted.description}
            fields.update({name: value for name, value in names.items() if value})
        if agent_id:
            fields["requestedAgentId"] = agent_id
        return self._with(wanted.profile, fields)

    def submitted(self, profile: str, *, request_id: str, poll_token: Secret, now_ms: int) -> PendingFile:
        """Step 5: remember the request that Canon has accepted.

        Raises:
            PendingVanished: somebody removed the entry meanwhile.
        """
        return self._changed(profile, now_ms, requestId=request_id, pollToken=poll_token.reveal())

    def credential_saved(self, profile: str, *, agent_id: str, now_ms: int) -> PendingFile:
        """Step 8: the key is in agents.json, the acknowledgement is due.

        Raises:
            PendingVanished: somebody removed the entry meanwhile.
        """
        return self._changed(profile, now_ms, credentialAgentId=agent_id)

    def without(self, profile: str) -> PendingFile:
        """Step 10, and the end of a rejected request: the entry goes; absent is fine."""
        return PendingFile(self.file, {name: entry for name, entry in self.entries.items() if name != profile})

    def _require_same_wish(self, old: PendingRegistration, wanted: Wanted) -> None:
        if old.request_id:
            if old.poll_token is None:
                raise PendingTokenMissing(old.profile, old.request_id, self.file)
            if differing := old.differing(wanted.connection):
                raise PendingUnbound(old.profile, old.request_id, differing, old.environment_id, self.file)
        if old.owner_phone and old.owner_phone != wanted.owner_phone:
            raise PendingPhoneDiffers(old.profile, old.owner_phone, self.file)
        is_settled = bool(old.request_id or old.requested_agent_id)
        if is_settled and wanted.agent_id and wanted.agent_id != old.requested_agent_id:
            raise PendingAgentDiffers(old.profile, old.requested_agent_id, wanted.agent_id, self.file)

    def _changed(self, profile: str, now_ms: int, **fields: object) -> PendingFile:
        if profile not in self.entries:
            raise PendingVanished(profile, self.file)
        return self._with(profile, {**self.entries[profile], **fields, "updatedAt": format_time(now_ms)})

    def _with(self, profile: str, fields: Fields) -> PendingFile:
        return PendingFile(self.file, {**self.entries, profile: fields})


def _read(profile: str, entry: Fields) -> PendingRegistration:
    token = text_field(entry, "pollToken")
    return PendingRegistration(
        profile=profile,
        client_type=client_type_of(entry),
        created_at=text_field(entry, "createdAt") or text_field(entry, "submittedAt"),
        updated_at=text_field(entry, "updatedAt"),
        local_registration_id=text_field(entry, "localRegistrationId"),
        environment_id=text_field(entry, BINDING_FIELDS["environment_id"]),
        owner_phone=text_field(entry, "ownerPhone"),
        requested_agent_id=text_field(entry, "requestedAgentId"),
        agent_name=text_field(entry, "requestedAgentName"),
        description=text_field(entry, "requestedDescription"),
        request_id=text_field(entry, "requestId"),
        poll_token=Secret(token) if token else None,
        credential_agent_id=text_field(entry, "credentialAgentId"),
        fields=entry,
    )
