"""The host asks a person, and the right person is asked on Canon: questions, and commands that somebody has to allow.

Who is asked is the human of the running turn, as the turn knows it; for what needs other rights, the owner. What is
typed into the chat meanwhile is judged by gate.py; here stands what it is judged by.

Source: canon-adapter R9.1-R9.19; D1, D2, D16, D17, D19, D56.
"""

from __future__ import annotations

import logging
import secrets
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, Protocol

from canon_hermes_plugin.desk import TurnDesk
from canon_hermes_plugin.interactions import command_approval
from canon_hermes_plugin.interactions.asking import Ask, Asking, NotShown
from canon_hermes_plugin.interactions.clarify import NOT_ASKED, HumanWaits, clarify_request, outcome_text
from canon_hermes_plugin.interactions.command_approval import Asked, asked_of, choice_of, command_request
from canon_hermes_plugin.interactions.gate import Confirmation, Open, Question, Said, Verdict, Way, judge
from canon_hermes_plugin.interactions.left_open import Shown
from canon_hermes_plugin.ports import HostPort, Reply, WaitingCommand
from canon_hermes_plugin.turn.events import InputAsked, InputClosed
from canon_hermes_plugin.turn.machine import Turn
from canon_ops.client.deadline import within
from canon_ops.errors import CanonOpsError
from canon_ops.runtime.clock import Clock
from canon_ops.wire.fields import JsonObject, text_of
from canon_ops.wire.interactions import InteractionKind, RequestReceipt

__all__ = ["People"]

logger = logging.getLogger(__name__)

REPLY_LIMIT_S: Final = 13.0  # the host waits 15 s with a thread of the agent's, R9.8
POST_LIMIT_S: Final = 4.0  # ours: with the request itself less than the host's 15 s
PROMPT_WITHIN_MS: Final = 30_000  # R9.19
CARDS_REMEMBERED: Final = 256  # ours: a host may edit one when its time is over
TYPED_REMEMBERED: Final = 256  # ours: who typed a command that the host may want confirmed
QUESTIONS_REMEMBERED: Final = 256  # ours
UNKNOWN_COMMAND: Final = Asked(None, owner_only=True, allows_rule=False)  # it is on its way to us
UNMATCHED: Final = "the host does not say which command it asks about"


class Offloaded(Protocol):
    """Reads a file of the host's away from the loop; :meth:`Offload.run` is one."""

    def __call__(self, function: Callable[[], float | None], /) -> Awaitable[float | None]: ...


@dataclass(frozen=True, slots=True)
class _Failed:
    """A command that Canon does not show; the host asks for it with a text of its own."""

    session_key: str
    command: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class _Pending:
    waiting: WaitingCommand
    asked: Asked


class People:
    """What the host asks of people while the adapter is connected.

    Args:
        owner_id: the owner, as Canon says now (D56).
        trusted_user: the human of the host's running session; None outside of one.
        offloaded: away from the loop.
    """

    def __init__(
        self,
        asking: Asking,
        desk: TurnDesk,
        port: HostPort,
        *,
        owner_id: Callable[[], str | None],
        trusted_user: Callable[[], str | None],
        waits: HumanWaits,
        offloaded: Offloaded,
        clock: Clock,
    ) -> None:
        self._asking = asking
        self._desk = desk
        self._port = port.people
        self._owner_id = owner_id
        self._trusted_user = trusted_user
        self._waits = waits
        self._offloaded = offloaded
        self._clock = clock
        self._failed: dict[str, list[_Failed]] = {}
        self._cards: deque[str | None] = deque(maxlen=CARDS_REMEMBERED)
        self._pending: dict[str, list[_Pending]] = {}
        self._questions: OrderedDict[str, str | None] = OrderedDict()
        self._typed: OrderedDict[tuple[str, str], str | None] = OrderedDict()

    async def stop(self) -> None:
        """End everything on both sides; see :meth:`Asking.stop`."""
        await self._asking.stop()

    # --- what the host asks -------------------------------------------------------------------------------------

    async def clarify(
        self, conversation_id: str, question: str, choices: object, clarify_id: str, session_key: str
    ) -> Reply:
        """Put a question of the host's; there is an answer within :data:`REPLY_LIMIT_S`. Source: R9.4."""
        put = self._put_question(conversation_id, question, choices, clarify_id, session_key)
        return await self._in_time(put)

    async def _in_time(self, put: Coroutine[Any, Any, Reply]) -> Reply:
        """What the host waits for with a thread of its own: whatever is slow, it hears of it in time.

        What is cut off takes back what it has shown, or what lands later.
        """
        try:
            return await within(self._clock, REPLY_LIMIT_S, put)
        except TimeoutError:
            logger.warning("Canon: a request of the host's was not shown within %g s", REPLY_LIMIT_S)
            return Reply(False, error=f"not shown within {REPLY_LIMIT_S:g} s")

    async def _put_question(
        self, conversation_id: str, question: str, choices: object, clarify_id: str, session_key: str
    ) -> Reply:
        turn = self._desk.running(session_key)
        responder = self._responder(turn)
        self._questions[clarify_id] = responder
        if len(self._questions) > QUESTIONS_REMEMBERED:
            self._questions.popitem(last=False)
        waiting = self._port.question(clarify_id)
        limit_s = HumanWaits.shorter(self._waits.clarify_s, await self._offloaded(self._port.clarify_limit_s))
        request = clarify_request(
            conversation_id,
            clarify_id,
            question,
            choices,
            session_key=session_key,
            responder=responder,
            expires_at_ms=self._clock.now_ms() + limit_s * 1_000,
            turn_id=turn.id if turn is not None else None,
        )

        def outcome(response: JsonObject, receipt: RequestReceipt, had_s: float) -> str:
            by, expected = text_of(response, "respondedBy"), responder or receipt.responder or self._owner_id()
            if response.get("status") == "submitted" and by not in (None, expected):
                logger.warning("Canon: question %s was answered by somebody who was not asked", clarify_id)
                return NOT_ASKED
            return outcome_text(response, waited_s=had_s)

        shown = Shown(InteractionKind.INPUT, clarify_id, conversation_id)
        body, until_ms = request.body(), request.expires_at_ms
        return await self._ask(Ask(shown, body, until_ms, waiting, responder, outcome, *self._told(turn)))

    async def command(
        self,
        conversation_id: str,
        command: str,
        session_key: str,
        description: str | None,
        *,
        allow_session: bool = True,
        smart_denied: bool = False,
    ) -> Reply:
        """Put a command that somebody has to allow. Source: R9.8-R9.13."""
        why = description or command_approval.DANGEROUS
        turn = self._desk.running(session_key)
        asked = asked_of(
            command, self._responder(turn), self._owner_id(), allow_session=allow_session, smart_denied=smart_denied
        )
        waiting = self._port.approval(session_key, command, why)
        self._remember(session_key, _Pending(waiting, asked))
        reply = await self._in_time(self._put_command(conversation_id, command, session_key, why, asked, waiting, turn))
        if not reply.success:
            failed = _Failed(session_key, command, self._clock.now_ms())
            self._failed.setdefault(conversation_id, []).append(failed)
        return reply

    async def _put_command(
        self,
        conversation_id: str,
        command: str,
        session_key: str,
        why: str,
        asked: Asked,
        waiting: WaitingCommand,
        turn: Turn | None,
    ) -> Reply:
        if not waiting.is_matched:
            return Reply(False, error=UNMATCHED)
        limit_s = HumanWaits.shorter(self._waits.approval_s, await self._offloaded(self._port.approval_limit_s))
        if not (command_approval.fits_the_card(command) or await self._posted(conversation_id, command)):
            return Reply(False, error="the whole command could not be shown")
        request = command_request(
            conversation_id,
            f"hermes-{secrets.token_hex(10)}",
            command,
            why,
            asked,
            session_key=session_key,
            expires_at_ms=self._clock.now_ms() + limit_s * 1_000,
        )

        def outcome(response: JsonObject, receipt: RequestReceipt, had_s: float) -> str:
            return self._decision(request.approval_id, response, receipt, asked)

        shown = Shown(InteractionKind.APPROVAL, request.approval_id, conversation_id)
        expected = asked.responder or (self._owner_id() if asked.owner_only else None)
        body, until_ms = request.body(), request.expires_at_ms
        return await self._ask(Ask(shown, body, until_ms, waiting, expected, outcome, *self._told(turn)))

    async def _posted(self, conversation_id: str, command: str) -> bool:
        """Show a command that is longer than a card, as a message of its own."""
        text, marks = command_approval.whole_command(command), {"is_approval_prompt": True}
        posting = self._desk.send(conversation_id, text, reply_to=None, metadata=marks)
        try:
            reply = await within(self._clock, POST_LIMIT_S, posting)
        except TimeoutError:
            return False
        return reply.success and reply.message_id is not None

    async def _ask(self, ask: Ask) -> Reply:
        try:
            message_id = await self._asking.ask(ask)
        except (CanonOpsError, NotShown) as error:
            reason = error.what if isinstance(error, CanonOpsError) else str(error)
            logger.warning("Canon does not show a request of the host's: %s", reason)
            return Reply(False, error=reason)
        self._cards.append(message_id)
        return Reply(True, message_id)

    def is_card(self, message_id: str) -> bool:
        """Whether a message is one of these: Canon shows what becomes of it, and nobody writes over it."""
        return message_id in self._cards

    def _decision(self, approval_id: str, response: JsonObject, receipt: RequestReceipt, asked: Asked) -> str:
        by, expected = text_of(response, "respondedBy"), asked.responder or receipt.responder
        if asked.owner_only or expected is None:
            expected = self._owner_id() or expected
        if response.get("status") == "allow" and (by is None or by != expected):
            who = "somebody who was not asked" if by else "nobody who is named"
            logger.warning("Canon: approval %s was allowed by %s; it counts as refused", approval_id, who)
            return command_approval.DENY
        said = response.get("allowSessionRule", receipt.allows_rule)
        return choice_of(response, allows_rule=asked.allows_rule and said is not False)

    # --- who is meant -------------------------------------------------------------------------------------------

    def _responder(self, turn: Turn | None) -> str | None:
        """The human of the turn, else of the host's session. Source: R9.2."""
        captured = turn.opening.responder_id if turn is not None else None
        trusted = self._trusted_user()
        if captured and trusted and captured != trusted:
            logger.warning("Canon: the turn is %s's, the host's session %s's; the former is asked", captured, trusted)
        return captured or trusted

    def _told(self, turn: Turn | None) -> tuple[Callable[[], None], Callable[[], None]]:
        """What shows on Canon that the turn waits, and that it goes on."""
        if turn is None:
            return (lambda: None), (lambda: None)
        return (lambda: self._desk.apply(turn.id, InputAsked())), (lambda: self._desk.apply(turn.id, InputClosed()))

    # --- what is typed ------------------------------------------------------------------------------------------

    def judge(self, said: Said, session_key: str) -> Verdict:
        """Whether a message may reach what the session waits with; see gate.py."""
        owner_id = self._owner_id()
        verdict = judge(said, self._open_in(session_key), owner_id=owner_id)
        if said.command is not None and said.is_said and verdict.way is Way.LET_IN:
            self._typed[session_key, said.command] = said.author
            if len(self._typed) > TYPED_REMEMBERED:
                self._typed.popitem(last=False)
        return verdict

    def answer(self, session_key: str, text: str) -> bool:
        """Answer the question that the session waits with; False when it waits with none any more."""
        clarify_id = self._port.oldest_question(session_key)
        return clarify_id is not None and self._port.question(clarify_id).resolve(text)

    async def refuse(self, conversation_id: str, message_id: str | None, sentence: str) -> bool:
        """Tell the author of a message why nothing comes of it; whether that is on its way."""
        marks = {"is_approval_prompt": True}
        reply = await self._desk.send(conversation_id, sentence, reply_to=message_id, metadata=marks)
        return reply.success

    def _open_in(self, session_key: str) -> Open:
        return Open(self._question_in(session_key), self._commands_in(session_key), self._confirmation_in(session_key))

    def _question_in(self, session_key: str) -> Question | None:
        clarify_id = self._port.oldest_question(session_key)
        if clarify_id is None:
            return None
        is_answered = self._port.is_answered(clarify_id)
        if clarify_id in self._questions:
            return Question(self._questions[clarify_id], is_answered)
        turn = self._desk.running(session_key)  # it is on its way to us
        return Question(turn.opening.responder_id if turn is not None else None, is_answered)

    def _commands_in(self, session_key: str) -> tuple[Asked, ...]:
        waiting = [one for one in self._pending.get(session_key, ()) if one.waiting.is_open()]
        commands = tuple(one.asked for one in waiting)
        if all(one.waiting.is_matched for one in waiting) and self._port.has_more_commands(session_key, len(waiting)):
            return (*commands, UNKNOWN_COMMAND)
        return commands

    def _confirmation_in(self, session_key: str) -> Confirmation | None:
        command = self._port.confirming(session_key)
        return None if command is None else Confirmation(self._typed.get((session_key, command)))

    def as_prompt(self, conversation_id: str, text: str, metadata: Any, session_key: str | None) -> tuple[str, Any]:
        """What the host says, marked as its prompt for a command that Canon does not show, when it is that.

        A host marks its prompts itself, or says them without a mark right after it was told of the failure. Such a
        prompt shows the beginning of a long command only; people see all of it. Source: R9.19, D19.
        """
        marks = metadata if isinstance(metadata, dict) else {}
        if marks.get("expect_edits") or marks.get("notify") or conversation_id not in self._failed:
            return text, metadata
        since_ms = self._clock.now_ms() - PROMPT_WITHIN_MS
        failed = [one for one in self._failed.pop(conversation_id) if one.at_ms >= since_ms]
        meant = next((one for one in failed if session_key in (None, one.session_key)), None)
        if others := [one for one in failed if one is not meant]:
            self._failed[conversation_id] = others
        if meant is None:
            return text, metadata
        return command_approval.with_whole_command(text, meant.command), {**marks, "is_approval_prompt": True}

    def _remember(self, session_key: str, pending: _Pending) -> None:
        for key, known in list(self._pending.items()):
            self._pending[key] = [one for one in known if one.waiting.is_open()]
            if not self._pending[key]:
                del self._pending[key]
        self._pending.setdefault(session_key, []).append(pending)
