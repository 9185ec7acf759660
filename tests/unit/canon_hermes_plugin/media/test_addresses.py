"""Where a file may be fetched from."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_hermes_plugin.media.addresses import Link, Refused, allowed_addresses, follow, read_link

PUBLIC = "93.184.216.34"


@pytest.mark.parametrize(
    ("url", "host", "port", "target"),
    [
        ("https://Files.Example./a b?token=x y", "files.example", 443, "/a%20b?token=x%20y"),
        ("http://files.example:8080", "files.example", 8080, "/"),
        ("https://user:secret@files.example/a#frag", "files.example", 443, "/a"),
        ("https://[2001:db8::1]/a", "2001:db8::1", 443, "/a"),
        ("https://bücher.example/ü", "xn--bcher-kva.example", 443, "/%C3%BC"),
        ("https://files.example/a%2Fb?alt=media&token=t%3D", "files.example", 443, "/a%2Fb?alt=media&token=t%3D"),
    ],
)
def test_a_link_in_its_parts(url: str, host: str, port: int, target: str) -> None:
    """Name in its ASCII form, default ports, percent signs kept, user and fragment gone."""
    link = read_link(url)

    assert isinstance(link, Link)
    assert (link.host, link.port, link.target) == (host, port, target)
    assert "secret" not in link.at("1.2.3.4") and target not in repr(link)


@pytest.mark.parametrize(
    "url",
    [
        "", "files.example/a", "ftp://files.example/a", "file:///etc/passwd", "data:text/plain,x", "gopher://h.example",
        "https://", "https:///a", "https://[::1", "https://h.example:99999/", "https://a..b/", "https://[fe80::1%25eth0]/",
        "http://metadata.google.internal/computeMetadata/v1/", "https://METADATA.goog./x",
        "https://metadata.goog\u3002/x", "https://metadata.goog\uff0e.\uff61/x",
        "https://" + "a" * 70 + ".x/", "https://x\x00y.example/", "https://x\x7fy.example/",
    ],
)  # fmt: skip
def test_a_link_that_is_refused_as_it_stands(url: str) -> None:
    """S4.27: another scheme, no host, a name of a metadata service; the reason quotes nothing of it."""
    refused = read_link(url)

    assert isinstance(refused, Refused)
    assert not url or url not in refused.reason


@given(st.text(max_size=60), st.sampled_from(["", "https://", "https://h.example/", "https://h.example/?", "http://["]))
def test_every_link_is_judged(text: str, before: str) -> None:
    """D30: a message can hold any text as a link, half a character too; there is an answer, and it can be sent."""
    link = read_link(before + text + "\ud800")

    if isinstance(link, Link):
        assert link.target.isascii() and link.target.isprintable() and link.authority.isascii()
        assert isinstance(follow(link, text), Link | Refused)


INTERNAL = [
    "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "0.0.0.0", "224.0.0.1", "240.0.0.1",
    "255.255.255.255", "100.64.0.1", "198.18.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1",
    "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:100.64.0.1", "2002:0a00:0001::", "64:ff9b::a00:1", "::10.0.0.1",
    "64:ff9b::7f00:1", "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.51.100.7", "203.0.113.9", "192.31.196.1",
    "192.52.193.1", "192.175.48.1", "fec0::1", "100::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1",
    "3fff::1", "5f00::1", "2620:4f:8000::1", "64:ff9b:1::1", "::ffff:0:10.0.0.1", "2001:0:c000:204::", "4000::1",
    "2002:5db8:d822::1", "2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:192.168.1.1",
]  # fmt: skip
METADATA = [
    "169.254.169.254", "169.254.170.2", "169.254.0.1", "100.100.100.200", "fd00:ec2::254", "::ffff:169.254.169.254",
    "::ffff:100.100.100.200", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "168.63.129.16", "192.0.0.192", "fd20:ce::254",
    "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1::a9fe:a9fe", "2001:0:a9fe:a9fe::", "2001::5601:5601", "::169.254.169.254",
    "::ffff:0:169.254.169.254", "2606:4700::5efe:169.254.169.254",
]  # fmt: skip


@pytest.mark.parametrize("address", INTERNAL)
def test_an_internal_address_is_refused_until_it_is_allowed(address: str) -> None:
    """S4.27: private, loopback, link-local, shared, reserved, multicast, in whichever notation; one among many too."""
    assert isinstance(allowed_addresses([address], allow_private=False), Refused)
    assert isinstance(allowed_addresses([PUBLIC, address], allow_private=False), Refused)
    assert isinstance(allowed_addresses([PUBLIC, address], allow_private=True), tuple)


def edges(block: str) -> list[str]:
    """The first and the last address of a block, and one in the middle."""
    network = ipaddress.ip_network(block)
    return [str(network[at]) for at in (0, network.num_addresses // 2, -1)]


# The registries as IANA lists them; those inside of another block as well.
IANA = (
    "0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32", "192.0.0.171/32",
    "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "255.255.255.255/32",
    "::1/128", "::/128", "::ffff:0:0/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32",
    "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28",
    "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16",
    "fc00::/7", "fe80::/10",
)  # fmt: skip


@pytest.mark.parametrize("block", IANA)
def test_no_block_of_a_special_purpose_is_a_place(block: str) -> None:
    """D30: every block of IANA's two registries, to both of its edges, whatever this Python says of it."""
    assert [one for one in edges(block) if isinstance(allowed_addresses([one], allow_private=False), tuple)] == []


