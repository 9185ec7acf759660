"""What a message says in place of files that the model does not get: constant words, a number, and nothing of the file.

Source: Canon adapter R4.22; defect D36.
"""

from __future__ import annotations

from canon_hermes_plugin.media.policy import Scope

__all__ = ["markers"]

_SUBJECT = {Scope.NONE: "attachment", Scope.IMAGE: "image attachment", Scope.VISUAL: "visual attachment"}
_PIPELINE = {Scope.NONE: "general", Scope.IMAGE: "general vision", Scope.VISUAL: "general vision or document"}


def markers(scope: Scope, *, available: int, withheld: int, lost: int) -> tuple[str, ...]:
    """The lines of a message.

    Args:
        available: protected files that trusted tools can read.
        withheld: protected files, or what counts as such, that nobody gets.
        lost: other files that could not be fetched.
    """
    lines = []
    if available:
        verb, is_given = ("is", "was") if available == 1 else ("are", "were")
        lines.append(
            f"[{_counted(available, _SUBJECT[scope])} of this message {verb} available to trusted Canon tools and "
            f"{is_given} not given to the {_PIPELINE[scope]} pipeline.]"
        )
    if withheld:
        is_withheld = "was" if withheld == 1 else "were"
        lines.append(
            f"[{_counted(withheld, _SUBJECT[scope])} of this message {is_withheld} withheld: the trusted delivery "
            "failed or exceeded its bounds. Ask for the message to be sent again.]"
        )
    if lost:
        lines.append(
            f"[{_counted(lost, 'attachment')} of this message could not be fetched and cannot be seen. "
            "Ask for it to be sent again where it matters.]"
        )
    return tuple(lines)


def _counted(number: int, subject: str) -> str:
    return f"{number} {subject}" if number == 1 else f"{number} {subject}s"
