"""Canon's REST API as typed calls.

Each call makes one attempt, except a durable message, which is repeated as :mod:`canon_ops.wire.retry` decides: with a
client id under the policy for idempotent writes, without one only when the first attempt certainly was not handled.
The bytes of a body are made once, so every attempt sends the same.

Use it as ``async with CanonApi(connection, key, clock=clock) as api``; httpx is imported at the first call.

Source: Canon wire 2, 4, 5; canon-adapter R7.21, R7.22, R7.45, Appendices A, B.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from canon_ops.client.answers import json_answer
from canon_ops.client.errors import (
    ApiError,
    Forbidden,
    MalformedAnswer,
    Redirected,
    RequestFailed,
    ServiceTrouble,
    TransportFailure,
    Unauthorized,
)
from canon_ops.client.transport import HttpClient, bearer
from canon_ops.runtime.clock import Clock
from canon_ops.settings.environments import Connection
from canon_ops.settings.secret import Secret
from canon_ops.wire.agents import AgentIdentity, AgentPage, Conversation, DiscoverQuery
from canon_ops.wire.fields import JsonObject, as_object, string_first
from canon_ops.wire.interactions import (
    ApprovalAnswer,
    ApprovalReceipt,
    ApprovalRequest,
    InteractionKind,
    consume_body,
)
from canon_ops.wire.requests import (
    Disposition,
    RuntimeStatus,
    SendMessage,
    Signal,
    StreamingClear,
    StreamingWrite,
    TurnState,
    Typing,
    encode_body,
    path_segment,
)
from canon_ops.wire.retry import GiveUp, Policy, decide
from canon_ops.wire.verbs import verb_request, verb_value

if TYPE_CHECKING:
    import httpx

__all__ = [
    "ApiError",
    "CanonApi",
    "Forbidden",
    "MalformedAnswer",
    "Redirected",
    "RequestFailed",
    "ServiceTrouble",
    "TransportFailure",
    "Unauthorized",
]

TIMEOUT_S = 30.0  # Canon wire 2.1


class CanonApi:
    """The API of one environment, as one agent.

    Every call raises :class:`RequestFailed` when it brings nothing back, and passes cancellation on.

    Args:
        timeout_s: for connecting, each read, each write, and the wait for a free connection.
        transport: an httpx transport instead of the network.
        rng: spreads repeated attempts; a test hands in a seeded one.
    """

    def __init__(
        self,
        connection: Connection,
        api_key: Secret,
        *,
        clock: Clock,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.AsyncBaseTransport | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.connection = connection
        self._api_key = api_key
        self._clock = clock
        self._rng = rng or random.Random()  # noqa: S311  # jitter, no secret
        self._http = HttpClient(timeout_s=timeout_s, transport=transport)

    async def __aenter__(self) -> CanonApi:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection; a call after it is refused."""
        await self._http.aclose()

    async def me(self) -> AgentIdentity:
        """The agent that the key authenticates, and its policy."""
        return AgentIdentity.parse(await self.call("GET", "/agents/me"))

    async def discover(self, query: DiscoverQuery) -> AgentPage:
        """A page of the public directory of agents."""
        return AgentPage.parse(await self.call("GET", "/agents/discover", params=query.params()))

    async def conversations(self) -> tuple[Conversation, ...]:
        """Every conversation that the agent is a member of."""
        return Conversation.parse_list(await self.call("GET", "/conversations"))

    async def send_message(self, message: SendMessage) -> str | None:
        """Send a durable message, with up to three attempts.

        Returns:
            The id of the stored message; None when the server did not say.
        """
        policy = Policy.IDEMPOTENT if message.message_id else Policy.SINGLE
        authority = message.reply_authority
        secrets = () if authority is None else (Secret(authority.token),)
        answer = await self.call("POST", "/messages/send", message.body(), policy=policy, secrets=secrets)
        return string_first(answer, "messageId", "id")

    async def set_disposition(
        self, conversation_id: str, message_id: str, disposition: Disposition = Disposition.ACCEPTED_NOW
    ) -> None:
        """Say what became of an inbound message; safe to repeat."""
        path = f"/conversations/{path_segment(conversation_id)}/messages/{path_segment(message_id)}/disposition"
        await self.call("PATCH", path, {"inboundDisposition": str(disposition)})

    async def mark_read(self, conversation_id: str) -> None:
        """Mark everything in the conversation as read by the agent."""
        await self.call("POST", f"/conversations/{path_segment(conversation_id)}/read")

    async def set_typing(self, typing: Typing) -> None:
        """Switch the typing dots on or off."""
        await self.call("POST", "/typing", typing.body())

    async def write_streaming(self, write: StreamingWrite) -> None:
        """Merge fields into the conversation's node."""
        await self.call("POST", "/streaming", write.body())

    async def clear_streaming(self, conversation_id: str) -> None:
        """Remove the conversation's node; the server may keep what it held as a message."""
        await self.call("POST", "/streaming", StreamingClear(conversation_id).body())

    async def publish_turn(self, state: TurnState) -> None:
        """Show the state of a turn."""
        await self.call("POST", "/runtime/turn", state.body())

    async def publish_status(self, status: RuntimeStatus) -> None:
        """Send the heartbeat, with what the runtime offers."""
        await self.call("POST", "/runtime/status", status.body())

    async def consume_signal(self, conversation_id: str) -> Signal | None:
        """Take the pending signal of a conversation; it is gone from the server afterwards."""
        return Signal.parse(await self.call("POST", "/runtime/signal/consume", {"conversationId": conversation_id}))

    async def request_approval(self, request: ApprovalRequest) -> ApprovalReceipt:
        """Ask a human for a yes or no; one attempt, because an id that was ever used is refused."""
        answer = await self.call("POST", "/runtime-interaction/request", request.body(), policy=Policy.SINGLE)
        return ApprovalReceipt.parse(answer)

    async def consume_approval(self, conversation_id: str, approval_id: str, *, cancel: bool = False) -> ApprovalAnswer:
        """Take the answer of an approval, or take the request back; one attempt, whose repetition is the caller's."""
        body = consume_body(InteractionKind.APPROVAL, conversation_id, approval_id, cancel=cancel)
        answer = await self.call("POST", "/runtime-interaction/consume", body, policy=Policy.SINGLE)
        return ApprovalAnswer.parse(answer)

    async def request_interaction(self, body: JsonObject) -> JsonObject:
        """Show a card or a question; one attempt, because an id that was ever used is refused. As Canon answered."""
        return as_object(await self.call("POST", "/runtime-interaction/request", body, policy=Policy.SINGLE))

    async def consume_interaction(
        self, kind: InteractionKind, conversation_id: str, interaction_id: str, *, cancel: bool = False
    ) -> JsonObject:
        """Take the answer of a card or a question, or take the request back; one attempt, as Canon answered."""
        body = consume_body(kind, conversation_id, interaction_id, cancel=cancel)
        return as_object(await self.call("POST", "/runtime-interaction/consume", body, policy=Policy.SINGLE))

    async def upload_media(self, body: JsonObject, *, policy: Policy = Policy.READ) -> JsonObject:
        """Upload a file, base64 in ``data``. As Canon answered. Source: Canon wire 10.1.

        Args:
            policy: IDEMPOTENT for one that nothing refers to until it is known: a second upload only leaves a file
                behind. The default makes one attempt.
        """
        return as_object(await self.call("POST", "/media/upload", body, policy=policy))

    async def verb(
        self,
        verb: str,
        envelope: JsonObject,
        value: JsonObject,
        *,
        policy: Policy = Policy.READ,
        timeout_s: float | None = None,
    ) -> JsonObject:
        """Perform a verb and return the value of its answer; :func:`canon_ops.wire.verbs.verb_result` checks that.

        Args:
            policy: IDEMPOTENT for a standalone send with an idempotency key; the default makes one attempt.

        Raises:
            MalformedVerbAnswer: the frame of the answer is not as agreed.
            ValueError: the envelope is not what the verb takes.
        """
        body = verb_request(verb, envelope, value)
        answer = await self.call("POST", f"/agent/verbs/{path_segment(verb)}", body, policy=policy, timeout_s=timeout_s)
        return verb_value(verb, answer)

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        params: Mapping[str, str] | None = None,
        policy: Policy = Policy.READ,
        timeout_s: float | None = None,
        secrets: tuple[Secret, ...] = (),
    ) -> Any:
        """Make any authenticated call and return its JSON; an empty body reads as an empty object.

        Args:
            secrets: what ``body`` holds and no error may quote, should the server echo it; the key need not be named.

        Raises:
            RequestFailed: the last attempt that ``policy`` allows failed.
        """
        content = None if body is None else encode_body(body)
        attempt = 0
        may_have_landed = False
        while True:
            attempt += 1
            try:
                return await self._once(method, path, content, params, timeout_s, (self._api_key, *secrets))
            except RequestFailed as error:
                may_have_landed = error.may_have_landed = may_have_landed or error.may_have_landed
                verdict = decide(policy, error.outcome, attempt, error.retry_after_s, jitter=self._rng.random())
                if isinstance(verdict, GiveUp):
                    raise
            await self._clock.sleep(verdict.after_s)

    async def _once(
        self,
        method: str,
        path: str,
        content: bytes | None,
        params: Mapping[str, str] | None,
        timeout_s: float | None,
        secrets: tuple[Secret, ...],
    ) -> Any:
        name = f"{method} {path}"
        headers = {**bearer(self._api_key), "Content-Type": "application/json"}
        answer = await self._http.request(
            method,
            self.connection.base_url + path,
            name=name,
            headers=headers,
            params=params,
            content=content,
            timeout_s=timeout_s,
        )
        return json_answer(answer, name=name, secrets=secrets, now_ms=self._clock.now_ms())
