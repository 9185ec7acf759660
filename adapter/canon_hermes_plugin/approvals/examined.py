"""What the registry of approvals says to the doctor: is it whole, does anything hang, what is about to be lost?

Looking asks Canon nothing and takes no lease. A gateway that runs mends by itself what can be mended; so a finding is
about a registry that nobody can read, or about what waits although somebody should have dealt with it.

Source: decisions A1-A3, A5; defects D46-D48; command-line contract, doctor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from stat import S_IMODE
from typing import Final

from canon_hermes_plugin.approvals.book import Book
from canon_hermes_plugin.approvals.entry import Entry, Status
from canon_hermes_plugin.approvals.needs import Action, need_of
from canon_hermes_plugin.approvals.store import ApprovalStore, RegistryDamaged, RegistryGone
from canon_hermes_plugin.approvals.trail_audit import Trouble
from canon_hermes_plugin.state.place import approvals_record
from canon_ops.counting import counted
from canon_ops.doctor.check import Answer, Finding, Fix, Place, from_error
from canon_ops.doctor.check import Status as Verdict
from canon_ops.doctor.examination import Examination, FactMissing

__all__ = ["look_at_expiries", "look_at_leases", "look_at_registry", "look_at_wakes"]

SOON_MS: Final = 3_600_000  # ours: an hour before its end a human has to be reminded some other way
LATE_MS: Final = 300_000  # ours: by then ten looks of a gateway have passed
RECENT_MS: Final = 3 * 86_400_000  # ours: an approval that came to nothing is news for three days
SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class _Seen:
    file: Path
    book: Book
    troubles: Sequence[Trouble]
    now_ms: float


def look_at_registry(examination: Examination) -> Answer:
    """``approvals.registry``."""
    try:
        seen = _read_whole(examination)
    except RegistryDamaged as error:
        return from_error(Verdict.ERROR, error)
    place, found = Place(str(seen.file)), list[Finding]()
    for approval_id, why in sorted(seen.book.reasons.items())[:SHOWN]:
        said = f"The entry {approval_id} {why}; it is left as it is, and nothing can be done with it."
        found.append(Finding(Verdict.ERROR, said, Fix(examination.command("approvals verify")), place))
    for trouble in seen.troubles[:SHOWN]:
        said = _of_trouble(trouble)
        found.append(Finding(Verdict.ERROR, said, Fix(examination.command("approvals audit")), place))
    mode = _mode_of(seen.file)
    if mode & 0o077:
        said = f"{seen.file} can be read by other users (mode {mode:04o}); it tells who approved what."
        found.append(Finding(Verdict.WARNING, said, Fix(f"chmod 600 {seen.file}"), place))
    if found:
        return tuple(found)
    return Finding(
        Verdict.OK, f"The registry holds {counted(len(seen.book.entries), 'approval')} and is whole.", at=place
    )


def _mode_of(file: Path) -> int:
    """Its mode; nobody can read one that is gone."""
    try:
        return S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        return 0


def _of_trouble(trouble: Trouble) -> str:
    about = f"{trouble.approval_id}: " if trouble.approval_id else ""
    if trouble.is_told:
        told = f"Line {trouble.line} of the audit trail tells what somebody else did, and nobody has acknowledged it"
        return f"{told}: {about}{trouble.what}."
    where = f"Line {trouble.line} of the audit trail" if trouble.line else "The registry"
    return f"{where} does not fit: {about}{trouble.what}."


def look_at_leases(examination: Examination) -> Answer:
    """``approvals.lease``."""
    seen = _read(examination)
    found = [finding for entry in seen.book if (finding := _of_lease(entry, seen, examination)) is not None]
    return tuple(found[:SHOWN]) or Finding(Verdict.OK, "No step of an approval hangs.", at=Place(str(seen.file)))


def _of_lease(entry: Entry, seen: _Seen, examination: Examination) -> Finding | None:
    """A lease that nobody holds any more, or one that a clock has put out of reach."""
    if entry.lease is None:
        return None
    kind, claim = entry.lease
    left_ms, place = claim.expires_at_ms - seen.now_ms, Place(str(seen.file))
    if entry.out_of_reach(now_ms=seen.now_ms) is not None:
        said = (
            f"The {kind} lease of {entry.approval_id} ends at {_time(claim.expires_at_ms)}, which is further away than "
            "any lease lasts: a clock was wrong. A running gateway of its agent, or this command, mends that."
        )
        return Finding(Verdict.WARNING, said, _reconcile(examination, entry), place)
    if left_ms < -LATE_MS:
        said = (
            f"The {kind} step of {entry.approval_id} has hung since {_time(claim.expires_at_ms)}: its process is gone."
        )
        return Finding(Verdict.WARNING, said, _reconcile(examination, entry), place)
    return None


def look_at_expiries(examination: Examination) -> Answer:
    """``approvals.expiring``."""
    seen = _read(examination)
    place, found = Place(str(seen.file)), list[Finding]()
    for entry in sorted(seen.book, key=lambda one: one.expires_at_ms):
        if entry.status is not Status.PENDING:
            continue
        left_ms, until = entry.expires_at_ms - seen.now_ms, _time(entry.expires_at_ms)
        if left_ms < -LATE_MS:
            said = f"{entry.approval_id} expired at {until}, and nobody has asked Canon whether it was answered."
            found.append(Finding(Verdict.WARNING, said, _reconcile(examination, entry), place))
        elif left_ms < SOON_MS:
            said = f"{entry.approval_id} expires at {until} and has no answer: {_line(entry.summary)}"
            found.append(Finding(Verdict.WARNING, said, _show(examination, entry), place))
    return tuple(found[:SHOWN]) or Finding(Verdict.OK, "No approval is about to expire unanswered.", at=place)


def look_at_wakes(examination: Examination) -> Answer:
    """``approvals.wake``."""
    seen = _read(examination)
    place, found = Place(str(seen.file)), list[Finding]()
    for entry in seen.book:
        need = need_of(entry, now_ms=seen.now_ms)
        if need.action is Action.WAKE and seen.now_ms - entry.settled_at_ms() > LATE_MS:
            why = entry.wake_error or "no gateway of its agent runs"
            said = f"{entry.approval_id} was decided ({entry.decision}), and its agent has not been told: {why}."
            found.append(Finding(Verdict.WARNING, said, _show(examination, entry), place))
        elif need.action is Action.CANCEL:
            said = f"{entry.approval_id} may still be open at Canon although no answer to it would count."
            found.append(Finding(Verdict.WARNING, said, _reconcile(examination, entry), place))
        elif entry.fields.get("identityMismatch") is True and seen.now_ms - entry.settled_at_ms() < RECENT_MS:
            by = entry.responded_by or "nobody that Canon named"
            said = f"{entry.approval_id} was answered by {by} and not by the human who was asked; that does not count."
            found.append(Finding(Verdict.WARNING, said, _show(examination, entry), place))
    return tuple(found[:SHOWN]) or Finding(Verdict.OK, "Every decision has reached its agent.", at=place)


def _read(examination: Examination) -> _Seen:
    """For checks that are not about the file itself; beside a registry the trail, which may be long, stays unread."""
    file = examination.canon().detached_approvals_file
    try:
        return _Seen(file, _store(examination, file).read_kept(), (), examination.clock.now_ms())
    except (RegistryDamaged, RegistryGone) as error:
        raise FactMissing("approvals.registry") from error


def _read_whole(examination: Examination) -> _Seen:
    file = examination.canon().detached_approvals_file
    book, _, troubles = _store(examination, file).audit()
    return _Seen(file, book, troubles, examination.clock.now_ms())


def _store(examination: Examination, file: Path) -> ApprovalStore:
    record = approvals_record(examination.home.path)
    return ApprovalStore(file, clock=examination.clock, process="canon-ops doctor", elsewhere=record)


def _reconcile(examination: Examination, entry: Entry) -> Fix:
    return Fix(examination.command(f"approvals reconcile {entry.approval_id} --apply"))


def _show(examination: Examination, entry: Entry) -> Fix:
    return Fix(examination.command(f"approvals show {entry.approval_id}"))


def _line(text: str) -> str:
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= 120 else line[:119] + "…"


def _time(at_ms: float) -> str:
    try:
        return f"{datetime.fromtimestamp(at_ms / 1_000, UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{at_ms:g} ms"
