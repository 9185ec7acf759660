"""The doctor's checks of the Canon adapter; the command line adds them to its own.

The room of the doctor knows no platform. Most homes that a doctor looks at have no state yet, so what reads it is
loaded only when there is something to read (:mod:`canon_hermes_plugin.state.checks`).

Source: decisions X4, X9.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from canon_hermes_plugin.state.place import approvals_record, state_path
from canon_ops.doctor.check import About, Answer, Check, Finding, Place, Status
from canon_ops.doctor.examination import Examination

__all__ = ["CHECKS"]


def _inbox(examination: Examination) -> Answer:
    path = state_path(examination.home.path)
    if not path.exists():
        return Finding(Status.OK, "No Canon message has been recorded yet.", at=Place(str(path)))
    from canon_hermes_plugin.state.checks import look_at_inbox

    return look_at_inbox(examination)


def _outbox(examination: Examination) -> Answer:
    path = state_path(examination.home.path)
    if not path.exists():
        return Finding(Status.OK, "Canon has every answer.", at=Place(str(path)))
    from canon_hermes_plugin.state.checks import look_at_outbox

    return look_at_outbox(examination)


def _of_registry(name: str) -> Callable[[Examination], Answer]:
    """A look at the registry of approvals, which is loaded only where there is one, or a trace of one."""

    def look(examination: Examination) -> Answer:
        file = examination.canon().detached_approvals_file
        traces = (file, file.with_suffix(".audit"), approvals_record(examination.home.path))
        if not any(map(os.path.lexists, traces)):
            return Finding(Status.OK, "No approval has been asked for from here.", at=Place(str(file)))
        from canon_hermes_plugin.approvals import examined

        answer: Answer = getattr(examined, name)(examination)
        return answer

    return look


REGISTRY = ("detached-approvals.json", "detached-approvals.audit", "CANON_HOME")

CHECKS = (
    Check(
        "canon.inbox",
        "Inbox",
        "Is every Canon message that has arrived finished or in work?",
        _inbox,
        about=About(
            "A gateway was away for longer than Canon keeps events, hangs, or was killed and not started again.",
            "People wait for an answer that nobody is working on, or said something that nobody has seen.",
            "Start the gateway: what it had is taken up again. What was missed only its authors can repeat.",
            ("plugins/canon/state.sqlite3", "CANON_HOME_CHANNEL"),
        ),
    ),
    Check(
        "canon.outbox",
        "Outbox",
        "Has Canon every answer?",
        _outbox,
        about=About(
            "Canon refused an answer for good (the room is gone, the agent is no member), or cannot be reached.",
            "The answer exists and nobody has got it.",
            "Look at it with canon-ops outbox show, mend the reason, then canon-ops outbox retry; or discard it.",
            ("plugins/canon/state.sqlite3",),
        ),
    ),
    Check(
        "approvals.registry",
        "Approvals",
        "Is the registry of approvals whole, and does its history fit it?",
        _of_registry("look_at_registry"),
        about=About(
            "Another program or a person edited the file, a disk failed, or a newer version wrote it.",
            "A damaged entry can be neither answered nor settled; a damaged file stops every approval.",
            "Look with canon-ops approvals verify and audit. Restore the file from a backup, or move it aside.",
            REGISTRY,
        ),
    ),
    Check(
        "approvals.lease",
        "Leases",
        "Does every step of an approval that was begun go on?",
        _of_registry("look_at_leases"),
        about=About(
            "The process that took the step was killed, or the clock jumped while it held the lease.",
            "An answer that a human has given is not fetched, and its agent does not hear of it.",
            "Start the gateway, which takes over what hangs; or run canon-ops approvals reconcile --apply.",
            REGISTRY,
        ),
    ),
    Check(
        "approvals.expiring",
        "Expiries",
        "Will every open approval be answered or settled in time?",
        _of_registry("look_at_expiries"),
        about=About(
            "Nobody has answered, or no gateway runs that would ask Canon what became of it.",
            "What was to be approved does not happen, and the agent has to ask again.",
            "Remind the human. For one past its end run canon-ops approvals reconcile --apply; where its agent has no "
            "key any more, canon-ops approvals abandon.",
            REGISTRY,
        ),
    ),
    Check(
        "approvals.wake",
        "Decisions",
        "Has every decision reached its agent, and does every answer count?",
        _of_registry("look_at_wakes"),
        about=About(
            "No gateway of the agent runs, the agent left the conversation, or somebody else answered.",
            "A human has decided and the agent goes on waiting.",
            "Start the gateway of that agent, let it back into the conversation, or have the agent ask again. What can "
            "never be told ends with canon-ops approvals abandon.",
            REGISTRY,
        ),
    ),
)
