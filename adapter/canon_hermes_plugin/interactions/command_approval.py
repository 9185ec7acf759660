"""A dangerous command as an approval of Canon, and Canon's decision as the host's word for it. Pure.

Nobody can allow what they have not seen. A command that fits is shown whole on the card, in as many rows as it takes;
a longer one is posted whole before the card, which then shows its beginning and its end. Characters that nobody sees,
or that turn the others around, are written out.

Source: canon-adapter R9.8-R9.13; Canon wire 9.2, 9.5; D19.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from canon_hermes_plugin.interactions.clarify import native_ids
from canon_hermes_plugin.interactions.privilege import needs_owner
from canon_ops.unseen import SHAPELESS, TURNING
from canon_ops.wire.fields import JsonObject
from canon_ops.wire.interactions import ApprovalRequest, Detail

__all__ = [
    "DANGEROUS",
    "DENY",
    "Asked",
    "asked_of",
    "choice_of",
    "command_request",
    "fits_the_card",
    "whole_command",
    "with_whole_command",
]

DANGEROUS: Final = "dangerous command"  # R9.9: what the host says when it says nothing
DENY: Final = "deny"
ROW: Final = 500  # characters of a row, Canon wire 9.2; the server cuts what is longer without a word
COMMAND_ROWS: Final = 7  # of 8; the last one is the reason
EDGE: Final = 200  # ours: beginning and end of a command that is posted beside the card
_UNSEEN: Final = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200c\u200d\u2028\u2029{TURNING}{SHAPELESS}]")


@dataclass(frozen=True, slots=True)
class Asked:
    """Who may answer.

    Attributes:
        responder: the human to ask; None leaves it to Canon, which takes the owner.
        owner_only: whoever opened the turn, only the owner may allow it.
        allows_rule: the answer may hold for the rest of the session.
    """

    responder: str | None
    owner_only: bool
    allows_rule: bool

    def may_allow(self, user_id: str | None, owner_id: str | None) -> bool:
        """Whether this person's yes counts, wherever it is said: the owner's always, else the responder's."""
        if user_id is None:
            return False
        return user_id == owner_id or (not self.owner_only and user_id == self.responder)


def asked_of(
    command: str, responder: str | None, owner_id: str | None, *, allow_session: bool = True, smart_denied: bool = False
) -> Asked:
    """Whom a command is put to. Source: R9.9-R9.11."""
    owner_only = needs_owner(command)
    asked = None if owner_only else responder
    is_owner = asked is None or (owner_id is not None and asked == owner_id)
    return Asked(asked, owner_only, is_owner and allow_session and not smart_denied)


def command_request(
    conversation_id: str,
    approval_id: str,
    command: str,
    description: str,
    asked: Asked,
    *,
    session_key: str,
    expires_at_ms: int,
) -> ApprovalRequest:
    """The approval that shows the command."""
    return ApprovalRequest(
        conversation_id,
        approval_id,
        "Command",
        description,
        expires_at_ms,
        asked.responder,
        (*_command_rows(command), Detail("Reason", description[:ROW])),
        asked.allows_rule,
        native_ids("exec_approval", approval_id, session_key),
    )


def fits_the_card(command: str) -> bool:
    """Whether the card can show all of it."""
    return len(_pieces(_shown(command))) <= COMMAND_ROWS


def whole_command(command: str) -> str:
    """The message that shows a command which no card can."""
    command = _shown(command)
    fence = "`" * max(3, _longest_run(command) + 1)
    return (
        f"⚠️ A command of {len(command)} characters waits for approval. This is all of it:\n{fence}\n{command}\n{fence}"
    )


def with_whole_command(prompt: str, command: str) -> str:
    """The host's own prompt, which shows the beginning of a long command only, with all of it."""
    return prompt if _shown(command) in prompt else f"{prompt}\n\n{whole_command(command)}"


def choice_of(response: JsonObject, *, allows_rule: bool) -> str:
    """The host's word for a decision: ``session``, ``once`` or ``deny``. Source: R9.11, R9.13."""
    if response.get("status") != "allow":
        return DENY
    rule = response.get("sessionRule")
    kind = rule.get("type") if isinstance(rule, dict) else None
    return "session" if allows_rule and kind in ("approve-all", "approve-tool") else "once"


def _command_rows(command: str) -> tuple[Detail, ...]:
    command = _shown(command)
    pieces = _pieces(command)
    if len(pieces) > COMMAND_ROWS:
        where = f"{len(command)} characters; the message above this card shows all of it"
        edges = (("Command (beginning)", command[:EDGE]), ("Command (end)", command[-EDGE:]))
        return (*(Detail(label, text, is_monospace=True) for label, text in edges), Detail("Length", where))
    if len(pieces) == 1:
        return (Detail("Command", command, is_monospace=True),)
    count = len(pieces)
    return tuple(Detail(f"Command ({at}/{count})", text, is_monospace=True) for at, text in enumerate(pieces, 1))


def _shown(command: str) -> str:
    """A command as a person reads it."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), command)


def _pieces(command: str) -> list[str]:
    """Cut into rows; the length that the contract means counts a character outside of the basic plane twice."""
    pieces: list[str] = []
    piece: list[str] = []
    length = 0
    for char in command:
        size = 2 if ord(char) > 0xFFFF else 1
        if length + size > ROW:
            pieces.append("".join(piece))
            piece, length = [], 0
        piece.append(char)
        length += size
    return [*pieces, "".join(piece)]


def _longest_run(text: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest
