"""Every fault by name: where it strikes, what it does, and how it is armed when nothing is said. Pure data.

A row is one line: name, method and path, action, sentence. Source: Canon wire 11.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from canon_ops.sandbox.fault_actions import (
    Action,
    Answer,
    Bend,
    Delay,
    DropStream,
    EndStream,
    FaultKind,
    Forget,
    Mute,
    Rename,
    Reset,
    Reshape,
    Schedule,
    Withhold,
)

__all__ = ["KINDS"]

_ONCE: Final = Schedule()
_ALWAYS: Final = Schedule(burst=None, times=None)
_IDENTITY: Final = "x-canon-environment-id"
_OTHER: Final = "canon-other-v1"
_STRANGER: Final = "user_stranger"
_OWNERLESS: Final = {"agents": [{"principalId": "agent_x", "displayName": "X", "shareable": True}]}


def _error(status: int, code: str | None = None, *, commit: bool = False, **more: Any) -> Answer:
    body = {"error": f"scripted {status}", **({} if code is None else {"code": code}), **more}
    return Answer(status, body, commit=commit)


def _request(name: str, where: str, action: Action, says: str, schedule: Schedule = _ONCE) -> FaultKind:
    """``where`` is a method and a path, both shell patterns."""
    method, _, path = where.partition(" ")
    return FaultKind(name=name, point="request", action=action, says=says, method=method, path=path, schedule=schedule)


def _stream(name: str, action: Action, says: str) -> FaultKind:
    return FaultKind(name=f"stream-{name}", point="stream", action=action, says=says)


def _event(name: str, action: Action, says: str, *, burst: int | None = 1) -> FaultKind:
    schedule = Schedule(burst=burst)
    return FaultKind(name=name, point="event", action=action, says=says, event="message.created", schedule=schedule)


def _result(**value: str) -> dict[str, Any]:
    return {"result": {"encoding": "json", "value": value}}


_ANY = "* *"
_SEND = "POST /messages/send"
_ASK = "POST /runtime-interaction/request"
_TAKE = "POST /runtime-interaction/consume"
_VERB = "POST /agent/verbs/*"
_POLL = "GET /agents/status/*"
_ACK = "POST /agents/status/*/ack"
_FILE = "GET /files/*"
_HEALTH = "GET /health*"

_ROWS: tuple[FaultKind, ...] = (
    # any request, for what has no name of its own: method=, path= and status= say which
    _request("answer", _ANY, _error(500), "answers an error instead of carrying the request out"),
    _request("answer-after-commit", _ANY, _error(500, commit=True), "carries the request out, then answers an error"),
    _request("lost-response", _ANY, Reset(commit=True), "carries the request out, then resets the socket"),
    _request("reset", _ANY, Reset(), "resets the socket instead of carrying the request out"),
    _request("delay", _ANY, Delay(1.0), "waits before it carries the request out"),
    # durable messages
    _request("send-429", _SEND, _error(429, "RATE_LIMITED", retryAfter=1), "too many requests, retryAfter in the body"),
    _request("send-503", _SEND, _error(503), "unavailable"),
    _request("send-500", _SEND, _error(500), "an error, nothing stored"),
    _request("send-500-after-commit", _SEND, _error(500, commit=True), "stored, then an error"),
    _request("send-lost-response", _SEND, Reset(commit=True), "stored, then the socket is reset"),
    _request("send-slow-after-commit", _SEND, Delay(31.0, commit=True), "stored, answered after the client's limit"),
    _request("send-400", _SEND, _error(400), "refused for good"),
    _request("send-409", _SEND, _error(409, "MESSAGE_ID_EXISTS"), "the id belongs to another message"),
    _request("send-not-json", _SEND, Answer(200, "<html>done</html>", commit=True), "stored, answered with HTML"),
    _request("send-redirect", _SEND, Answer(302, None, {"location": "/elsewhere"}), "points elsewhere"),
    _request("rate-limits", _SEND, Bend("rate-limits"), "the server's rate limits hold", _ALWAYS),
    # connecting
    _request("me-401", "GET /agents/me", _error(401), "the key is unknown", _ALWAYS),
    _request("me-403", "GET /agents/me", _error(403), "the key is revoked", _ALWAYS),
    _request("me-429", "GET /agents/me", _error(429), "too many requests for the own identity"),
    _request("me-503", "GET /agents/me", _error(503), "the own identity is unavailable"),
    _request("conversations-503", "GET /conversations", _error(503), "the list of conversations is unavailable"),
    _request("runtime-status-500", "POST /runtime/status", _error(500), "the heartbeat fails", _ALWAYS),
    # live surfaces
    _request("typing-500", "POST /typing", _error(500), "typing marks fail", _ALWAYS),
    _request("streaming-500", "POST /streaming", _error(500), "node writes and deletes fail", _ALWAYS),
    _request("turn-500", "POST /runtime/turn", _error(500), "turn states fail", _ALWAYS),
    _request("read-500", "POST /conversations/*/read", _error(500), "read marks fail", _ALWAYS),
    _request("signal-500", "POST /runtime/signal/consume", _error(500), "signals cannot be taken", _ALWAYS),
    _request("disposition-500", "PATCH /conversations/*/disposition", _error(500), "queued messages stay queued"),
    # registration
    _request("registration-poll-500", _POLL, _error(500), "the poll fails"),
    _request("registration-ack-500", _ACK, _error(500), "the acknowledgement fails"),
    _request("registration-ack-lost", _ACK, Reset(commit=True), "acknowledged, answer lost"),
    _request("registration-other-agent", _POLL, Rename(body={"agentId": "agent_stranger"}), "another agent", _ALWAYS),
    # questions to people
    _request("approval-cap-reject", _ASK, Bend("approval-cap-reject"), "an old server: 30 minutes or 400", _ALWAYS),
    _request("approval-cap-clamp", _ASK, Bend("approval-cap-clamp"), "an old server: cut to 30 minutes", _ALWAYS),
    _request("interaction-no-responder", _ASK, Rename(body={"responseUserId": None}), "nobody is named"),
    _request("interaction-other-responder", _ASK, Rename(body={"responseUserId": _STRANGER}), "somebody else is named"),
    _request("interaction-500", _ASK, _error(500), "an error, nothing created"),
    _request("interaction-500-after-commit", _ASK, _error(500, commit=True), "created, then an error"),
    _request("interaction-lost", _ASK, Reset(), "lost on its way, nothing created"),
    _request("interaction-lost-response", _ASK, Reset(commit=True), "created, then the socket is reset"),
    _request("consume-wrong-responder", _TAKE, Rename(body={"respondedBy": _STRANGER}), "somebody else answered"),
    _request("consume-no-responder", _TAKE, Rename(body={"respondedBy": None}), "nobody is named"),
    _request("consume-404", _TAKE, _error(404, "RUNTIME_APPROVAL_NOT_FOUND"), "nothing of that name"),
    _request("consume-409", _TAKE, _error(409, "RUNTIME_INTERACTION_CLAIM_CONFLICT"), "somebody else took it"),
    _request("consume-500", _TAKE, _error(500), "an error, nothing taken"),
    _request("consume-503", _TAKE, _error(503), "unavailable"),
    _request("consume-lost-response", _TAKE, Reset(commit=True), "taken, then the socket is reset"),
    # verbs
    _request("verb-approval-required", _VERB, _error(403, "OUTBOUND_APPROVAL_REQUIRED"), "the owner has to agree"),
    _request("verb-closed", _VERB, _error(403, "OUTBOUND_COMMUNICATION_CLOSED"), "nothing goes out any more"),
    _request("verb-wrong-wire", _VERB, Rename(body={"wire": "canon.verb-wire.v2"}), "a frame of another wire"),
    _request("verb-wrong-verb", _VERB, Rename(body={"verb": "react"}), "the frame of another verb"),
    _request("verb-no-result", _VERB, Rename(body={"result": None}), "a frame without result"),
    _request("verb-sealed", _VERB, Rename(body={"result": {"encoding": "mls", "epoch": 1}}), "a sealed result"),
    _request("verb-missing-keys", _VERB, Rename(body=_result(status="messaged")), "a status without its keys"),
    _request("verb-unknown-status", _VERB, Rename(body=_result(status="setup_required", reason="x")), "a newer status"),
    _request("verb-500-after-commit", _VERB, _error(500, commit=True), "done, then an error"),
    _request("discover-no-owner", "GET /agents/discover", Rename(body=_OWNERLESS), "an entry without owner"),
    # media
    _request("upload-413", "POST /media/upload", _error(413, "MEDIA_TOO_LARGE"), "too large"),
    _request("media-404", _FILE, _error(404), "the file is gone"),
    _request("media-redirect", _FILE, Answer(302, None, {"location": "http://10.0.0.1/x"}), "points to a private host"),
    _request("media-oversize", _FILE, Answer(200, bytes(11 * 1024 * 1024)), "11 MiB instead of the file"),
    # identity
    _request("health-slow", _HEALTH, Delay(11.0), "the identity comes after the client's time limit", _ALWAYS),
    _request("health-wrong-header", _HEALTH, Rename(headers={_IDENTITY: _OTHER}), "another id in the header", _ALWAYS),
    _request("health-wrong-environment", _HEALTH, Rename(body={"environmentId": _OTHER}), "another id inside", _ALWAYS),
    _request("health-wrong-project", _HEALTH, Rename(body={"projectId": "canonmail-x"}), "another project", _ALWAYS),
    _request("health-no-header", _HEALTH, Rename(headers={_IDENTITY: None}), "no identity header", _ALWAYS),
    _request("health-not-json", _HEALTH, Answer(200, "<html>ok</html>"), "a page instead of an identity", _ALWAYS),
    _request("health-degraded", _HEALTH, Rename(status=503), "unwell, but the right one: has to pass", _ALWAYS),
    # the stream as a whole
    _stream("401", _error(401), "the key is unknown to the stream"),
    _stream("403", _error(403), "the key is revoked for the stream"),
    _stream("503", _error(503), "the stream is unavailable"),
    _stream("silent", Mute(), "accepted, then not one byte"),
    _stream("end-at-once", EndStream(), "accepted and finished at once"),
    _stream("forget", Forget(), "the cursor is unknown: replay.expired"),
    _stream("forget-all", Forget(named=False), "the cursor is unknown and there is no newest id"),
    _stream("no-policy", Withhold(), "agent.context does not say what the agent may send out"),
    _event("stream-drop", DropStream("before"), "resets the socket before the event"),
    _event("stream-drop-mid-frame", DropStream("middle"), "resets the socket in the middle of the event"),
    _event("stream-drop-after", DropStream("after"), "resets the socket right after the event"),
    _event("stream-end", EndStream(), "finishes the response before the event"),
    # single events
    _event("event-duplicate", Reshape("duplicate"), "the same event twice, with the same id"),
    _event("event-duplicate-new-id", Reshape("duplicate-new-id"), "the same message twice, with two event ids"),
    _event("event-swap", Reshape("swap"), "written after the event that follows it"),
    _event("event-no-id", Reshape("no-id"), "without id"),
    _event("event-no-name", Reshape("no-name"), "without event name, then again as it should be"),
    _event("event-crlf-split", Reshape("crlf-split"), "CR LF line ends, every pair cut over two chunks"),
    _event("event-bytewise", Reshape("bytewise"), "one byte a chunk"),
    _event("event-multi-line", Reshape("multi-line"), "the payload over several data lines"),
    _event("event-not-json", Reshape("not-json"), "preceded by the same event with a broken payload"),
    _event("event-unknown-name", Reshape("unknown-name"), "preceded by an event nobody knows"),
    _event("event-no-verdict", Reshape("no-verdict"), "without turnDispatch, as an old server", burst=None),
    _event("event-record-only", Reshape("record-only"), "with the verdict record_only", burst=None),
    _event("event-other-verdict", Reshape("other-verdict"), "with a verdict from the future", burst=None),
    _event("event-run-turn", Reshape("run-turn"), "with the verdict run_turn, whatever the message says", burst=None),
)

KINDS: Final[Mapping[str, FaultKind]] = {row.name: row for row in _ROWS}
"""Every fault by name."""
