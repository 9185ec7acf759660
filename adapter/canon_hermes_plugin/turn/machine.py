"""One turn: events in, a new turn and the effects to carry out.

The idea. The host streams drafts, calls tools, changes its mind, and says at the end how the run went. Canon must see
one living bubble meanwhile and exactly one notifying message at the end. So nothing that the host sends during a run is
posted: it is *staged* as the candidate for the final message and shown on the node. A tool call means that what was
said so far was narration; it is sealed into the trail and the candidate starts anew. When the run ends well, the
candidate becomes the final message.

The phases::

    OPEN --Ended--> FLUSHING --node up to date--> DELIVERING --FinalSettled--> LINGERING --0.75 s--> CLOSED
      |                |                              |
      |                +--nothing to deliver--------- | ----------------------------------------------^
      |                                               +--FinalRejected--------------------------------^
      +--Ended(failure, cancelled), not silenced------------------------------------------------------^

What each event does in each phase; a dash ignores the event and returns the same turn:

====================  ==========================  ===============  ==================  =============  ==============
event                 OPEN                        FLUSHING         DELIVERING          LINGERING      CLOSED
====================  ==========================  ===============  ==================  =============  ==============
Staged                stage, show (no run behind  -                -                   -              -
                      it: a final ends it)
FileStaged            stage (no run behind it:    -                -                   -              -
                      that ends it)
ToolStarted           seal, drop candidate, show  -                -                   -              -
ToolFinished,         record, show                -                -                   -              -
SubagentStopped
ModelCalled/Failed    remember                    -                -                   -              -
InputAsked/Closed     publish state               -                -                   -              -
QueueChanged          publish the state again     -                -                   -              -
InterruptAsked        remember                    -                -                   -              -
Silenced              drop what waits; words that -                -                   -              -
                      nobody has read forbid it
SteeringAccepted      lift silence, remember      -                -                   -              -
PreviewEnded          state, next write           next, or go on   -                   -              clear again
Due                   write if its time has come; -               let go what the     close in time  -
                      give a forgotten draft up                    host has forgotten
Ended                 to FLUSHING or CLOSED       -                -                   -              -
FinalSettled          -                           -                to LINGERING        -              -
FinalDeferred         -                           -                warn                -              -
FinalRejected         -                           -                warn, to CLOSED     -              -
====================  ==========================  ===============  ==================  =============  ==============

Invariants, each the end of a bug that the reference has:

* DeliverFinal is emitted at most once in the life of a turn, and never after a silence that was not lifted.
* Files wait for the end like the text does, and go before it in one operation; without a text the last of them is the
  final message. After a silence, a failure or a stop none of them goes.
* Speech that arrives after the tool that followed it is still narration: the host marks the first segment after its
  tools, and that segment begins the candidate anew.
* The last text is written to the node before DeliverFinal; the node is deleted only after Canon has the final message,
  because a delete without one makes the server keep the narration as a message of its own.
* A closing state is published at most once, by the end of the run and by nothing else: a refused approval or a question
  that timed out leaves the turn open (D2).
* A run whose last call of the model failed has failed, also where the host says that it went well: what it delivered is
  its own sentence about the failure, and that sentence is the final message (D15).
* A closed turn stays closed. All that can still happen is the end of a preview write, which clears the node again.

The shell calls :func:`open_turn` once, then :func:`on_event` for everything that happens, one call after the other, and
carries the effects out in order. Several turns and their shared node are the business of registry.py.

Source: canon-adapter section 6, R8.6-R8.8; defects D2, D15, D38, D43, D57, D63, D65; Canon wire 8.7.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from canon_hermes_plugin.streaming import preview as previews
from canon_hermes_plugin.streaming.preview import Frame, PreviewStep
from canon_hermes_plugin.turn.effects import (
    ClearNode,
    DeliverFinal,
    Effect,
    Evidence,
    PublishState,
    RetireNode,
    TurnClosed,
    WakeAt,
    Warn,
    WritePreview,
)
from canon_hermes_plugin.turn.effects import Final as FinalMessage
from canon_hermes_plugin.turn.events import (
    Due,
    Ended,
    FileStaged,
    FinalDeferred,
    FinalRejected,
    FinalSettled,
    InputAsked,
    InputClosed,
    InterruptAsked,
    Kind,
    ModelCalled,
    ModelFailed,
    Opening,
    Outcome,
    PreviewEnded,
    QueueChanged,
    RunCut,
    Silenced,
    Staged,
    SteeringAccepted,
    SubagentStopped,
    ToolFinished,
    ToolStarted,
    TurnEvent,
)
from canon_hermes_plugin.turn.state import Candidate, Phase, Step, Turn
from canon_ops.wire.activity import Activity, BlockKind
from canon_ops.wire.requests import TurnPhase
from canon_ops.wire.trail import BlockObject, final_trail, live_blocks

__all__ = ["ANSWER_MARK", "Candidate", "Phase", "Step", "Turn", "on_event", "open_turn"]

ANSWER_MARK: Final = "♻️ Recovered after a restart; something of this may have been said or done before.\n\n"
FORGOTTEN_MS: Final = 300_000  # ours: a draft outside of any run that nobody touches for so long has no end (D53)
LINGER_MS: Final = 750  # the server looks for the final message before it salvages a deleted node, Canon wire 4.8


def open_turn(opening: Opening, *, now_ms: int) -> Step:
    """Begin a turn.

    Returns:
        For a lifecycle turn the state ``thinking``, and for a quiet one the write that empties a node which a dead turn
        may have left (a verbose one overwrites it with its first text). Other kinds say nothing yet.
    """
    turn = Turn(opening, now_ms, Activity(opening.turn_id))
    if not turn.is_lifecycle:
        return Step(turn)
    sources = ((opening.source_message_id,) if opening.source_message_id else ()) + opening.merged_ids
    turn, published = _publish(turn, TurnPhase.THINKING, active_message_ids=sources)
    retired = (RetireNode(turn.id, turn.conversation_id),) if opening.quiet else ()
    return Step(turn, (*published, *retired))


def on_event(turn: Turn, event: TurnEvent, *, now_ms: int) -> Step:
    """Apply one event.

    Args:
        now_ms: milliseconds since the epoch; a clock that is set back delays nothing for long.

    Returns:
        The same turn and no effects when the event has no meaning in its phase: the host, a timer and the network may
        all be late.
    """
    match turn.phase:
        case Phase.OPEN:
            return _while_open(turn, event, now_ms=now_ms)
        case Phase.FLUSHING:
            if isinstance(event, PreviewEnded) and turn.preview.in_flight:
                ended = replace(turn, preview=previews.finished(turn.preview, delivered=event.delivered))
                return _flush(ended, now_ms=now_ms)
        case Phase.DELIVERING:
            return _while_delivering(turn, event, now_ms=now_ms)
        case Phase.LINGERING:
            if isinstance(event, Due):
                return _linger(turn, now_ms=now_ms)
        case Phase.CLOSED:
            if isinstance(event, PreviewEnded) and turn.preview.in_flight:
                ended = replace(turn, preview=previews.finished(turn.preview, delivered=event.delivered))
                return Step(ended, (*_emptied(turn), ClearNode(turn.id, turn.conversation_id)))
    return Step(turn)


def _while_open(turn: Turn, event: TurnEvent, *, now_ms: int) -> Step:
    match event:
        case Staged():
            return _stage(turn, event, now_ms=now_ms)
        case FileStaged():
            staged = replace(turn, files=(*turn.files, event))
            return Step(staged) if turn.is_lifecycle else _end(staged, Ended(Outcome.SUCCESS), now_ms=now_ms)
        case ToolStarted():
            return _tool_started(turn, event, now_ms=now_ms)
        case ToolFinished():
            activity = turn.activity.tool_finished(
                event.name,
                call_id=event.call_id,
                args=event.args,
                result=event.result,
                status=event.status,
                duration_ms=event.duration_ms,
            )
            return _show_activity(replace(turn, activity=activity), now_ms=now_ms)
        case ModelCalled(has_read=has_read):
            unread = tuple(number for number in turn.unread if number > has_read)
            return Step(replace(turn, ran=True, model_failed=False, unread=unread))
        case ModelFailed(delegated=False):
            return Step(replace(turn, model_failed=True))
        case SubagentStopped():
            activity = turn.activity.subagent_stopped(
                child_session_id=event.child_session_id,
                role=event.role,
                summary=event.summary,
                status=event.status,
                duration_ms=event.duration_ms,
            )
            return _show_activity(replace(turn, activity=activity), now_ms=now_ms)
        case PreviewEnded() if turn.preview.in_flight:
            ended = replace(turn, preview=previews.finished(turn.preview, delivered=event.delivered))
            told, published = _beat(ended, ended.doing)
            turn, written = _carry(told, previews.due(told.preview, now_ms=now_ms))
            return Step(turn, (*published, *written))
        case Due():
            return _due(turn, now_ms=now_ms)
        case QueueChanged() if turn.state is not None:
            return Step(*_publish(turn, turn.state))
        case InputAsked():
            return Step(*_publish(replace(turn, waiting=turn.waiting + 1), TurnPhase.WAITING_INPUT))
        case InputClosed():
            return Step(*_beat(replace(turn, waiting=max(0, turn.waiting - 1)), TurnPhase.TOOL))
        case InterruptAsked():
            return Step(replace(turn, interrupted=True))
        case RunCut():
            return Step(replace(turn, cut=True))
        case Silenced() if not turn.unread:
            return Step(replace(turn, silenced=True, preview=previews.drop(turn.preview)))
        case SteeringAccepted(number=number, authority=authority, is_recovered=is_recovered):
            unread = turn.unread if number is None else (*turn.unread, number)
            kept = turn.steered_authority or authority
            repeats = turn.repeats or is_recovered
            return Step(replace(turn, silenced=False, unread=unread, steered_authority=kept, repeats=repeats))
        case Ended():
            return _end(turn, event, now_ms=now_ms)
    return Step(turn)


def _while_delivering(turn: Turn, event: TurnEvent, *, now_ms: int) -> Step:
    match event:
        case FinalSettled():
            if not turn.may_hold_node:
                return _close(turn, Evidence.FINAL, clear=False)
            lingering = replace(turn, phase=Phase.LINGERING, linger_ms=now_ms + LINGER_MS)
            return Step(lingering, (WakeAt(turn.id, lingering.linger_ms),))
        case FinalDeferred():
            warned = Warn(turn.id, "final_deferred", f"The answer is not on Canon yet: {event.reason}")
            if turn.opening.kind is not Kind.LOOSE:
                return Step(turn, (warned,))
            held = replace(turn, linger_ms=now_ms + FORGOTTEN_MS)  # the host repeats it, or says something else instead
            return Step(held, (warned, WakeAt(turn.id, held.linger_ms)))
        case Due() if turn.linger_ms and now_ms >= turn.linger_ms:
            failed = replace(turn, ended=replace(_ending(turn), outcome=Outcome.FAILURE))
            return _close(failed, Evidence.NONE, clear=turn.may_hold_node)
        case FinalRejected():
            failed = replace(turn, ended=replace(_ending(turn), outcome=Outcome.FAILURE))
            closed = _close(failed, Evidence.NONE, clear=turn.may_hold_node)
            sentence = f"Canon refused the answer for good: {event.reason}"
            return Step(closed.turn, (Warn(turn.id, "final_rejected", sentence), *closed.effects))
    return Step(turn)


def _due(turn: Turn, *, now_ms: int) -> Step:
    """Write what has waited long enough; a draft without a run that was forgotten ends here."""
    turn, written = _carry(replace(turn, wake_ms=None), previews.due(turn.preview, now_ms=now_ms))
    if turn.is_lifecycle or now_ms < turn.watch_ms:
        return Step(turn, written)
    if now_ms - turn.touched_ms >= FORGOTTEN_MS:
        return _end(turn, Ended(Outcome.CANCELLED), now_ms=now_ms)
    watched = replace(turn, watch_ms=turn.touched_ms + FORGOTTEN_MS)
    return Step(watched, (*written, WakeAt(turn.id, watched.watch_ms)))


def _linger(turn: Turn, *, now_ms: int) -> Step:
    remaining_ms = turn.linger_ms - now_ms
    if 0 < remaining_ms <= LINGER_MS:  # more than that: the clock was set back, and the moment has passed
        return Step(turn, (WakeAt(turn.id, turn.linger_ms),))
    return _close(turn, Evidence.FINAL, clear=True)


# --- staging ---


def _stage(turn: Turn, event: Staged, *, now_ms: int) -> Step:
    segment = event.stream_message_id
    candidate = turn.candidate or Candidate()
    is_new = segment is not None and not candidate.has_part(segment) and not turn.activity.has_segment(segment)
    if event.after_tools and is_new and turn.rounds_awaited:
        candidate = Candidate()  # what is in it was said before the tools, and only came late
        turn = replace(turn, rounds_awaited=turn.rounds_awaited - 1)
    is_sealed = segment is not None and turn.activity.has_segment(segment) and not candidate.has_part(segment)
    activity = turn.activity.speech(event.text, stream_message_id=segment, finalized=event.finalized)
    turn = replace(turn, activity=activity)
    if is_sealed:
        return Step(turn)  # a late edit of what a tool has sealed: the block is corrected, the answer is not touched
    turn = replace(turn, candidate=candidate.with_segment(event, turn.id))
    if event.finalized and not turn.is_lifecycle:
        return _end(turn, Ended(Outcome.SUCCESS), now_ms=now_ms)
    shown = _show(turn, Frame(_text_of(turn), _shown_blocks(turn)), TurnPhase.STREAMING, now_ms=now_ms)
    if turn.is_lifecycle:
        return shown
    touched = replace(shown.turn, touched_ms=now_ms)
    if touched.watch_ms:
        return Step(touched, shown.effects)
    watched = replace(touched, watch_ms=now_ms + FORGOTTEN_MS)
    return Step(watched, (*shown.effects, WakeAt(turn.id, watched.watch_ms)))


def _tool_started(turn: Turn, event: ToolStarted, *, now_ms: int) -> Step:
    activity = turn.activity if event.delegated else turn.activity.seal_speech()
    activity = activity.tool_started(event.name, call_id=event.call_id, args=event.args)
    turn = replace(turn, activity=activity, ran=True)
    if not event.delegated:
        is_same_round = turn.rounds_awaited > 0 and event.request == turn.last_request
        rounds = turn.rounds_awaited if is_same_round else turn.rounds_awaited + 1
        turn = replace(turn, candidate=None, rounds_awaited=rounds, last_request=event.request)
    return _show_activity(turn, now_ms=now_ms)


# --- showing ---


def _show(turn: Turn, frame: Frame, state: TurnPhase, *, now_ms: int) -> Step:
    """Bring the frame to the node and the state to Canon, the state after the write that shows it."""
    turn = replace(turn, doing=state)
    if not turn.is_narrated:
        return Step(*_beat(turn, state))
    step = previews.offer(turn.preview, frame, now_ms=now_ms)
    turn, written = _carry(turn, step)
    if not step.preview.is_idle:
        return Step(turn, written)
    told, published = _beat(turn, state)  # nothing has changed on the node, but the agent is alive
    return Step(told, (*written, *published))


def _show_activity(turn: Turn, *, now_ms: int) -> Step:
    if not turn.is_narrated:
        return Step(turn)
    return _show(turn, Frame(None, _shown_blocks(turn)), TurnPhase.TOOL, now_ms=now_ms)


def _shown_blocks(turn: Turn) -> tuple[BlockObject, ...]:
    """The live blocks, or none while there is only speech, which the text field already says."""
    if all(block.kind is BlockKind.TEXT for block in turn.activity.blocks):
        return ()
    return live_blocks(turn.activity)


def _text_of(turn: Turn) -> str:
    return turn.candidate.text if turn.candidate else ""


def _carry(turn: Turn, step: PreviewStep) -> tuple[Turn, tuple[Effect, ...]]:
    """Turn a preview step into effects; the same timer is not asked for twice."""
    turn = replace(turn, preview=step.preview)
    if step.write is not None:
        return turn, (WritePreview(turn.id, turn.conversation_id, step.write.text, step.write.blocks),)
    if step.wake_ms is not None and step.wake_ms != turn.wake_ms:
        return replace(turn, wake_ms=step.wake_ms), (WakeAt(turn.id, step.wake_ms),)
    return turn, ()


def _beat(turn: Turn, state: TurnPhase) -> tuple[Turn, tuple[Effect, ...]]:
    """Publish an open state, unless a human is being waited for: that is what people should see then."""
    return (turn, ()) if turn.waiting or turn.opening.kind is Kind.OWN else _publish(turn, state)


def _publish(
    turn: Turn, state: TurnPhase, *, active_message_ids: tuple[str, ...] = ()
) -> tuple[Turn, tuple[Effect, ...]]:
    effect = PublishState(turn.id, turn.conversation_id, state, turn.opened_ms, active_message_ids)
    return replace(turn, state=state), (effect,)


# --- ending ---


def _end(turn: Turn, event: Ended, *, now_ms: int) -> Step:
    """The run is over: deliver the answer, or take it back."""
    outcome = event.outcome
    if turn.interrupted and (event.handed_over or not _has_answer(turn)):
        outcome = Outcome.CANCELLED  # a run that was stopped may end well in the host's eyes, only with nothing to say
    turn = replace(turn, ended=replace(event, outcome=outcome), activity=turn.activity.finished())
    if event.put_off and turn.has_no_trace:
        closed = replace(turn, phase=Phase.CLOSED, preview=previews.drop(turn.preview))
        put_off = TurnClosed(turn.id, turn.conversation_id, outcome, Evidence.NONE, goes_on=True)
        return Step(closed, (put_off,))
    if event.cut_off:
        cut = replace(turn, ended=replace(event, outcome=Outcome.CANCELLED))
        step = _close(cut, Evidence.NONE, clear=turn.may_hold_node)
        return Step(step.turn, (*_emptied(step.turn), *step.effects))
    if outcome is Outcome.SUCCESS or turn.silenced:
        return _flush(replace(turn, phase=Phase.FLUSHING), now_ms=now_ms)
    return _close(turn, Evidence.NONE, clear=turn.may_hold_node)


def _flush(turn: Turn, *, now_ms: int) -> Step:
    """Bring the node up to date, wait for a write in flight, then settle what the run has left."""
    candidate = turn.candidate
    delivers = _has_answer(turn) and not turn.silenced
    if not delivers or not turn.is_lifecycle:
        turn = replace(turn, preview=previews.drop(turn.preview))
    step = previews.drain(turn.preview, now_ms=now_ms)
    turn, written = _carry(turn, step)
    if not turn.preview.is_idle:
        return Step(turn, written)
    if turn.silenced:
        closed = _close(turn, Evidence.SILENCE, clear=True)
        return Step(closed.turn, (RetireNode(turn.id, turn.conversation_id), *closed.effects))
    if delivers:
        unfinished = () if candidate is None or candidate.is_deliverable else _unfinished(turn)
        final = _final(turn, candidate if candidate is not None and candidate.is_deliverable else Candidate())
        return Step(replace(turn, phase=Phase.DELIVERING), (*unfinished, DeliverFinal(final)))
    closed = _close(turn, Evidence.NONE, clear=turn.may_hold_node)
    return Step(closed.turn, (*_unfinished(turn), *closed.effects))


def _has_answer(turn: Turn) -> bool:
    return bool(turn.files) or (turn.candidate is not None and turn.candidate.is_deliverable)


def _final(turn: Turn, candidate: Candidate) -> FinalMessage:
    has_trail = turn.is_lifecycle and not turn.opening.quiet
    text, files = candidate.text, turn.files
    repeats = turn.opening.is_recovered or turn.repeats
    if repeats and text:
        text = ANSWER_MARK + text
    elif repeats:
        last = replace(files[-1].file, caption=(ANSWER_MARK + files[-1].file.caption).strip())
        files = (*files[:-1], replace(files[-1], file=last))
    return FinalMessage(
        turn_id=turn.id,
        conversation_id=turn.conversation_id,
        text=text,
        reply_to=candidate.reply_to or _reply_to(turn),
        metadata=candidate.metadata,
        options=candidate.options,
        authority=turn.opening.authority or turn.steered_authority,
        trail=final_trail(turn.activity) if has_trail else (),
        semantics=turn.opening.semantics,
        names_turn=turn.opening.kind is not Kind.OWN,
        files=files,
    )


def _reply_to(turn: Turn) -> str | None:
    """What files without a text answer: what the host says, else the message that opened the turn."""
    named = next((staged.reply_to for staged in turn.files if staged.reply_to), None)
    return named or (turn.opening.source_message_id if turn.files else None)


def _unfinished(turn: Turn) -> tuple[Effect, ...]:
    """A run that ended well with text that the host never finished deserves a word: that text is not delivered."""
    if not _text_of(turn).strip():
        return ()
    return (Warn(turn.id, "answer_not_finalised", "The run ended well, but its last text was never finished."),)


def _close(turn: Turn, evidence: Evidence, *, clear: bool) -> Step:
    ended = _ending(turn)
    if evidence is Evidence.NONE and turn.ran and ended.outcome is Outcome.SUCCESS:
        evidence = Evidence.RAN
    cleared: tuple[Effect, ...] = (ClearNode(turn.id, turn.conversation_id),) if clear else ()
    published: tuple[Effect, ...] = ()
    if turn.state is not None and turn.state.is_open:
        turn, published = _publish(turn, _closing_state(Outcome.FAILURE if turn.model_failed else ended.outcome))
    turn = replace(turn, phase=Phase.CLOSED, candidate=None, files=(), preview=previews.drop(turn.preview))
    closed = TurnClosed(turn.id, turn.conversation_id, ended.outcome, evidence, ran=turn.ran)
    return Step(turn, (*cleared, *published, closed))


def _emptied(turn: Turn) -> tuple[Effect, ...]:
    """A run that was cut off leaves no text on its node, of which Canon would make a message: it is said again."""
    is_said_again = _ending(turn).cut_off and turn.may_hold_node
    return (RetireNode(turn.id, turn.conversation_id),) if is_said_again else ()


def _closing_state(outcome: Outcome) -> TurnPhase:
    """A failed run is not ``completed`` (D15); the wire's only other closing word is ``interrupted``."""
    return TurnPhase.COMPLETED if outcome is Outcome.SUCCESS else TurnPhase.INTERRUPTED


def _ending(turn: Turn) -> Ended:
    return turn.ended or Ended(Outcome.CANCELLED)
