"""What people decide: registrations, questions, contacts, policies, keys."""

from __future__ import annotations

from typing import Any, cast

from canon_ops.errors import UsageError
from canon_ops.sandbox.answering import answer
from canon_ops.sandbox.records import Interaction, Policy, Registration
from canon_ops.sandbox.rest import registration
from canon_ops.sandbox.side import HumanSide, NoSuchThing, found
from canon_ops.sandbox.state import World

__all__ = ["Deciding"]

POLICIES = frozenset({"open", "approval-required", "closed"})


def _policy(text: str) -> Policy:
    if text not in POLICIES:
        raise UsageError(f"no such policy: {text!r} (there are {', '.join(sorted(POLICIES))})")
    return cast(Policy, text)


class Deciding(HumanSide):
    """The verbs by which somebody says yes, no, or something to a question."""

    def approve(self, request_id: str | None = None) -> str | None:
        """Say yes to a registration or an approval; None takes the oldest that waits, registrations first.

        Gives back the agent's id for a registration.
        """

        def step(world: World, now_ms: int) -> str | None:
            request = self._waiting(world, request_id)
            if isinstance(request, Registration):
                return registration.approve(world, request, now_ms=now_ms).agent_id
            answer(world, request, {"decision": "allow"}, by=None, receipt="once", now_ms=now_ms)
            return None

        return self._engine.act(step)

    def reject(self, request_id: str | None = None) -> None:
        """Say no to a registration or an approval; None takes the oldest that waits, registrations first."""

        def step(world: World, now_ms: int) -> None:
            request = self._waiting(world, request_id)
            if isinstance(request, Registration):
                registration.reject(request)
            else:
                answer(world, request, {"decision": "deny"}, by=None, receipt="once", now_ms=now_ms)

        self._engine.act(step)

    def answer(
        self, request_id: str, *, kind: str | None = None, by: str | None = None, receipt: str = "once", **content: Any
    ) -> None:
        """Answer a question: see :func:`canon_ops.sandbox.answering.answer` for ``content`` and ``receipt``.

        Raises:
            AnswerRefused: the server would not take it.
        """

        def step(world: World, now_ms: int) -> None:
            fitting = [item for item in world.interactions.values() if item.request_id == request_id]
            chosen = [item for item in fitting if kind in {None, item.kind}]
            if not chosen:
                raise NoSuchThing(f"the sandbox knows no {kind or 'interaction'} {request_id!r}")
            answer(world, chosen[0], content, by=by, receipt=receipt, now_ms=now_ms)

        self._engine.act(step)

    def prepare_answer(self, *, receipt: str = "once", **content: Any) -> None:
        """Answer the next question before its create call is answered: the receipt overtakes the response."""
        self._engine.act(lambda world, now_ms: world.standing_answers.append({"content": content, "receipt": receipt}))

    def decide_contact(self, request_id: str, accept: bool = True) -> None:
        """Accept or decline an agent's wish to reach somebody or to have somebody in a group."""

        def step(world: World, now_ms: int) -> None:
            wish = found(world.contacts, request_id, "contact request")
            wish.state = "accepted" if accept else "declined"
            if accept and wish.conversation_id is not None:
                room = world.conversations[wish.conversation_id]
                if wish.target_id not in room.member_ids:
                    room.member_ids.append(wish.target_id)
                changes = {"memberIds": list(room.member_ids)}
                payload = {"conversationId": room.conversation_id, "changes": changes}
                world.publish_to_members(room, "conversation.updated", payload)

        self._engine.act(step)

    def let_reach_out(self, agent_id: str | None = None, *, allowed: bool = True) -> None:
        """The owner's standing leave for an agent whose outbound policy asks for approval."""

        def step(world: World, now_ms: int) -> None:
            self._agent(world, agent_id).may_reach_out = allowed

        self._engine.act(step)

    def set_recipient_policy(
        self, principal_id: str, *, inbound: str | None = None, group_join: str | None = None, blocks: str | None = None
    ) -> None:
        """Change who may reach a person or an agent: one of :data:`POLICIES`; ``blocks`` names an agent."""

        def step(world: World, now_ms: int) -> None:
            principal = world.humans.get(principal_id) or found(world.agents, principal_id, "principal")
            if inbound is not None:
                principal.inbound_policy = _policy(inbound)
            if group_join is not None:
                principal.group_join_policy = _policy(group_join)
            if blocks is not None:
                found(world.humans, principal_id, "person").blocked.add(blocks)

        self._engine.act(step)

    def expire_key(self, request_id: str) -> None:
        """Drop the unclaimed key of an approved registration."""

        def step(world: World, now_ms: int) -> None:
            found(world.registrations, request_id, "registration").key_expired = True

        self._engine.act(step)

    def revoke(self, agent_id: str | None = None) -> None:
        """Make an agent's key worthless: 403 from now on."""

        def step(world: World, now_ms: int) -> None:
            self._agent(world, agent_id).revoked = True

        self._engine.act(step)

    def set_policy(self, policy: str | None, agent_id: str | None = None) -> None:
        """Change an agent's outbound policy and tell its streams; None withholds it."""

        def step(world: World, now_ms: int) -> None:
            agent = self._agent(world, agent_id)
            agent.outbound_policy = policy  # type: ignore[assignment]  # any text, also ones nobody knows
            context = {"agentId": agent.agent_id, "ownerId": agent.owner_id, "outboundPolicy": policy}
            payload = {key: value for key, value in context.items() if value is not None}
            world.publish(agent.agent_id, "agent.context", payload)

        self._engine.act(step)

    @staticmethod
    def _waiting(world: World, request_id: str | None) -> Registration | Interaction:
        """The registration or approval of this id, or the oldest one that waits."""
        approvals = [item for item in world.interactions.values() if item.kind == "approval"]
        if request_id is not None:
            named = [item for item in approvals if item.request_id == request_id]
            return named[0] if named else found(world.registrations, request_id, "registration or approval")
        waiting: list[Registration | Interaction] = [
            request for request in world.registrations.values() if request.status == "pending"
        ]
        waiting += [item for item in approvals if item.state == "pending"]
        if not waiting:
            raise NoSuchThing("no registration and no approval waits")
        return waiting[0]
