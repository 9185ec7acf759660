"""``agents.json``: the Canon profiles of this user, shared by every Canon client on the machine.

A profile is usable when it is complete: one agent's key (or a reference to the operating system's keyring), the
agent's identity, and the snapshot of the environment that it was registered under. Anything less fails closed.
Profiles of other client types are never touched and never used.

Source: Canon wire 3.6, 3.7.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping

from canon_ops.lean import dataclass, field
from canon_ops.settings.environments import BINDING_FIELDS, Connection, connection_for
from canon_ops.settings.problems import BadBootstrap, DamagedFile, ForeignProfile, UnboundProfile
from canon_ops.settings.provenance import Origin, Source
from canon_ops.settings.records import Fields, client_type_of, format_time, parse_records, render_records, text_field
from canon_ops.settings.secret import Secret

__all__ = ["BOOTSTRAP_VARIABLE", "CLIENT_TYPE", "AgentProfile", "AgentsFile", "KeyReference", "merge_bootstrap"]

CLIENT_TYPE = "hermes"
BOOTSTRAP_VARIABLE = "CANON_AGENTS_JSON_BOOTSTRAP"

_WHAT = "Canon agent profiles"
_IDENTITY = ("agentId", "agentName", "registeredAt")


@dataclass(frozen=True, slots=True)
class KeyReference:
    """Where the keyring holds a key (decision C1); the file then has no key itself."""

    service: str
    account: str

    @classmethod
    def parse(cls, text: str) -> KeyReference | None:
        """Read ``service/account``; None when it is none. An account may hold slashes, a service does not."""
        service, slash, account = (part.strip() for part in text.partition("/"))
        return cls(service, account) if service and slash and account else None

    @property
    def text(self) -> str:
        """``service/account``."""
        return f"{self.service}/{self.account}"


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """One entry of ``agents.json``, read; each field is None when it is absent or unusable.

    Args:
        api_key: the key itself; it counts before a reference.
        client_type: None means that any client may use the profile.
        fields: the entry as it stands in the file, unknown fields included.
    """

    name: str
    api_key: Secret | None
    api_key_ref: KeyReference | None
    agent_id: str | None
    agent_name: str | None
    registered_at: str | None
    client_type: str | None
    environment_id: str | None
    base_url: str | None
    stream_url: str | None
    rtdb_url: str | None
    firebase_api_key: str | None
    fields: Fields = field(repr=False)

    @property
    def is_for_hermes(self) -> bool:
        """Whether our client type may use it."""
        return self.client_type in (None, CLIENT_TYPE)

    @property
    def holds_an_agent(self) -> bool:
        """Whether there is something to lose: an identity, or a key."""
        return bool(self.agent_id or self.api_key or self.api_key_ref)

    def missing(self) -> tuple[str, ...]:
        """The names of required fields that the entry lacks, as the file spells them."""
        key = () if self.api_key or self.api_key_ref else ("apiKey",)
        rest = (*_IDENTITY, *BINDING_FIELDS.values())
        return key + tuple(name for name in rest if text_field(self.fields, name) is None)

    def require_usable(self, file: str) -> None:
        """Raise unless this profile is ours and complete.

        Raises:
            ForeignProfile: another client type's.
            UnboundProfile: it lacks something required.
        """
        if not self.is_for_hermes:
            raise ForeignProfile(self.name, str(self.client_type), file)
        if missing := self.missing():
            raise UnboundProfile(self.name, missing, file, agent_id=self.agent_id)

    def connection(self, file: str, source: Source = Source.AGENTS_FILE) -> Connection:
        """The stored snapshot, checked like any other connection.

        Raises:
            ForeignProfile, UnboundProfile: as :meth:`require_usable`.
            UnknownEnvironment, BadEndpoint, ForeignDatabase: the snapshot itself is wrong.
        """
        self.require_usable(file)
        origins = {ours: Origin(source, f"{self.name}.{theirs}", file) for ours, theirs in BINDING_FIELDS.items()}
        return connection_for(
            self.environment_id or "",
            base_url=self.base_url,
            stream_url=self.stream_url,
            rtdb_url=self.rtdb_url,
            firebase_api_key=self.firebase_api_key,
            origins=origins,
        )

    def is_bound_to(self, connection: Connection) -> bool:
        """Whether the five stored values are exactly this connection's."""
        return all(text_field(self.fields, name) == value for name, value in connection.binding().items())


