"""Do Canon's two services answer, are they the ones that the credential belongs to, and what stands in between?

A service that does not answer is ``unknown``: it may be the network here, the service there, or a proxy in between, and
none of them says that this installation is wrong. What is wrong here has a check of its own: a proxy variable that is
no address, a certificate that is not trusted, a clock that is off.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.settings.provenance import Setting
from canon_ops.wire.health import IdentityMismatch

if TYPE_CHECKING:
    from canon_ops.doctor.probing import Probed

__all__ = ["CHECKS"]

_PROXY_VARIABLES = ("https_proxy", "http_proxy", "all_proxy")
_PROXY_SCHEMES = frozenset({"http", "https", "socks5", "socks5h"})
_CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_CLOCK_OFF_S = 60.0  # half the shortest time that Canon lets a signed thing live
_SET_CLOCK = {"darwin": "sudo sntp -sS time.apple.com", "linux": "sudo timedatectl set-ntp true"}


async def _api(examination: Examination) -> Finding:
    return _reached(await _endpoint(examination, "base_url"), "API", (await examination.probes())["API"])


async def _stream(examination: Examination) -> Answer:
    """The service, and the gateway's own end of the stream where one runs."""
    from canon_ops.doctor.checks.held_stream import held_stream  # with the form of the health file

    reached = _reached(await _endpoint(examination, "stream_url"), "stream", (await examination.probes())["stream"])
    held = await asyncio.to_thread(held_stream, examination, examination.platform)
    return reached if held is None else (reached, held)


async def _endpoint(examination: Examination, name: str) -> str:
    """Where an endpoint is set."""
    return (await asyncio.to_thread(examination.resolution)).settings[name].origin.describe()


def _reached(endpoint: str, service: str, probed: Probed) -> Finding:
    data = {"url": probed.url, "status": probed.status}
    if probed.trouble is not None:
        return Finding(
            Status.UNKNOWN,
            f"Canon's {service} gave no usable answer: {probed.trouble}",
            Fix(f"check the network, the proxy variables and the endpoint ({endpoint}), then ask again"),
            data=data,
        )
    return Finding(Status.OK, f"Canon's {service} answers at {probed.url}.", data=data)


async def _environment(examination: Examination) -> Finding:
    probes = await examination.probes()
    wrong = {name: probed for name, probed in probes.items() if isinstance(probed.identity, IdentityMismatch)}
    if wrong:
        told = "; ".join(
            f"the {name} at {probed.url}: {probed.identity.what}"
            for name, probed in wrong.items()
            if isinstance(probed.identity, IdentityMismatch)
        )
        return Finding(
            Status.ERROR,
            f"The credential belongs to another environment than {told}.",
            Fix(examination.command("setup canon")),
            data={"services": list(wrong)},
        )
    silent = [name for name, probed in probes.items() if probed.identity is None]
    if silent:
        return Finding(
            Status.UNKNOWN, f"Canon's {' and '.join(silent)} did not say who they are.", data={"services": silent}
        )
    return Finding(Status.OK, "API and stream are the ones that the credential belongs to.")


def _proxy(examination: Examination) -> Answer:
    """The proxy variables of the gateway's environment, as the HTTP library takes them: lower case before upper."""
    found = [finding for setting in _proxies(examination) if (finding := _about_proxy(setting)) is not None]
    if found:
        return tuple(found)
    proxies = {setting.name.lower(): setting for setting in _proxies(examination)}
    connection = examination.resolution().connection
    through = []
    for url in (connection.base_url, connection.stream_url):
        parts = urlsplit(url)
        setting = proxies.get(f"{parts.scheme}_proxy", proxies.get("all_proxy"))
        if setting is not None and not _is_direct(examination, parts.hostname or ""):
            through.append(f"{parts.hostname} through {_shown(str(setting.value))} ({setting.origin.describe()})")
    if through:
        return Finding(Status.OK, f"Requests go to {' and to '.join(dict.fromkeys(through))}.")
    return Finding(Status.OK, "Requests to Canon go through no proxy.")


def _proxies(examination: Examination) -> Iterator[Setting]:
    variables = examination.variables()
    for name in _PROXY_VARIABLES:
        for spelling in (name, name.upper()):
            setting = variables.find(spelling)
            if setting is not None and setting.value:
                yield setting
                break


def _about_proxy(setting: Setting) -> Finding | None:
    address, origin = str(setting.value), setting.origin
    at = Place(origin.file, origin.line, path=setting.name)
    scheme, sign, _ = address.partition("://")
    try:
        parts = urlsplit(address if sign else f"http://{address}")
        is_address = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_address = False
    if not is_address or (sign and scheme.lower() not in _PROXY_SCHEMES):
        return Finding(
            Status.ERROR,
            f"{origin.describe()} is {_shown(address)!r}, which is no proxy that Canon could be reached through.",
            Fix(f"{origin.to_change('http://HOST:PORT')}   # or drop it"),
            at,
        )
    if sign and scheme.lower().startswith("socks") and find_spec("socksio") is None:
        return Finding(
            Status.ERROR,
            f"{origin.describe()} is a SOCKS proxy, and the HTTP library lacks the package socksio for it.",
            Fix("install socksio beside Hermes and beside canon-ops, or name an http proxy"),
            at,
        )
    return None


