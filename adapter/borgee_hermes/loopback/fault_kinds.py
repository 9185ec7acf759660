"""Every fault of the Borgee server by name: where it strikes, what it does, how it is armed by itself. Pure data.

Four places: an ``upgrade``; a ``frame`` of the client; a semantic ``action``; a frame that the server is about to
``send``. ``event`` of a fault is the type of a frame, or the name of an action. Source: Borgee 1.16, 9.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from borgee_hermes.loopback.fault_actions import (
    Break,
    Close,
    Halt,
    Late,
    Lose,
    Refuse,
    Reply,
    Reshape,
    Stall,
    Unanswered,
)
from canon_ops.sandbox.fault_actions import AnyAction, FaultKind, Schedule

__all__ = ["KINDS"]

_ALWAYS: Final = Schedule(burst=None, times=None)


def _upgrade(name: str, action: AnyAction, says: str) -> FaultKind:
    return FaultKind(name=f"upgrade-{name}", point="upgrade", action=action, says=says)


def _frame(name: str, action: AnyAction, says: str, *, event: str = "*") -> FaultKind:
    return FaultKind(name=name, point="frame", action=action, says=says, event=event)


def _action(name: str, action: AnyAction, says: str, *, event: str = "[!g]*") -> FaultKind:
    """By itself any action but ``get_me``, so that the opening is not hit by accident."""
    return FaultKind(name=name, point="action", action=action, says=says, event=event)


def _result(name: str, action: AnyAction, says: str) -> FaultKind:
    return FaultKind(name=f"result-{name}", point="send", action=action, says=says, event="semantic_action_result")


def _push(name: str, action: AnyAction, says: str) -> FaultKind:
    return FaultKind(name=f"push-{name}", point="send", action=action, says=says, event="inbound_message")


_ROWS: Final[tuple[FaultKind, ...]] = (
    # upgrades
    _upgrade("401", Refuse(401, body="Unauthorized"), "the key is refused"),
    _upgrade("403", Refuse(403, body="Forbidden"), "the key is refused"),
    _upgrade("404", Refuse(404), "there is nothing"),
    _upgrade("500", Refuse(500), "an error"),
    _upgrade("502", Refuse(502, body="<html>bad gateway</html>"), "a proxy whose server is away"),
    _upgrade("503", Refuse(503), "a server that is starting"),
    _upgrade("200", Refuse(200, body="<html>hello</html>"), "something that is no Borgee server"),
    _upgrade("redirect", Refuse(302, {"Location": "http://127.0.0.1:9/ws/plugin"}), "points elsewhere"),
    _upgrade("reset", Break("reset"), "resets the connection"),
    _upgrade("end", Break("end"), "ends the connection without an answer"),
    _upgrade("silent", Unanswered(), "takes the connection and says nothing"),
    _upgrade("late", Late(1.0), "answers late"),
    _upgrade("4004", Close(4004), "accepts, then closes because of the key"),
    # frames of the client; skip= says after how many
    _frame("frame-close", Close(1012), "closes; code= says how"),
    _frame("frame-reset", Break("reset"), "resets the connection"),
    _frame("frame-end", Break("end"), "ends the connection without a close frame"),
    _frame("frame-freeze", Halt(), "half-open from here on"),
    _frame("frame-stall", Stall(2.0), "reads nothing for a while"),
    _frame("connect-close", Close(1011), "closes instead of taking the opening", event="connect"),
    _frame("connect-4004", Close(4004), "closes the opening because of the key", event="connect"),
    _frame("heartbeat-freeze", Halt(), "half-open from the next heartbeat on", event="heartbeat"),
    # actions
    _action("action-close", Close(1012), "closes before the action took effect"),
    _action("action-close-after", Close(1012, commit=True), "closes after it took effect, unanswered"),
    _action("action-reset", Break("reset"), "resets before the action took effect"),
    _action("action-reset-after", Break("reset", commit=True), "resets after it took effect, unanswered"),
    _action("action-end-after", Break("end", commit=True), "ends after it took effect, unanswered"),
    _action("action-freeze", Halt(), "half-open before the action took effect"),
    _action("action-freeze-after", Halt(commit=True), "half-open after it took effect, unanswered"),
    _action("action-error", Reply(error="bpp.scripted"), "answers with an error"),
    _action("action-denied", Reply(capability="scripted.capability"), "answers that the agent may not"),
    _action("action-late", Late(1.0), "carries it out, answers late"),
    _action("action-lost", Lose(), "carries it out, never answers"),
    _action("action-ignored", Lose(commit=False), "neither carries it out nor answers"),
    # the opening
    _action("identity-late", Late(1.0), "tells the identity late", event="get_me"),
    _action("identity-lost", Lose(), "never tells the identity", event="get_me"),
    _action("identity-close", Close(1011), "closes instead of telling the identity", event="get_me"),
    _action("identity-4004", Close(4004), "closes because of the key", event="get_me"),
    _action("identity-error", Reply(error="bpp.scripted"), "does not tell the identity", event="get_me"),
    _action("identity-denied", Reply(capability="user.read"), "the agent may not know itself", event="get_me"),
    # results
    _result("twice", Reshape("twice"), "is sent twice"),
    _result("not-json", Reshape("not-json"), "is not JSON"),
    _result("bad-payload", Reshape("members", {"payload": "{"}), "holds a payload that is not JSON"),
    _result("bad-status", Reshape("members", {"status": "perhaps"}), "is neither ok nor error"),
    _result("no-code", Reshape("members", {"status": "error", "error": ""}), "is an error without a code"),
    _result("no-nonce", Reshape("members", {"nonce": None}), "does not say what it belongs to"),
    _result("unknown-nonce", Reshape("members", {"nonce": "of-nobody"}), "belongs to nothing"),
    _result("parent-missing", Reshape("payload", {"parent_id": None}), "leaves the placement out"),
    _result("next-after-missing", Reshape("payload", {"next_after": None}), "leaves the end of the page out"),
    _result("role-admin", Reshape("payload", {"role": "admin"}), "is somebody else's identity"),
    _result("id-empty", Reshape("payload", {"id": ""}), "is an identity without an id"),
    # inbound messages
    _push("twice", Reshape("twice"), "is sent twice"),
    _push("lost", Lose(), "is never sent"),
    _push("late", Late(1.0), "is sent late, and everything after it"),
    _push("cursor", Reshape("members", {"cursor": 7}), "carries a cursor of the generation before"),
    _push("unknown-kind", Reshape("members", {"kind": "poked"}), "has a kind that nobody knows"),
    _push("unknown-type", Reshape("members", {"type": "inbound_poke"}), "has a type that nobody knows"),
    _push("no-body", Reshape("members", {"body": None}), "lacks a member"),
    _push("bad-time", Reshape("members", {"created_at": True}), "has a member of the wrong type"),
    _push("not-json", Reshape("not-json"), "is not JSON"),
    _push("not-utf8", Reshape("not-utf8"), "is not UTF-8"),
    _push("no-type", Reshape("members", {"type": None}), "has no type"),
    _push("list", Reshape("list"), "is JSON, but no object"),
    _push("binary", Reshape("binary"), "comes as a binary message"),
    _push("fragments", Reshape("fragments"), "comes in fragments"),
    _push("bytewise", Reshape("bytewise"), "comes byte by byte"),
    _push("too-big", Reshape("too-big"), "is over every bound"),
    _push("bad-opcode", Reshape("bad-opcode"), "comes in a frame that no websocket knows"),
    _push("close", Close(1012), "is replaced by a close"),
    _push("close-after", Close(1012, after=True), "is followed by a close"),
    _push("close-talking", Close(1012, how="talking", after=True), "comes after the close frame"),
    _push("close-hanging", Close(1012, how="hanging", after=True), "is followed by a close frame and no end"),
    _push("reset", Break("reset"), "is replaced by a reset"),
    _push("reset-middle", Break("reset", middle=True), "is cut in two by a reset"),
    _push("end", Break("end"), "is replaced by an end without a close frame"),
    _push("end-middle", Break("end", middle=True), "is cut in two by an end"),
    _push("freeze", Halt(), "is the first thing that a half-open connection swallows"),
)

KINDS: Final[Mapping[str, FaultKind]] = {row.name: row for row in _ROWS}
