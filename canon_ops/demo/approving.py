"""The demo's steps about an approval: the agent asks and its turn ends, the person decides, the agent hears of it.

What each step says is read where an operator or an agent would read it: Canon's open question, the registry on the
disk and its trail, and what the model was told.
"""

from __future__ import annotations

import json
from typing import Final

from canon_hermes_plugin.approvals.entry import Entry
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_ops.demo.listening import listen, listen_for_answer
from canon_ops.demo.narration import ApprovalFacts
from canon_ops.demo.stage import DemoFailed, Stage
from canon_ops.hermes.surroundings import canon_paths_from_disk

__all__ = ["decide_as_the_person", "let_the_agent_ask", "list_and_audit"]

WISH: Final = "There is something to decide. Ask me for my approval, and go on when you have it."
ASKED: Final = "I have asked you. My turn ends here; I go on when your answer comes, be it in three days."
REPLIES: Final = {"allow": "You said yes, so I do it now.", "deny": "You said no, so I leave it."}


def let_the_agent_ask(stage: Stage) -> str:
    """The model calls Canon's tool; its turn ends with a message of its own while the question stays open."""
    arguments = {"action": "request_approval", "question": stage.options.question}
    call = f"[tool canon_runtime_control {json.dumps(arguments)}]"
    stage.model.answers(f"{call}[say {ASKED}]", instead=True)
    stage.narrator.tell(f"the owner wrote: {WISH}")
    heard = listen_for_answer(stage, stage.canon.human.say(stage.conversation_id, WISH))
    heard.tell(stage)
    asked = [one for one in stage.canon.engine.world.interactions.values() if one.kind == "approval"]
    if [one.state for one in asked] != ["pending"]:
        raise DemoFailed(f"Canon has {len(asked)} approvals instead of one open one.", file=str(stage.log))
    stage.approval_id = asked[0].request_id
    entry = _entry_of(stage)
    if entry.summary.split() != stage.options.question.split() or entry.decision is not None:
        raise DemoFailed(f"The registry has the approval as {entry.summary!r}, {entry.status}.", file=str(stage.log))
    return f"{entry.approval_id} is {entry.status}, and the agent's turn has ended: {entry.summary}"


def decide_as_the_person(stage: Stage) -> str:
    """The gateway hears it on the stream, asks Canon for the decision, and starts a turn that tells the agent."""
    decision = stage.options.decision
    stage.model.answers(REPLIES[decision], instead=True)
    before = stage.canon.human.transcript(stage.conversation_id)[-1]["position"]
    stage.narrator.tell(f"the owner answers: {decision}")
    stage.canon.human.answer(stage.approval_id, kind="approval", decision=decision)

    from canon_ops.sandbox.conditions import condition_for

    settings = {"conversation_id": stage.conversation_id, "after": before}
    answered, _ = condition_for(stage.canon.engine, "turn_complete", settings)
    heard = listen(stage, answered)
    told = next((one.user_text for one in stage.model.requests if f"{stage.approval_id} resolved" in one.user_text), "")
    stage.narrator.tell(f"the model was told: {told}")
    heard.tell(stage)
    entry = _entry_of(stage)
    if entry.decision != decision or f"resolved: {decision}" not in told:
        raise DemoFailed(f"The person said {decision}; the registry has {entry.decision}.", file=str(stage.log))
    stage.approval = ApprovalFacts(stage.approval_id, entry.summary, decision, told)
    return f"{decision}, by {entry.responded_by}; a turn of its own told the agent"


def list_and_audit(stage: Stage) -> str:
    """What ``approvals list`` and ``approvals audit`` read: the registry, and the trail that it is bound to."""
    book, lines, troubles = _registry_of(stage).audit()
    for entry in book:
        told = f"{entry.status}: {entry.decision}, told the agent: {entry.wake_status}"
        stage.narrator.tell(f"{entry.approval_id}  {told}  {entry.summary}")
    for line in lines:
        stage.narrator.tell(f"{line.before or 'nothing'} -> {line.after or 'nothing'}: {line.why}")
    for trouble in troubles:
        stage.narrator.tell(f"wrong: {trouble.what}")
    if troubles or not lines or [entry.approval_id for entry in book] != [stage.approval_id]:
        raise DemoFailed("The registry does not hold this one approval with its whole history.", file=str(stage.log))
    return f"one approval, {len(lines)} steps; the trail is whole"


def _registry_of(stage: Stage) -> ApprovalStore:
    file = canon_paths_from_disk(stage.home.path, stage.environ).detached_approvals_file
    return ApprovalStore(file, process="canon-ops demo")


def _entry_of(stage: Stage) -> Entry:
    entry = _registry_of(stage).read().get(stage.approval_id)
    if entry is None:
        raise DemoFailed(f"The registry does not know {stage.approval_id}.", file=str(stage.log))
    return entry
