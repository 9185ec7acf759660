"""Where a file may be fetched from."""

from __future__ import annotations

import pytest

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
        "https://" + "a" * 70 + ".x/",
    ],
)  # fmt: skip
def test_a_link_that_is_refused_as_it_stands(url: str) -> None:
    """S4.27: another scheme, no host, a name of a metadata service; the reason quotes nothing of it."""
    refused = read_link(url)

    assert isinstance(refused, Refused)
    assert not url or url not in refused.reason


INTERNAL = [
    "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "0.0.0.0", "224.0.0.1", "240.0.0.1",
    "255.255.255.255", "100.64.0.1", "198.18.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1",
    "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:100.64.0.1", "2002:0a00:0001::", "64:ff9b::a00:1", "::10.0.0.1",
    "64:ff9b::7f00:1",
]  # fmt: skip
METADATA = [
    "169.254.169.254", "169.254.170.2", "169.254.0.1", "100.100.100.200", "fd00:ec2::254", "::ffff:169.254.169.254",
    "::ffff:100.100.100.200", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::",
]  # fmt: skip


@pytest.mark.parametrize("address", INTERNAL)
def test_an_internal_address_is_refused_until_it_is_allowed(address: str) -> None:
    """S4.27: private, loopback, link-local, shared, reserved, multicast, in whichever notation; one among many too."""
    assert isinstance(allowed_addresses([address], allow_private=False), Refused)
    assert isinstance(allowed_addresses([PUBLIC, address], allow_private=False), Refused)
    assert isinstance(allowed_addresses([PUBLIC, address], allow_private=True), tuple)


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
