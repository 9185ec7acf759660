"""Do Canon's two services answer, and are they the ones that the credential belongs to?

A service that does not answer is ``unknown``: it may be the network here, the service there, or a proxy in between, and
none of them says that this installation is wrong.
"""

from __future__ import annotations

from canon_ops.doctor.check import Check, Finding, Fix, Status
from canon_ops.doctor.examination import Examination, Probed
from canon_ops.wire.health import IdentityMismatch

__all__ = ["CHECKS"]


async def _api(examination: Examination) -> Finding:
    return _reached("API", (await examination.probes())["API"])


async def _stream(examination: Examination) -> Finding:
    return _reached("stream", (await examination.probes())["stream"])


def _reached(service: str, probed: Probed) -> Finding:
    data = {"url": probed.url, "status": probed.status}
    if probed.trouble is not None:
        return Finding(
            Status.UNKNOWN,
            f"Canon's {service} gave no usable answer: {probed.trouble}",
            Fix("check the network, the proxy variables and the endpoint, then ask again"),
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


CHECKS = (
    Check("net.api", "API", "Does Canon's API answer?", _api, network=True),
    Check("net.stream", "Stream", "Does Canon's event stream answer?", _stream, network=True),
    Check("net.environment", "Identity", "Are both of the environment of the key?", _environment, network=True),
)
