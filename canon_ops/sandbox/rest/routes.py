"""Every endpoint of the API listener in one table, the busiest first. Source: Canon wire 4.0, 11.3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from canon_ops.sandbox.rest import directory, identity, interactions, live, media, messages, registration, verbs
from canon_ops.sandbox.state import Call, Reply, World

__all__ = ["API_ROUTES", "Endpoint"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method and path; ``keyed`` ones need the bearer key of an agent."""

    method: str
    path: str
    handle: Callable[[World, Call], Reply]
    keyed: bool = True


API_ROUTES: tuple[Endpoint, ...] = (
    Endpoint("POST", "/messages/send", messages.send),
    Endpoint("POST", "/streaming", live.streaming),
    Endpoint("POST", "/runtime/turn", live.runtime_turn),
    Endpoint("POST", "/typing", live.typing),
    Endpoint("POST", "/runtime/signal/consume", live.consume_signal),
    Endpoint("POST", "/conversations/{conversation_id}/read", messages.mark_read),
    Endpoint("PATCH", "/conversations/{conversation_id}/messages/{message_id}/disposition", messages.disposition),
    Endpoint("POST", "/runtime/status", live.runtime_status),
    Endpoint("POST", "/runtime-interaction/consume", interactions.consume),
    Endpoint("POST", "/runtime-interaction/request", interactions.create),
    Endpoint("POST", "/agent/verbs/{verb}", verbs.invoke),
    Endpoint("POST", "/media/upload", media.upload),
    Endpoint("GET", "/files/{conversation_id}/{upload_id}/{file_name}", media.download, keyed=False),
    Endpoint("GET", "/agents/discover", directory.discover),
    Endpoint("GET", "/agents/me", identity.me),
    Endpoint("GET", "/conversations", identity.conversations),
    Endpoint("POST", "/agents/register", registration.register, keyed=False),
    Endpoint("GET", "/agents/status/{request_id}", registration.status, keyed=False),
    Endpoint("POST", "/agents/status/{request_id}/ack", registration.acknowledge, keyed=False),
    Endpoint("GET", "/healthz/", identity.health, keyed=False),
)
