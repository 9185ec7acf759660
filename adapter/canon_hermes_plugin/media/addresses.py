"""Which addresses a file may be fetched from. Pure: the shell resolves names, and connects to what was allowed here.

A message can hold any link, and the gateway stands inside somebody's network. So a link is split once, its name is
resolved once, *all* its addresses are judged, and the connection goes to one of those and nothing else: between the
check and the connection no name server is asked again (rebinding). Each target of a redirect is a new link. Which
addresses are whose inside stands in special_addresses.py.

Source: Canon wire 10.4; Canon adapter R4.3; defect D30.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from canon_hermes_plugin.media.special_addresses import Address, carried_in, is_metadata, is_special

__all__ = ["Link", "Refused", "allowed_addresses", "follow", "read_link"]

_PORTS: Final = {"http": 80, "https": 443}
_NAMES_NEVER: Final = frozenset(
    {
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "instance-data",
        "instance-data.ec2.internal",
    }
)


@dataclass(frozen=True, slots=True)
class Refused:
    """The link is not followed; the reason quotes nothing of it, because it may hold a token."""

    reason: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link in its parts; user and password, if it had any, are gone.

    Attributes:
        host: lower-case ASCII, without brackets or a final dot.
        target: path and query, as they stand in a request.
    """

    scheme: str
    host: str
    port: int
    target: str = field(repr=False)

    @property
    def authority(self) -> str:
        """The ``Host`` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_named(self) -> bool:
        """Whether the host is a name, which a certificate can be held against."""
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            return True
        return False

    def at(self, address: str) -> str:
        """The address to connect to, as a URL."""
        host = f"[{address}]" if ":" in address else address
        return f"{self.scheme}://{host}:{self.port}{self.target}"


def read_link(url: str) -> Link | Refused:
    """Split a link."""
    try:
        parts = urlsplit(url.strip())
        scheme, host, port = parts.scheme.lower(), parts.hostname or "", parts.port
    except ValueError:
        return Refused("it cannot be read")
    if scheme not in _PORTS:
        return Refused("only http and https are fetched")
    try:
        host = host.rstrip(".") if ":" in host else _ascii_name(host)
    except UnicodeError:
        return Refused("its host is no name")
    if not host or "%" in host or not host.isprintable():
        return Refused("it names no host")
    if host in _NAMES_NEVER:
        return Refused("a metadata service is never asked")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~", errors="replace")  # JSON can hold half a character
    query = quote(parts.query, safe="/%:@!$&'()*+,;=?~", errors="replace")
    return Link(scheme, host, port or _PORTS[scheme], f"{path}?{query}" if query else path)


def _ascii_name(host: str) -> str:
    """A name as it is resolved; other scripts have dots of their own, also behind it."""
    return host.rstrip(".\u3002\uff0e\uff61").encode("idna").decode("ascii").lower()


def follow(link: Link, location: str) -> Link | Refused:
    """Where a redirect leads; from a sealed connection it leads to no open one."""
    try:
        target = read_link(urljoin(f"{link.scheme}://{link.authority}{link.target}", location))
    except ValueError:
        return Refused("its redirect cannot be read")
    if isinstance(target, Link) and link.scheme == "https" and target.scheme != "https":
        return Refused("its redirect leaves https")
    return target


def allowed_addresses(resolved: Sequence[str], *, allow_private: bool) -> tuple[str, ...] | Refused:
    """The addresses to connect to, in the order in which they were resolved; one bad address refuses all.

    Args:
        resolved: everything that the host's name stands for.
        allow_private: the operator has said that files may come from the inside.
    """
    if not resolved:
        return Refused("its host cannot be resolved")
    allowed: dict[str, None] = {}
    for text in resolved:
        try:
            address = ipaddress.ip_address(text.partition("%")[0])
        except ValueError:
            return Refused("its host has no address that can be read")
        if reason := _fault_of(address, allow_private=allow_private):
            return Refused(reason)
        allowed[str(address)] = None
    return tuple(allowed)


def _fault_of(address: Address, *, allow_private: bool) -> str | None:
    for each in (address, *carried_in(address)):
        if is_metadata(each):
            return "its address is a metadata service's"
        if not allow_private and is_special(each):
            return "its address is not a public one"
    return None