def _is_direct(examination: Examination, host: str) -> bool:
    """Whether requests to ``host`` go round the proxy; ours to this machine always do."""
    variables = examination.variables()
    excepted = variables.find("no_proxy") or variables.find("NO_PROXY")
    names = str(excepted.value).replace(" ", "").split(",") if excepted else []
    if host in ("localhost", "127.0.0.1", "::1") or "*" in names:
        return True
    return any(f".{host}".endswith(f".{name.lstrip('.')}") for name in names if name.strip("."))


def _shown(address: str) -> str:
    """A proxy's address without the name and password that may stand in it."""
    before, sign, after = address.rpartition("@")
    scheme, separator, _ = before.partition("://")
    return f"{scheme}{separator}...@{after}" if sign and separator else f"...@{after}" if sign else address


def _lost_certificates(examination: Examination) -> Finding | None:
    for name in _CERTIFICATE_VARIABLES:
        setting = examination.variables().find(name)
        if setting is not None and setting.value and not Path(str(setting.value)).exists():
            origin = setting.origin
            return Finding(
                Status.ERROR,
                f"{origin.describe()} is {setting.value}, which does not exist: no certificate can be trusted.",
                Fix(origin.to_drop()),
                Place(origin.file, origin.line, path=name),
            )
    return None


async def _tls(examination: Examination) -> Finding:
    lost = await asyncio.to_thread(_lost_certificates, examination)
    if lost is not None:
        return lost
    probes = await examination.probes()
    for probed in probes.values():
        if probed.tls_trouble is not None:
            return Finding(
                Status.ERROR,
                f"The certificate of {urlsplit(probed.url).hostname} is not trusted: {probed.tls_trouble}.",
                Fix("set SSL_CERT_FILE to a file with the certificates of your network, where the gateway is started"),
                data={"url": probed.url},
            )
    encrypted = [probed for probed in probes.values() if urlsplit(probed.url).scheme == "https"]
    silent = [probed for probed in encrypted if probed.status is None]
    if silent:
        return Finding(Status.UNKNOWN, f"No encrypted connection to {urlsplit(silent[0].url).hostname} came about.")
    if not encrypted:
        return Finding(Status.OK, "Canon is on this machine, and nothing has to be encrypted.")
    return Finding(Status.OK, "The certificates of Canon's services are trusted.")


async def _clock(examination: Examination) -> Finding:
    told = [probed.ahead_s for probed in (await examination.probes()).values() if probed.ahead_s is not None]
    if not told:
        return Finding(Status.UNKNOWN, "No service said what time it is.")
    off = min(told, key=abs)
    data = {"ahead_s": round(off, 1)}
    if abs(off) <= _CLOCK_OFF_S:
        return Finding(Status.OK, "This machine's clock agrees with Canon's.", data=data)
    return Finding(
        Status.WARNING,
        f"This machine's clock is {_span(abs(off))} {'ahead of' if off > 0 else 'behind'} Canon's.",
        Fix(_SET_CLOCK.get(sys.platform, _SET_CLOCK["linux"])),
        data=data,
    )


def _span(seconds: float) -> str:
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"


_UNREACHED = About(
    "The network is down, a firewall or proxy stands in between, the endpoint is wrong, or Canon itself is down.",
    "Without the API no answer is sent; without the stream no message arrives. The gateway goes on trying.",
    "Ask the address that the finding names with curl, from the same machine and user.",
    ("CANON_BASE_URL", "CANON_STREAM_URL", "HTTPS_PROXY", "NO_PROXY"),
)

CHECKS = (
    Check(
        "net.proxy",
        "Proxy",
        "Can the proxy variables be used?",
        _proxy,
        about=About(
            "A proxy variable holds something that is no address, or a kind of proxy that needs another package.",
            "The HTTP library refuses to start with it, so neither this program nor the gateway reaches Canon.",
            "Correct or unset the variable where the gateway is started, and in .env if it stands there.",
            ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"),
        ),
    ),
    Check("net.api", "API", "Does Canon's API answer?", _api, network=True, about=_UNREACHED),
    Check("net.stream", "Stream", "Does Canon's event stream answer?", _stream, network=True, about=_UNREACHED),
    Check(
        "net.tls",
        "Certificates",
        "Are the certificates of Canon's services trusted?",
        _tls,
        network=True,
        about=About(
            "A proxy of your network signs in Canon's place, the machine's certificates are old, or a variable leads "
            "to a file that is gone.",
            "No connection comes about, because nobody could say who is at the other end.",
            "Get the certificate of your network, put it into a file together with the usual ones, and name that file "
            "in SSL_CERT_FILE.",
            ("SSL_CERT_FILE", "SSL_CERT_DIR"),
        ),
    ),
    Check(
        "net.clock",
        "Clock",
        "Does this machine's clock agree with Canon's?",
        _clock,
        network=True,
        about=About(
            "The machine slept, its clock was set by hand, or nothing keeps it right.",
            "Certificates count as expired, approvals seem to have run out, and logs cannot be compared.",
            "Let the system keep the time: timedatectl set-ntp true, or the settings for date and time.",
        ),
    ),
    Check(
        "net.environment",
        "Identity",
        "Are both of the environment of the key?",
        _environment,
        network=True,
        about=About(
            "The endpoints were changed, or copied from another environment's profile.",
            "The key is not shown to a service of another environment, so the gateway stays disconnected.",
            "Give the profile the endpoints of its own environment, or register it in the environment that is meant.",
            ("CANON_ENVIRONMENT_ID", "CANON_BASE_URL", "CANON_STREAM_URL"),
        ),
    ),
)
