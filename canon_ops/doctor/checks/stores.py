"""Where keys are kept: agents.json and the keyring, and the places that should not have them.

What is looked for is what ``creds audit`` looks for, once for all of these checks.
"""

from __future__ import annotations

import shlex
import stat
from pathlib import Path

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination, FactMissing, credential_owner
from canon_ops.doctor.repair import MakePrivate
from canon_ops.errors import CanonOpsError
from canon_ops.files.disk import explain
from canon_ops.files.reading import not_a_file
from canon_ops.operate.audit_credentials import AuditFinding

__all__ = ["CHECKS"]


def _agents_file(examination: Examination) -> Answer:
    paths = examination.canon()
    try:
        examination.resolution.examine()
    except CanonOpsError as exc:
        if credential_owner(exc) == "creds.agents_file":
            return from_error(Status.ERROR, exc)
    except FactMissing:  # config.yaml or .env cannot be read; the file's mode can be told all the same
        pass
    found = [_open_to_others(file) for file in (paths.agents_file, paths.pending_file)]
    told = tuple(each for each in (*found, _folder_open_to_others(paths.home)) if each is not None)
    right = "agents.json is in order, and Canon's files are nobody else's to read."
    return told or Finding(Status.OK, right, at=Place(str(paths.agents_file)))


def _open_to_others(file: Path) -> Finding | None:
    mode = _mode_of(file)
    if mode is not None and not file.is_file():
        return from_error(Status.ERROR, not_a_file(file))
    if mode is None or not mode & 0o077:
        return None
    fix = Fix(f"chmod 600 {shlex.quote(str(file))}", MakePrivate(file))
    return Finding(Status.ERROR, f"{file} has mode {mode:04o}: others can read the keys in it.", fix, Place(str(file)))


def _folder_open_to_others(folder: Path) -> Finding | None:
    """Who can write the folder can put another file in the place of one that nobody else can read."""
    mode = _mode_of(folder)
    if mode is None or not mode & 0o077:
        return None
    fix = Fix(f"chmod 700 {shlex.quote(str(folder))}", MakePrivate(folder))
    if mode & 0o022:
        told = f"{folder} has mode {mode:04o}: others can replace the files with the keys."
        return Finding(Status.ERROR, told, fix, Place(str(folder)))
    told = f"{folder} has mode {mode:04o}: others can look into the folder where the keys are."
    return Finding(Status.INFO, told, fix, Place(str(folder)))


def _mode_of(file: Path) -> int | None:
    """The permissions; None where there is no such file, so that nobody can read it.

    Raises:
        DiskError: it may be there, and cannot be looked at: that is no answer.
    """
    try:
        return stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise explain(exc, file, verb="looked at") from exc


def _ambiguous(examination: Examination) -> Finding:
    try:
        examination.resolution.examine()
    except CanonOpsError as exc:
        if (owner := credential_owner(exc)) == "creds.ambiguous":
            return from_error(Status.ERROR, exc)
        if owner != "creds.binding":
            raise FactMissing(owner) from exc
    return Finding(Status.OK, "It is clear which Canon profile or key is meant.")


def _keyring(examination: Examination) -> Answer:
    found = [_finding(examination, each) for each in examination.audit() if each.id == "creds.keyring"]
    return tuple(found) or Finding(Status.OK, "Every reference to the keyring leads to a key, or there is none.")


def _copies(examination: Examination) -> Answer:
    ids = ("creds.copies", "creds.misplaced", "creds.leaked")
    found = [_finding(examination, each) for each in examination.audit() if each.id in ids]
    return tuple(found) or Finding(Status.OK, "Each key stands once, in a place that is meant for it.")


def _finding(examination: Examination, each: AuditFinding) -> Finding:
    file = str(each.file) if each.file else None
    fix = Fix(each.fix) if each.fix else None
    return Finding(Status(each.status.value), each.message, fix, Place(file, each.line), {"code": each.id})


CHECKS = (
    Check(
        "creds.agents_file",
        "Profiles",
        "Can Canon's profiles be read, and by nobody else?",
        _agents_file,
        about=About(
            "agents.json was edited by hand and is no JSON any more, or was written so that others can read it.",
            "No profile can be used, or every user of the machine can use them.",
            "Repair the place that the finding names, or restore the file; chmod 600 agents.json.",
            ("CANON_HOME", "CANON_AGENTS_FILE", "agents.json", "CANON_AGENTS_JSON_BOOTSTRAP"),
        ),
    ),
    Check(
        "creds.ambiguous",
        "One profile",
        "Is it clear which Canon profile is meant?",
        _ambiguous,
        about=About(
            "There are several Canon profiles, and the Hermes profile names none of them.",
            "No agent is guessed: the gateway does not connect.",
            "Set CANON_AGENT in .env to the name of the profile.",
            ("CANON_AGENT", "agents.json"),
        ),
    ),
    Check(
        "creds.keyring",
        "Keyring",
        "Does every reference to the keyring lead to a key?",
        _keyring,
        about=About(
            "The entry was removed, the keyring is another user's or locked, or none runs in this session.",
            "The gateway cannot fetch the key when it connects.",
            "Unlock the keyring, or move the key into a file: canon-ops creds move --to file",
            ("apiKeyRef", "BORGEE_API_KEY_REF", "CANON_OPS_KEYRING"),
        ),
    ),
    Check(
        "creds.copies",
        "Copies",
        "Does each key stand once, where it belongs?",
        _copies,
        about=About(
            "A key was pasted into a configuration or a command line, or a file with keys was copied.",
            "Every copy is one more place where it can be read, and stays when the key is changed.",
            "Remove the copies; where others could read one, have Canon issue a new key.",
            ("CANON_API_KEY", "BORGEE_API_KEY", "agents.json", "config.yaml"),
        ),
    ),
)
