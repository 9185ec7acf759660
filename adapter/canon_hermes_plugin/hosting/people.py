"""What waits inside the host for a person: its questions, and its dangerous commands.

The host blocks an agent's thread for each and keeps the waiting in two modules of its own. Its answer to an approval
means the oldest one of a session; so each of ours is found when it is asked for, by what it says, and from then on
named by its request id, or on a host without ids by the very object that waits. What cannot be told apart is not
matched, and is left to the host's own text prompt.

Source: canon-adapter R9.13, R9.14; D16; hermes-host 9.5, 9.6, 12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from canon_hermes_plugin.host import HumanModules, command_name

__all__ = ["HostApproval", "HostPeople", "HostQuestion"]

UNSAID: Final = "dangerous command"  # what the host shows where its request has no description


@dataclass(frozen=True, slots=True)
class HostQuestion:
    """A question that an agent's thread waits with."""

    modules: HumanModules
    clarify_id: str

    def is_open(self) -> bool:
        """Whether nobody has answered it, by whatever way; a host that does not say counts as waiting."""
        entries = getattr(self.modules.clarify, "_entries", None)
        if not isinstance(entries, Mapping):
            return True
        entry = entries.get(self.clarify_id)
        return entry is not None and not entry.event.is_set()

    def resolve(self, text: str) -> bool:
        """Answer it, unless it is answered."""
        return self.is_open() and bool(self.modules.clarify.resolve_gateway_clarify(self.clarify_id, text))


@dataclass(frozen=True, slots=True, eq=False)
class HostApproval:
    """A command that an agent's thread waits with.

    Attributes:
        token: the request id, or on a host without ids the object that waits; None: which one it is cannot be told.
    """

    modules: HumanModules
    session_key: str
    token: object | None

    @property
    def is_matched(self) -> bool:
        return self.token is not None

    def is_open(self) -> bool:
        """Whether it waits; one that is not matched, whether any of its session does."""
        if self.token is None:
            return bool(self.modules.approvals.has_blocking_approval(self.session_key))
        return any(token == self.token for token, _ in _pending(self.modules.approvals, self.session_key))

    def resolve(self, choice: str) -> bool:
        """Decide this one and no other; False when it waits no longer."""
        approvals = self.modules.approvals
        if isinstance(self.token, str):
            return bool(approvals.resolve_gateway_approval(self.session_key, choice, request_id=self.token))
        return self.token is not None and _decide(approvals, self.session_key, self.token, choice)


class HostPeople:
    """The host's questions and approvals, for one adapter."""

    def __init__(self, modules: Callable[[], HumanModules]) -> None:
        self._modules = modules
        self._claimed: list[HostApproval] = []

    def question(self, clarify_id: str) -> HostQuestion:
        """A question that the host is about to wait with; from now on a typed text answers it, too."""
        modules = self._modules()
        modules.clarify.mark_awaiting_text(clarify_id)
        return HostQuestion(modules, clarify_id)

    def oldest_question(self, session_key: str) -> str | None:
        """The question that the next text in a session would answer."""
        entry = self._modules().clarify.get_pending_for_session(session_key, include_choice_prompts=True)
        return None if entry is None else str(entry.clarify_id)

    def is_answered(self, clarify_id: str) -> bool:
        """Whether a question has its answer, so that another would take its place."""
        return not HostQuestion(self._modules(), clarify_id).is_open()

    def confirming(self, session_key: str) -> str | None:
        """The command of a session that the host wants confirmed, by its own name."""
        pending = self._modules().confirming(session_key)
        typed = str(pending.get("command", "")) if pending is not None else None
        return typed if typed is None else command_name(typed) or typed

    def has_more_commands(self, session_key: str, known: int) -> bool:
        """Whether more commands wait in a session than are known."""
        approvals = self._modules().approvals
        if not approvals.has_blocking_approval(session_key):
            return False
        return max(1, len(_pending(approvals, session_key))) > known

    def approval(self, session_key: str, command: str, description: str) -> HostApproval:
        """The approval that the host asks for with these words, and that nobody has claimed yet."""
        modules = self._modules()
        self._claimed = [one for one in self._claimed if one.is_open()]
        claimed = [one.token for one in self._claimed]
        for token, data in _pending(modules.approvals, session_key):
            says = (modules.redact_command(data.get("command", "")), data.get("description", UNSAID))
            if says == (command, description) and not any(token == one for one in claimed):
                found = HostApproval(modules, session_key, token)
                self._claimed.append(found)
                return found
        return HostApproval(modules, session_key, None)

    def clarify_limit_s(self) -> float | None:
        """How long the host waits with a question; it reads its configuration. None when it does not say."""
        return _seconds(getattr(self._modules().clarify, "get_clarify_timeout", None))

    def approval_limit_s(self) -> float | None:
        """How long the host waits with a command; likewise."""
        return _seconds(self._modules().approval_limit)


def _pending(approvals: Any, session_key: str) -> list[tuple[object, Mapping[str, Any]]]:
    """What waits in a session, oldest first; empty on a host that does not show it."""
    listed = getattr(approvals, "list_gateway_approvals", None)
    if listed is not None:
        return [(str(row["request_id"]), row) for row in listed(session_key) if row.get("request_id")]
    queues, lock = getattr(approvals, "_gateway_queues", None), getattr(approvals, "_lock", None)
    if queues is None or lock is None:
        return []
    with lock:
        return [(entry, dict(entry.data)) for entry in queues.get(session_key, ())]


def _decide(approvals: Any, session_key: str, entry: Any, choice: str) -> bool:
    """What the host does with the oldest one, for this one: it offers no name to say which."""
    with approvals._lock:
        queue = approvals._gateway_queues.get(session_key)
        if not queue or entry not in queue:
            return False
        queue.remove(entry)
        if not queue:
            approvals._gateway_queues.pop(session_key, None)
    entry.result = choice
    entry.event.set()
    return True


def _seconds(limit: Callable[[], object] | None) -> float | None:
    seconds = limit() if limit is not None else None
    return float(seconds) if isinstance(seconds, int | float) and seconds > 0 else None
