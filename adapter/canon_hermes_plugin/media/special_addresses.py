"""Which addresses are somebody's inside, or no place at all: our own table, the same under every Python.

``ipaddress`` changes its mind between versions: what is private there was other in 3.11.3 than in 3.11.4. So the
blocks of IANA's two registries of special purposes stand here, the ones that are reachable from everywhere as well,
because no file of a person lies there. Of IPv6 only the block of global unicast is a place at all. An IPv6 address may
carry an IPv4 address to which a gateway on the way goes; that one is judged, too.

Source: IANA, the special-purpose address registries of IPv4 and of IPv6 (RFC 6890, RFC 8190, and the RFCs beside the
rows); RFC 6052 for NAT64, RFC 4380 for Teredo, RFC 3056 for 6to4, RFC 5214 for ISATAP.
"""

from __future__ import annotations

import ipaddress
from typing import Final, TypeAlias

__all__ = ["Address", "carried_in", "is_metadata", "is_special"]

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_SPECIAL_4: Final = tuple(
    ipaddress.IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network, RFC 791
        "10.0.0.0/8",  # private, RFC 1918
        "100.64.0.0/10",  # shared by carriers and overlay networks, RFC 6598
        "127.0.0.0/8",  # loopback, RFC 1122
        "169.254.0.0/16",  # link-local, RFC 3927
        "172.16.0.0/12",  # private, RFC 1918
        "192.0.0.0/24",  # protocol assignments, RFC 6890, with DS-Lite, PCP and NAT64 discovery in it
        "192.0.2.0/24",  # documentation, RFC 5737
        "192.31.196.0/24",  # AS112, RFC 7535
        "192.52.193.0/24",  # AMT, RFC 7450
        "192.88.99.0/24",  # relays of 6to4, RFC 7526
        "192.168.0.0/16",  # private, RFC 1918
        "192.175.48.0/24",  # AS112, RFC 7534
        "198.18.0.0/15",  # benchmarks, RFC 2544
        "198.51.100.0/24",  # documentation, RFC 5737
        "203.0.113.0/24",  # documentation, RFC 5737
        "224.0.0.0/4",  # multicast, RFC 5771
        "240.0.0.0/4",  # reserved, RFC 1112, and the broadcast address, RFC 919
    )
)
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")  # all else of IPv6 is special, RFC 4291
_SPECIAL_6: Final = tuple(
    ipaddress.IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments, RFC 2928: Teredo, benchmarks, AMT, ORCHID, DRIP
        "2001:db8::/32",  # documentation, RFC 3849
        "2002::/16",  # 6to4, RFC 3056
        "2620:4f:8000::/48",  # AS112, RFC 7534
        "3fff::/20",  # documentation, RFC 9637
    )
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052
_NAT64_LOCAL: Final = ipaddress.IPv6Network("64:ff9b:1::/48")  # RFC 8215
_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")
_TRANSLATED: Final = ipaddress.IPv6Network("::ffff:0:0:0/96")  # SIIT, RFC 2765
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")
_TEREDO: Final = ipaddress.IPv6Network("2001::/32")
_SIX_TO_FOUR: Final = ipaddress.IPv6Network("2002::/16")
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})  # RFC 5214

_METADATA: Final = tuple(
    ipaddress.ip_network(block)
    for block in (
        "169.254.0.0/16",  # link-local: nearly every cloud
        "100.100.100.200/32",  # Alibaba
        "168.63.129.16/32",  # Azure's own channel to its machines, a public address
        "192.0.0.192/32",  # Oracle
        "fd00:ec2::/32",  # Amazon
        "fd20:ce::254/128",  # Google
    )
)


def is_metadata(address: Address) -> bool:
    """Whether a cloud tells its machines their secrets there."""
    return any(address in block for block in _METADATA if block.version == address.version)


def is_special(address: Address) -> bool:
    """Whether no file of a person lies there."""
    if isinstance(address, ipaddress.IPv4Address):
        return any(address in block for block in _SPECIAL_4)
    if address in _NAT64:  # the IPv4 address that it carries decides
        return False
    return address not in _UNICAST or any(address in block for block in _SPECIAL_6)


def carried_in(address: Address) -> tuple[ipaddress.IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address carries."""
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    bits = int(address)
    low = bits & 0xFFFF_FFFF
    found: list[int] = []
    if any(address in block for block in (_NAT64, _MAPPED, _TRANSLATED)) or (address in _COMPATIBLE and bits > 1):
        found.append(low)
    if address in _NAT64_LOCAL:  # a prefix of 48 bits, or of 96
        found += [(bits >> 64 & 0xFFFF) << 16 | (bits >> 40 & 0xFFFF), low]
    if address in _SIX_TO_FOUR:
        found.append(bits >> 80 & 0xFFFF_FFFF)
    if address in _TEREDO:
        found += [bits >> 64 & 0xFFFF_FFFF, ~low & 0xFFFF_FFFF]
    if bits >> 32 & 0xFFFF_FFFF in _ISATAP:
        found.append(low)
    return tuple(ipaddress.IPv4Address(one) for one in found)
