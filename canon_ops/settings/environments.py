"""Canon's environments, their packaged endpoints, and the rules for endpoints.

An environment is a trust domain: a key, a profile and a pending registration belong to exactly one. Project and region
follow from the environment id and are never configured; each of the other four values is either given or packaged.

Source: Canon wire 1.1 to 1.4.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import urlsplit

from canon_ops.lean import dataclass
from canon_ops.settings.environment_ids import DEFAULT_ENVIRONMENT_ID
from canon_ops.settings.problems import BadEndpoint, ForeignDatabase, MissingEndpoint, UnknownEnvironment
from canon_ops.settings.provenance import Origin

__all__ = [
    "BINDING_FIELDS",
    "DEFAULT_ENVIRONMENT_ID",
    "ENVIRONMENTS",
    "Connection",
    "EnvironmentContract",
    "clean_url",
    "complete",
    "connection_for",
    "contract_for",
]

# The snapshot that ties a profile or a request to its environment: our field name → the name in the JSON files.
BINDING_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "environment_id": "environmentId",
        "base_url": "baseUrl",
        "stream_url": "streamUrl",
        "rtdb_url": "rtdbUrl",
        "firebase_api_key": "firebaseApiKey",
    }
)

_VARIABLES = {
    "base_url": "CANON_BASE_URL",
    "stream_url": "CANON_STREAM_URL",
    "rtdb_url": "CANON_RTDB_URL",
    "firebase_api_key": "CANON_FIREBASE_API_KEY",
}
_WORDS = {"base_url": "API URL", "stream_url": "stream URL", "rtdb_url": "RTDB URL"}
_PLAIN_HTTP_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})  # Canon wire 1.3: exactly these three
_IPV6_LOOPBACK = ipaddress.IPv6Address("::1")  # and no IPv4 address in disguise, which newer Pythons call loopback too
_DATABASE_SUFFIXES = (".firebaseio.com", ".firebasedatabase.app")


@dataclass(frozen=True, slots=True)
class EnvironmentContract:
    """What is fixed about an environment, and the endpoints that ship with this package (empty: none packaged)."""

    environment_id: str
    project_id: str
    region: str
    base_url: str
    stream_url: str
    rtdb_url: str
    firebase_api_key: str


@dataclass(frozen=True, slots=True)
class Connection:
    """Where an environment is reached: the complete snapshot that is stored with a profile.

    The Firebase web key is a public client value, not a secret.
    """

    environment_id: str
    project_id: str
    region: str
    base_url: str
    stream_url: str
    rtdb_url: str
    firebase_api_key: str

    def binding(self) -> dict[str, str]:
        """The five values that the JSON files store, under the names that they use there."""
        return {name: getattr(self, field) for field, name in BINDING_FIELDS.items()}


ENVIRONMENTS: Mapping[str, EnvironmentContract] = MappingProxyType(
    {
        contract.environment_id: contract
        for contract in (
            EnvironmentContract(
                environment_id="canon-prod-v1",
                project_id="canonmail-prod",
                region="europe-west1",
                base_url="https://api.canonmail.com",
                stream_url="https://stream.canonmail.com",
                rtdb_url="https://canonmail-prod-default-rtdb.europe-west1.firebasedatabase.app",
                # Two halves: a public value, but secret scanners know its shape.
                firebase_api_key="AIzaSyDnX6AERXfdtZ" + "xf7qM9JjyMmYxF_ovPL78",
            ),
            EnvironmentContract(
                environment_id="canon-dev-v1",
                project_id="canonmail-dev",
                region="europe-west1",
                base_url="https://dev.api.canonmail.com",
                stream_url="https://dev.stream.canonmail.com",
                rtdb_url="https://canonmail-dev-default-rtdb.europe-west1.firebasedatabase.app",
                firebase_api_key="AIzaSyA9i7PpZ-93CW" + "mojEn5Ez9t8tboc5-1ELc",
            ),
        )
    }
)


def connection_for(
    environment_id: str,
    *,
    base_url: str | None = None,
    stream_url: str | None = None,
    rtdb_url: str | None = None,
    firebase_api_key: str | None = None,
    origins: Mapping[str, Origin] = MappingProxyType({}),
) -> Connection:
    """Complete and check one environment's connection; an endpoint that is None or blank takes the packaged value.

    Args:
        origins: where each given value came from, by field name; it makes the errors name the place to change.

    Raises:
        UnknownEnvironment: only the ids of :data:`ENVIRONMENTS` exist; no case folding.
        BadEndpoint: no HTTPS URL (plain HTTP only to ``localhost``, ``127.0.0.1`` or ``::1``).
        ForeignDatabase: the RTDB URL belongs to another project.
        MissingEndpoint: neither given nor packaged.
    """
    given = {
        "base_url": base_url,
        "stream_url": stream_url,
        "rtdb_url": rtdb_url,
        "firebase_api_key": firebase_api_key,
    }
    return complete(contract_for(environment_id, origins.get("environment_id")), given, origins)


def complete(
    contract: EnvironmentContract,
    given: Mapping[str, str | None],
    origins: Mapping[str, Origin] = MappingProxyType({}),
) -> Connection:
    """The connection of one contract; see :func:`connection_for`."""
    values: dict[str, str] = {}
    for field in _VARIABLES:
        value = (given.get(field) or "").strip() or getattr(contract, field)
        if not value:
            raise MissingEndpoint(contract.environment_id, BINDING_FIELDS[field], _VARIABLES[field])
        values[field] = clean_url(field, value, origins.get(field)) if field in _WORDS else value
    _require_own_database(values["rtdb_url"], contract.project_id, origins.get("rtdb_url"))
    return Connection(contract.environment_id, contract.project_id, contract.region, **values)


def contract_for(environment_id: str, origin: Origin | None = None) -> EnvironmentContract:
    """Look an environment up, surrounding white space ignored.

    Raises:
        UnknownEnvironment: there is no such environment.
    """
    contract = ENVIRONMENTS.get(environment_id.strip())
    if contract is None:
        raise UnknownEnvironment(environment_id.strip(), tuple(ENVIRONMENTS), origin)
    return contract


def clean_url(field: str, text: str, origin: Origin | None = None) -> str:
    """Trim an endpoint, drop trailing slashes and check it.

    Args:
        field: ``base_url``, ``stream_url`` or ``rtdb_url``; only for the error.

    Raises:
        BadEndpoint: empty, not HTTPS, or plain HTTP to another host than the three loopback spellings.

    Source: Canon wire 1.3.
    """
    word = _WORDS.get(field, field)
    url = text.strip().rstrip("/")
    if not url:
        raise BadEndpoint(word, repr(text), "missing endpoint", origin)
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port  # a port that is no number raises here, not at the first request
    except ValueError as exc:
        raise BadEndpoint(word, url, "it is not a URL", origin) from exc
    if any(character.isspace() or not character.isprintable() for character in url):
        raise BadEndpoint(word, repr(url), "it has white space or control characters", origin)
    if parts.username is not None or parts.password is not None:
        raise BadEndpoint(word, f"{parts.scheme}://…@{host}", "it holds a user name or password", origin)
    if parts.query or parts.fragment:
        raise BadEndpoint(word, url.split("?")[0].split("#")[0] + "…", "it has a query or a fragment", origin)
    if not host:
        raise BadEndpoint(word, url, "it names no host", origin)
    if parts.scheme == "https" or (parts.scheme == "http" and host in _PLAIN_HTTP_HOSTS):
        return url
    if parts.scheme == "http":
        raise BadEndpoint(word, url, "plain http is only for localhost, 127.0.0.1 and [::1]", origin)
    raise BadEndpoint(word, url, "it must begin with https://", origin)


def _require_own_database(url: str, project_id: str, origin: Origin | None) -> None:
    """Refuse a realtime database that is neither on this machine nor one of the project's own (Canon wire 1.4)."""
    host = urlsplit(url).hostname or ""
    if _is_loopback(host):
        return
    label = host.partition(".")[0]
    is_named_for_project = label == project_id or label.startswith(project_id + "-")
    if not (is_named_for_project and host.endswith(_DATABASE_SUFFIXES)):
        raise ForeignDatabase(url, project_id, origin)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback and (address.version == 4 or address == _IPV6_LOOPBACK)
