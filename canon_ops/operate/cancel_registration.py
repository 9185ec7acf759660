"""Giving up a registration with Canon that is not finished: its entry leaves this machine.

Canon has no call that takes a request back. It stays there until it expires; who approves it meanwhile makes an agent
whose key nobody fetches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from canon_ops.errors import RefusedError, UsageError
from canon_ops.files.transaction import Transaction, edit_files
from canon_ops.hermes.surroundings import canon_paths_from_disk, read_optional
from canon_ops.operate.prompts import Prompts
from canon_ops.operate.writing import Writing, Written, require_consent
from canon_ops.settings.pending import Due, PendingFile, PendingRegistration
from canon_ops.settings.secret import SECRET_MARK

__all__ = ["Cancelled", "NothingPending", "cancel_registration"]


class NothingPending(RefusedError):
    """No registration of that name is unfinished."""

    code = "registration_not_pending"


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The registration that was given up, or would be.

    Attributes:
        entry: as it stood.
        loses: what is lost with it, in a sentence.
    """

    entry: PendingRegistration
    loses: str
    written: Written


def cancel_registration(writing: Writing, name: str | None, prompts: Prompts) -> Cancelled:
    """Remove the pending entry of one Canon profile, after saying what goes with it.

    Args:
        name: None means the only one that there is.

    Raises:
        NothingPending: there is none of that name.
        UsageError: there are several, and none is named.
        PendingForeign, PendingKeyDiffers, DamagedFile: it is not ours, or cannot be read.
        ConsentMissing: nobody agreed.
        LockTimeout, ChangedUnderUs, DiskError: nothing was written.
    """
    paths = canon_paths_from_disk(writing.home.path, writing.environ)
    file = paths.pending_file
    pending = PendingFile.parse(read_optional(file), file=str(file))
    entry = _meant(pending, name)
    loses = _what_goes(entry)
    if not writing.dry_run:
        require_consent(prompts, f"{loses} Give up the registration of the Canon profile {entry.profile}?")

    def once(transaction: Transaction) -> Written:
        writing.expect(transaction, file)
        before = PendingFile.parse(transaction.read(file), file=str(file))
        now = before.registration(entry.profile)
        if now is None or now.due is not entry.due:  # another run went on with it while somebody was thinking
            raise NothingPending(
                f"The registration of the Canon profile {entry.profile} went on meanwhile; nothing was removed.",
                fix="canon-ops status",
                file=str(file),
            )
        transaction.stage(file, before.without(entry.profile).data, private=True)
        return replace(writing, mask=_hiding(writing.mask, now)).commit(transaction)

    written = edit_files(once, lambda: writing.transaction(paths.home))
    return Cancelled(entry, loses, written)


def _hiding(mask: Callable[[str], str], entry: PendingRegistration) -> Callable[[str], str]:
    """``mask``, and the token wherever it stands in a line: the file may be one long line."""
    if entry.poll_token is None:
        return mask
    token = json.dumps(entry.poll_token.reveal())[1:-1]
    return lambda line: mask(line.replace(token, SECRET_MARK))


def _meant(pending: PendingFile, name: str | None) -> PendingRegistration:
    names: Sequence[str] = pending.for_hermes()
    if name is None and len(names) > 1:
        raise UsageError(
            f"Several registrations are unfinished: {', '.join(names)}.", fix=f"canon-ops profile cancel {names[0]}"
        )
    chosen = name if name is not None else next(iter(names), None)
    entry = pending.registration(chosen) if chosen is not None else None
    if entry is None:
        whose = f" of the Canon profile {name}" if name else ""
        others = f"; there is one of {', '.join(names)}" if names else ""
        raise NothingPending(f"No registration{whose} is under way{others}.", fix="canon-ops status", file=pending.file)
    return entry


def _what_goes(entry: PendingRegistration) -> str:
    match entry.due:
        case Due.REGISTER:
            return "Nothing is known to have been sent."
        case Due.POLL:
            return (
                f"Request {entry.request_id} stays with its owner until it expires; once it is approved, nobody here "
                "can fetch the key any more."
            )
        case Due.ACKNOWLEDGE:
            return (
                f"Agent {entry.credential_agent_id} and its key are saved already and stay; "
                "only Canon is never told that the key arrived."
            )
