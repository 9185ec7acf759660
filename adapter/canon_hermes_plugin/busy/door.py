"""The one door into the host: whatever comes for a session passes here, and what is no answer never becomes one.

The host hands every event to ``handle_message``: ours, those that it queued while it started, and its own. There it
takes the next text for the answer to a question, and a word or a command for the decision about a command that waits.
interactions/gate.py says which of them may; here that is carried out. A text that its author has corrected into a
command is judged again, because the host looks at it when its turn comes and not before.

Source: canon-adapter R5.19, R9.10; hermes-host 9.3; docs/decisions/0039.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from canon_hermes_plugin.busy.dispatcher import BusySessions
from canon_hermes_plugin.host import command_name
from canon_hermes_plugin.interactions.gate import Said, Verdict, Way
from canon_hermes_plugin.interactions.typed import typed_command
from canon_hermes_plugin.ports import Arrival
from canon_ops.hermes.offering import NOTICE_MARK

__all__ = ["Door", "Gate"]

logger = logging.getLogger(__name__)

FILES_FOLLOW: Final = "[What is attached to this answer comes with the next message.]"
LATER: Final = "A question to somebody else waits here. Please say it again once that is answered."


class Gate(Protocol):
    """Who decides; called on the loop."""

    def judge(self, said: Said, session_key: str) -> Verdict: ...
    def answer(self, session_key: str, text: str) -> bool: ...
    async def refuse(self, arrival: Arrival, sentence: str) -> None: ...


class Door:
    """The door of one adapter.

    Args:
        arrival_of: what the runtime must know of a host's event.
        quick_commands: those of the host's configuration.
    """

    def __init__(
        self,
        busy: BusySessions,
        gate: Gate,
        *,
        arrival_of: Callable[[Any], Arrival],
        quick_commands: Callable[[], object],
    ) -> None:
        self._busy = busy
        self._gate = gate
        self._arrival_of = arrival_of
        self._quick_commands = quick_commands

    async def receive(self, event: Any, session_key: str, hand_over: Callable[[Any], Awaitable[None]]) -> None:
        """Let an event in, or see that it is no answer.

        Args:
            hand_over: the host's own way in.
        """
        said = self._said(event)
        verdict = self._gate.judge(said, session_key)
        match verdict.way:
            case Way.REFUSE:
                await self._refuse(event, session_key, verdict.sentence)
                return
            case Way.SPLIT if self._gate.answer(session_key, f"{event.text or ''}\n\n{FILES_FOLLOW}".strip()):
                self._busy.wait(event, session_key)
                return
            case Way.ASIDE:
                if await self._busy.keep_apart(event, session_key):
                    return
                if said.is_said:  # nothing runs there that it could wait for
                    await self._refuse(event, session_key, LATER)
                    return
        await hand_over(event)

    def stop_now(self, event: Any, session_key: str) -> bool:
        """Stop at once what a message stops that is not here yet; what may be an answer is left to the message."""
        is_let_in = self._gate.judge(self._said(event), session_key).way is Way.LET_IN
        return is_let_in and self._busy.stop_now(event, session_key)

    def may_say(self, event: Any, text: str, session_key: str) -> bool:
        """Whether a message that waits may say ``text`` from now on."""
        said = self._said(event, text)
        return said.command is None or self._gate.judge(said, session_key).way is not Way.REFUSE

    def heard(self, handler: Any, is_unread: Callable[[Any], bool]) -> Any:
        """The host's handler of messages, but for its word that it takes none.

        Args:
            is_unread: whether the host goes down, and no model was called for a message.
        """

        async def handled(event: Any) -> Any:
            answer = await handler(event)
            return None if is_unread(event) and self._is_notice(event, answer) else answer

        return None if handler is None else handled

    def _is_notice(self, event: Any, answer: Any) -> bool:
        """A command has its answer without a run, whatever it begins with."""
        return isinstance(answer, str) and answer.startswith(NOTICE_MARK) and not self.command_of(event.text or "")[0]

    def command_of(self, text: str) -> tuple[str | None, str]:
        """The host's command that a text is, by the host's own name, and what stands behind it."""
        return typed_command(text, self._aliases(), name_of=command_name)

    async def _refuse(self, event: Any, session_key: str, sentence: str) -> None:
        logger.info("Canon: a message decides nothing in session %s: %s", session_key, sentence)
        self._busy.came_to_us(event)
        self._busy.begins(event)  # it will not, and waits no more
        await self._gate.refuse(self._arrival_of(event), sentence)

    def _said(self, event: Any, text: str | None = None) -> Said:
        arrival = self._arrival_of(event)
        text = (event.text or "") if text is None else text
        command, arguments = self.command_of(text)
        return Said(
            text,
            event.source.user_id or None,
            command,
            arguments,
            has_files=bool(event.media_urls) or arrival.has_attachments,
            is_said=arrival.is_said and not getattr(event, "internal", False),
        )

    def _aliases(self) -> Mapping[str, str]:
        """The operator's short names, by what they stand for."""
        quick = self._quick_commands()
        rows = quick.items() if isinstance(quick, Mapping) else ()
        found = {str(name): row.get("target") for name, row in rows if isinstance(row, Mapping)}
        return {name: target for name, target in found.items() if isinstance(target, str) and target.strip()}
