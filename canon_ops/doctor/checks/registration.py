"""Is a registration with Canon unfinished?"""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination, FactMissing
from canon_ops.errors import CanonOpsError
from canon_ops.files.reading import read_optional
from canon_ops.settings.pending import Due, PendingFile, PendingRegistration
from canon_ops.settings.problems import PendingProblem

__all__ = ["CHECKS"]

_FORGOTTEN_S = 24 * 3600  # an owner who means to answer does so within a day
_WORDS = {
    Due.REGISTER: "was prepared and not sent",
    Due.POLL: "waits for its owner to approve it",
    Due.ACKNOWLEDGE: "is approved, and Canon has not been told that the key arrived",
}


def _pending(examination: Examination) -> Answer:
    file = examination.canon().pending_file
    try:
        pending = PendingFile.parse(read_optional(file), file=str(file))
    except CanonOpsError as exc:
        return from_error(Status.ERROR, exc)
    found = tuple(_about_one(examination, pending, name) for name in pending.for_hermes())
    return found or Finding(Status.OK, "No registration is unfinished.")


def _about_one(examination: Examination, pending: PendingFile, name: str) -> Finding:
    try:
        entry = pending.registration(name)
    except PendingProblem as exc:
        return from_error(Status.ERROR, exc)
    assert entry is not None  # noqa: S101 - it is one of the file's own names
    at = Place(pending.file, path=name)
    again = examination.command(f"setup canon --canon-profile {shlex.quote(name)}")
    if entry.due is Due.POLL and entry.poll_token is None:
        told = f"The registration of the Canon profile {name} lost its token and cannot be finished."
        return Finding(Status.WARNING, told, Fix(f"{again} --start-over"), at)
    age_s = _age_s(entry, examination.clock.now_ms())
    since = f" since {entry.updated_at}" if entry.updated_at else ""
    status = Status.WARNING if age_s is None or age_s > _FORGOTTEN_S else Status.INFO
    data = {"due": entry.due.value, "request_id": entry.request_id, "updated_at": entry.updated_at}
    told = f"The registration of the Canon profile {name} {_WORDS[entry.due]}{since}"
    if age_s is not None and age_s > _FORGOTTEN_S and entry.due is not Due.ACKNOWLEDGE:
        days = int(age_s // 86400)
        told += f", {days} {'day' if days == 1 else 'days'} ago: take it for expired"
    return Finding(status, f"{told}.", _to_go_on(examination, pending, name, again), at, data)


def _to_go_on(examination: Examination, pending: PendingFile, name: str, again: str) -> Fix:
    """Going on makes the home use the profile; whoever works with another one is not led there unawares."""
    try:
        current = examination.resolution().profile
    except FactMissing:
        current = None
    if current in (None, name):
        return Fix(again)
    return Fix(
        f"{examination.command(f'profile cancel {shlex.quote(name)}')}   (when nobody waits for it; to go on with it "
        f"in another Hermes profile, which then uses it instead of {current}: "
        f"canon-ops setup canon --canon-profile {shlex.quote(name)} --profile PROFILE)"
    )


def _age_s(entry: PendingRegistration, now_ms: int) -> float | None:
    try:
        then = datetime.fromisoformat(entry.updated_at or "")
    except ValueError:
        return None
    return now_ms / 1000 - (then if then.tzinfo else then.replace(tzinfo=UTC)).timestamp()


CHECKS = (
    Check(
        "registration.pending",
        "Registration",
        "Is a registration unfinished?",
        _pending,
        about=About(
            "`canon-ops setup canon` was stopped, or the owner has not answered yet.",
            "The agent has no key until its owner has approved it and the dialogue has been gone through again.",
            "Run the same setup again: it goes on with the same request, and never makes a second one. "
            "`canon-ops profile cancel` gives it up.",
            ("pending-registrations.json", "CANON_HOME"),
        ),
    ),
)