@dataclass(frozen=True, slots=True)
class AgentsFile:
    """All profiles of one ``agents.json``; editing gives a new one, and every other entry stays as it is."""

    file: str
    entries: Mapping[str, Fields] = field(repr=False)

    @classmethod
    def parse(cls, data: bytes | None, *, file: str) -> AgentsFile:
        """Read the file's bytes; None, for a missing file, gives no profiles.

        Raises:
            DamagedFile: it cannot be read whole.
        """
        return cls(file, parse_records(data, what=_WHAT, file=file))

    @property
    def data(self) -> bytes:
        """The bytes to write."""
        return render_records(self.entries)

    @property
    def names(self) -> tuple[str, ...]:
        """All profiles, sorted, foreign ones included."""
        return tuple(sorted(self.entries))

    def profile(self, name: str) -> AgentProfile | None:
        """One profile of any client type, read; None when there is none of that name."""
        entry = self.entries.get(name)
        return None if entry is None else _read(name, entry)

    def for_hermes(self) -> tuple[AgentProfile, ...]:
        """The profiles that our client type may use, complete or not, sorted by name."""
        return tuple(profile for name in self.names if (profile := _read(name, self.entries[name])).is_for_hermes)

    def with_credential(
        self,
        name: str,
        connection: Connection,
        *,
        api_key: Secret | KeyReference,
        agent_id: str,
        agent_name: str,
        now_ms: int,
    ) -> AgentsFile:
        """Replace the whole entry ``name`` by a freshly registered credential.

        Raises:
            ForeignProfile: the name is taken by another client type.
        """
        old = self.profile(name)
        if old is not None and not old.is_for_hermes:
            raise ForeignProfile(name, str(old.client_type), self.file)
        entry: dict[str, object] = {
            "agentId": agent_id,
            "agentName": agent_name,
            "clientType": CLIENT_TYPE,
            "registeredAt": format_time(now_ms),
            **connection.binding(),
        }
        if isinstance(api_key, KeyReference):
            entry["apiKeyRef"] = {"service": api_key.service, "account": api_key.account}
        else:
            entry["apiKey"] = api_key.reveal()
        return AgentsFile(self.file, {**self.entries, name: entry})

    def with_fields(self, name: str, changes: Mapping[str, object | None]) -> AgentsFile:
        """Change single fields of an existing entry; None removes one. Everything else of the entry stays."""
        entry = {**self.entries[name], **changes}
        kept = {key: value for key, value in entry.items() if not (key in changes and value is None)}
        return AgentsFile(self.file, {**self.entries, name: kept})

    def without(self, name: str) -> AgentsFile:
        """Drop one entry; absent is fine."""
        return AgentsFile(self.file, {key: value for key, value in self.entries.items() if key != name})


def merge_bootstrap(agents: AgentsFile, bootstrap: str | None) -> tuple[AgentsFile, frozenset[str]]:
    """Add the profiles of ``CANON_AGENTS_JSON_BOOTSTRAP`` that the file lacks; existing names are never overwritten.

    Returns:
        The merged file and the names that were added. When names were added, or the file does not exist and the
        variable is set, the merged file is to be written.

    Raises:
        BadBootstrap: it is neither JSON nor base64 of JSON, no object, or holds an empty name or a non-object profile.

    Source: Canon wire 3.7.
    """
    if not bootstrap:
        return agents, frozenset()
    offered = _decode_bootstrap(bootstrap)
    added = {name: entry for name, entry in offered.items() if name not in agents.entries}
    return AgentsFile(agents.file, {**agents.entries, **added}), frozenset(added)


def _decode_bootstrap(text: str) -> dict[str, dict[str, object]]:
    stripped = text.strip()
    if not stripped:  # white space only counts as an empty object
        return {}
    data = stripped.encode("utf-8", "surrogateescape")
    if not stripped.startswith("{"):
        try:
            json.loads(stripped)
        except RecursionError as exc:
            raise BadBootstrap("it is nested too deeply") from exc
        except ValueError:
            try:
                data = base64.b64decode("".join(stripped.split()), validate=True)
            except (binascii.Error, ValueError) as exc:
                raise BadBootstrap("it is neither JSON nor base64") from exc
    try:
        entries = parse_records(data, what=BOOTSTRAP_VARIABLE, file=BOOTSTRAP_VARIABLE)
    except DamagedFile as exc:
        raise BadBootstrap(exc.why) from exc
    if any(not name.strip() for name in entries):
        raise BadBootstrap("it has a profile with an empty name")
    return entries


def _read(name: str, entry: Fields) -> AgentProfile:
    key = text_field(entry, "apiKey")
    reference = entry.get("apiKeyRef")
    ref = None
    if isinstance(reference, Mapping):
        service, account = text_field(reference, "service"), text_field(reference, "account")
        ref = KeyReference(service, account) if service and account else None
    return AgentProfile(
        name=name,
        api_key=Secret(key) if key else None,
        api_key_ref=None if key else ref,
        agent_id=text_field(entry, "agentId"),
        agent_name=text_field(entry, "agentName"),
        registered_at=text_field(entry, "registeredAt"),
        client_type=client_type_of(entry),
        fields=entry,
        **{ours: text_field(entry, theirs) for ours, theirs in BINDING_FIELDS.items()},
    )
