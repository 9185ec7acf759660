"""Is there a Hermes, and one that we answer for?"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from canon_ops.doctor.check import HOST_LIMIT_S, About, Check, Finding, Fix, Status, from_error
from canon_ops.doctor.examination import Examination
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.audited import Audited, Evidence, Refused, requirement_of
from canon_ops.hermes.contract import Effect, worst
from canon_ops.hermes.contract_canon import HOOKS
from canon_ops.hermes.contract_check import NEEDS
from canon_ops.hermes.discovery import HostInstallation, Layout, interpreter_of
from canon_ops.operate.package.by_hand import install_by_hand

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
    return host.audit()


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


def _contract(examination: Examination) -> Finding:
    """An audited version may have been changed by hand, and one that is not audited may lack what we need."""
    host, platform = examination.host(), examination.platform
    differences = [one for one in examination.contract.examine() if one.path != HOOKS]
    count, gravest = len(NEEDS[platform.name]), worst(differences)
    data = {
        "relied_on": count,
        "differences": [{"path": one.path, "what": one.what, "effect": one.effect.value} for one in differences],
    }
    grave = [one for one in differences if one.effect is gravest]
    if gravest in (None, Effect.DEGRADES):
        stood_in = f", {len(grave)} of them with a stand-in of ours" if grave else ""
        return Finding(Status.OK, f"All {count} things that {platform.label} relies on are there{stood_in}.", data=data)
    status = Status.ERROR if gravest is Effect.BREAKS else Status.WARNING
    more = f" And {len(grave) - 1} more." if len(grave) > 1 else ""
    return Finding(status, f"{grave[0].sentence}{more}", _reinstall(host), data=data)


def _reinstall(host: HostInstallation) -> Fix:
    """An audited version that is not as it was released has been changed; any other is to be replaced anyway."""
    verdict = host.audit()
    if isinstance(verdict, Refused):
        return Fix(verdict.fix)
    if verdict.host.evidence is Evidence.DOCUMENT:  # it may be on no package index
        return Fix(f"Install Hermes {verdict.host.hermes} again, from where it came.")
    return Fix(f"{host.installing} --force-reinstall --no-deps {requirement_of(verdict.host.hermes)}")


def _layout(examination: Examination) -> Finding:
    host = examination.host()
    data = {"layout": host.layout.name.lower(), "installer": host.installer.name if host.installer else None}
    if host.installer is not None:
        program = " ".join(host.installer.program)
        return Finding(Status.OK, f"Hermes runs from a {host.layout.value}; {program} installs there.", data=data)
    message = f"Hermes runs from a {host.layout.value} ({host.facts.prefix}) into which nothing here can install."
    is_made_elsewhere = host.layout in (Layout.NIX, Layout.CONTAINER)  # that is their nature, and there is a way
    return Finding(Status.INFO if is_made_elsewhere else Status.WARNING, message, Fix(install_by_hand(host)), data=data)


def _command(examination: Examination) -> Finding:
    """Whoever types ``hermes`` should get the Hermes that is looked at here."""
    host, environ = examination.host(), examination.environ
    launcher = shutil.which("hermes", path=environ.get("PATH", os.defpath))
    if launcher is None:
        return Finding(Status.OK, "There is no hermes command on PATH that could lead to another Hermes.")
    python = interpreter_of(Path(launcher), environ)
    data = {"command": launcher, "python": str(python) if python else None, "examined": str(host.python)}
    if python is None or python.parent.parent.resolve() == host.facts.prefix.resolve():
        return Finding(Status.OK, f"{launcher} is this Hermes.", data=data)
    return Finding(
        Status.WARNING,
        f"{launcher} runs {python}; the Hermes that is looked at runs {host.python}.",
        Fix(examination.command(f"doctor --python {shlex.quote(str(python))}")),
        data=data,
    )


CHECKS = (
    Check(
        "host.found",
        "Hermes host",
        "Is there a Hermes, and which interpreter runs it?",
        _found,
        about=About(
            "Hermes is not installed for this user, or its command is not on PATH and its folder is none of the "
            "usual ones.",
            "Nothing about the plugin can be looked at, and nothing can be installed.",
            "Name the interpreter that runs Hermes: canon-ops doctor --python /path/to/venv/bin/python",
            ("PATH", "HERMES_HOME", "CANON_OPS_PYTHON"),
        ),
    ),
    Check(
        "host.version",
        "Hermes version",
        "Is this Hermes a version that was audited?",
        _version,
        about=About(
            "Hermes was updated, or is of a version that nobody has gone through yet.",
            "The platforms refuse to work on it: the interface that they use differs between versions in ways "
            "that lose messages.",
            "Install one of the versions that `canon-ops host list` names, into the environment that runs Hermes.",
        ),
    ),
    Check(
        "host.python",
        "Host's Python",
        "Is this Hermes audited on the Python that runs it?",
        _python,
        about=About(
            "The environment of Hermes was made with a Python that was never gone through with this version.",
            "The platforms refuse to work on it.",
            "Make the environment anew with one of the Pythons that `canon-ops host list` names.",
        ),
    ),
    Check(
        "host.layout",
        "Layout",
        "Can packages be put where Hermes runs?",
        _layout,
        about=About(
            "Hermes lies in a read-only place, or in an environment without pip and without uv.",
            "Neither install nor upgrade can put the plugin there; somebody else has to.",
            "Add the package where that Hermes is built: its image, its Nix configuration, or an environment of "
            "your own.",
        ),
    ),
    Check(
        "host.command",
        "hermes command",
        "Does the hermes command on PATH run this Hermes?",
        _command,
        about=About(
            "There are two installations of Hermes, and PATH leads to the other one.",
            "What is typed as `hermes` starts a Hermes that knows nothing of what was set up here.",
            "Put the folder of the right one first on PATH, or name the other one with --python.",
            ("PATH", "CANON_OPS_PYTHON"),
        ),
    ),
    Check(
        "host.contract",
        "What is used of Hermes",
        "Has this Hermes everything that the platform relies on?",
        _contract,
        limit_s=HOST_LIMIT_S,
        about=About(
            "Hermes is of another version than it says, or somebody changed its code.",
            "A chat platform uses parts of Hermes that no version promises. Where one is missing, turns are lost "
            "or never end.",
            "Install that version of Hermes again over itself, without its dependencies.",
        ),
    ),
)