def test_beside_a_block_is_a_place() -> None:
    """D30: the table ends where the blocks end."""
    beside = ["1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0"]
    beside += ["169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.0", "198.17.255.255", "198.20.0.0"]
    beside += [
        "223.255.255.255",
        "2001:200::",
        "2001:db7:ffff::",
        "2001:db9::",
        "2003::",
        "3ffe::",
        "64:ff9b::5db8:d822",
    ]

    assert allowed_addresses(beside, allow_private=False) == tuple(beside)


@given(st.ip_addresses())
def test_what_this_python_calls_private_is_no_place(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    """D30: our table leaves out nothing that the running Python knows."""
    found = allowed_addresses([str(address)], allow_private=False)

    if not address.is_global or address.is_multicast:
        assert isinstance(found, Refused)


@pytest.mark.parametrize("address", METADATA)
def test_a_metadata_service_is_never_asked(address: str) -> None:
    """Whatever the operator allows."""
    for allow_private in (True, False):
        assert isinstance(allowed_addresses([PUBLIC, address], allow_private=allow_private), Refused)


@pytest.mark.parametrize(
    "resolved", [[PUBLIC], [PUBLIC, "1.1.1.1"], ["2606:4700::1111", PUBLIC], [PUBLIC, PUBLIC]], ids=len
)
def test_public_addresses_keep_their_order(resolved: list[str]) -> None:
    """Each once; the connection tries them as the system listed them."""
    assert allowed_addresses(resolved, allow_private=False) == tuple(dict.fromkeys(resolved))


@pytest.mark.parametrize("resolved", [[], ["files.example"], [""]])
def test_no_address_is_a_refusal(resolved: list[str]) -> None:
    """A name that cannot be resolved is refused, not tried."""
    assert isinstance(allowed_addresses(resolved, allow_private=True), Refused)


@pytest.mark.parametrize(
    ("location", "found"),
    [
        ("/b", "https://files.example:443/b"), ("c?x=1", "https://files.example:443/a/c?x=1"),
        ("//cdn.example/d", "https://cdn.example:443/d"), ("https://cdn.example:8443/d", "https://cdn.example:8443/d"),
    ],
)  # fmt: skip
def test_a_redirect_is_a_new_link(location: str, found: str) -> None:
    """Relative ones are joined with the link that they came from."""
    link = read_link("https://files.example/a/b")
    assert isinstance(link, Link)

    target = follow(link, location)

    assert isinstance(target, Link)
    assert f"{target.scheme}://{target.host}:{target.port}{target.target}" == found


@pytest.mark.parametrize(
    "location",
    ["http://cdn.example/d", "file:///etc/passwd", "http://metadata.goog/", "https://[bad", "javascript:alert(1)"],
)
def test_a_redirect_that_is_refused(location: str) -> None:
    """S4.28: to another scheme, out of https, or to a name that is never asked."""
    link = read_link("https://files.example/a/b")
    assert isinstance(link, Link)

    assert isinstance(follow(link, location), Refused)
