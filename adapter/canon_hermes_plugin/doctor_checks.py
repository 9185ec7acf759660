"""The doctor's checks of the Canon adapter; the command line adds them to its own.

The room of the doctor knows no platform. Most homes that a doctor looks at have no state yet, so what reads it is
loaded only when there is something to read (:mod:`canon_hermes_plugin.state_checks`).

Source: decisions X4, X9.
"""

from __future__ import annotations

from canon_hermes_plugin.state_place import state_path
from canon_ops.doctor.check import About, Answer, Check, Finding, Place, Status
from canon_ops.doctor.examination import Examination

__all__ = ["CHECKS"]


def _inbox(examination: Examination) -> Answer:
    path = state_path(examination.home.path)
    if not path.exists():
        return Finding(Status.OK, "No Canon message has been recorded yet.", at=Place(str(path)))
    from canon_hermes_plugin.state_checks import look_at_inbox

    return look_at_inbox(examination)


def _outbox(examination: Examination) -> Answer:
    path = state_path(examination.home.path)
    if not path.exists():
        return Finding(Status.OK, "Canon has every answer.", at=Place(str(path)))
    from canon_hermes_plugin.state_checks import look_at_outbox

    return look_at_outbox(examination)


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
)
