"""Is there a Hermes, and one that we answer for?"""

from __future__ import annotations

from canon_ops.doctor.check import Check, Finding, Fix, Status, from_error
from canon_ops.doctor.examination import Examination
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.audited import Audited, Refused, audit

__all__ = ["CHECKS"]


def _found(examination: Examination) -> Finding:
    try:
        host = examination.host.examine()
    except CanonOpsError as exc:
        return from_error(Status.ERROR, exc)
    return Finding(
        Status.OK,
        f"Hermes {host.version or 'of unknown version'} in {host.python}, found through {host.how.value}.",
        data={
            "python": str(host.python),
            "hermes_command": str(host.hermes_command) if host.hermes_command else None,
            "how": host.how.name.lower(),
            "layout": host.layout.name.lower(),
        },
    )


def _verdict(examination: Examination) -> Audited | Refused:
    host = examination.host()
    return audit(host.version, host.facts.python, host.facts.platform)


def _version(examination: Examination) -> Finding:
    verdict, host = _verdict(examination), examination.host()
    data = {"version": host.version, "platform": host.facts.platform}
    if isinstance(verdict, Refused) and verdict.code != "host_python_unaudited":
        return Finding(Status.ERROR, verdict.sentence, Fix(verdict.fix), data=data | {"code": verdict.code})
    if isinstance(verdict, Audited):
        data["evidence"] = verdict.host.evidence.value
    return Finding(Status.OK, f"Hermes {host.version} is an audited version.", data=data)


def _python(examination: Examination) -> Finding:
    verdict, python = _verdict(examination), examination.host().facts.python
    if isinstance(verdict, Audited):
        return Finding(Status.OK, f"Python {python} is audited with this Hermes.", data={"python": python})
    if verdict.code == "host_python_unaudited":
        return Finding(Status.ERROR, verdict.sentence, Fix(verdict.fix), data={"python": python, "code": verdict.code})
    return Finding(Status.SKIPPED, "Not asked: host.version tells why.", data={"needs": "host.version"})


CHECKS = (
    Check("host.found", "Hermes host", "Is there a Hermes, and which interpreter runs it?", _found),
    Check("host.version", "Hermes version", "Is this Hermes a version that was audited?", _version),
    Check("host.python", "Host's Python", "Is this Hermes audited on the Python that runs it?", _python),
)
