"""The steps of the demo as a table; later capabilities join it with a row and a function.

Each function does one thing to the stage, tells the narrator what it sees, and returns the sentence that sums it up.
What it starts it pushes on ``stage.undo``. It fails by raising one of our errors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from platform import python_version

from canon_ops.demo.approving import decide_as_the_person, let_the_agent_ask, list_and_audit
from canon_ops.demo.furniture import EDITED_PATH, EDITED_VALUE, furnish
from canon_ops.demo.listening import listen_for_answer
from canon_ops.demo.process import gateway_facts
from canon_ops.demo.stage import DemoFailed, Stage
from canon_ops.doctor.check import Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.registry import select
from canon_ops.doctor.run import diagnose
from canon_ops.hermes.audited import AUDITED_HOSTS, AuditedHost, Refused, way_to_hermes
from canon_ops.hermes.discovery import HostNotFound, find_host
from canon_ops.hermes.gateway import GatewayProcess, read_state
from canon_ops.operate.changes import undo_change
from canon_ops.operate.edit_config import edit_config
from canon_ops.operate.install import InstallOptions, install
from canon_ops.operate.install_plan import HostRefused
from canon_ops.operate.prompts import Unattended
from canon_ops.operate.setup_answers import SetupAnswers, Way
from canon_ops.operate.setup_canon import SetupPlace, setup_canon
from canon_ops.operate.writing import Writing

__all__ = ["STEPS", "DemoFailed", "Step", "way_to_a_host"]

_OWNER_PHONE = "+15550100"  # the owner who lives in the sandbox
_POLL_S = 0.2  # the sandbox's owner decides at once
_SPREAD_S = 3.0


@dataclass(frozen=True, slots=True)
class Step:
    """One row: a name for scripts, a title for people, and what is done."""

    name: str
    title: str
    run: Callable[[Stage], str]


def way_to_a_host(platform: str, python: str, rows: Iterable[AuditedHost] = AUDITED_HOSTS) -> str:
    """The commands that make a host on which the demo plays, or why there is none on this platform."""
    way = way_to_hermes(platform, python, "demo-venv", rows=rows)
    if way is None:
        return "No Hermes has been run with Canon on this platform (docs/hosts.md). Play the demo on Linux."
    return f"{way} && canon-ops demo --python demo-venv/bin/python"


def find_the_host(stage: Stage) -> str:
    try:
        stage.host = find_host(stage.outside, python=stage.options.python)
    except HostNotFound as exc:
        exc.fix = way_to_a_host(sys.platform, python_version())
        raise
    version, python = stage.host.version, stage.host.facts.python
    verdict = stage.host.audit()
    if isinstance(verdict, Refused):
        raise HostRefused(verdict.sentence, fix=way_to_a_host(stage.host.facts.platform, python))
    return f"Hermes {version} on Python {python}, {stage.host.python}"


def start_the_sandboxes(stage: Stage) -> str:
    from canon_ops.sandbox.model.server import ModelSandbox
    from canon_ops.sandbox.options import CanonOptions, ModelOptions
    from canon_ops.sandbox.server import CanonSandbox

    stage.canon = stage.undo.enter_context(CanonSandbox(CanonOptions(auto_approve=True)))
    stage.model = stage.undo.enter_context(ModelSandbox(ModelOptions(answers=(_paced(stage.options.answer),))))
    ends = stage.canon.endpoints
    return f"Canon at {ends.api} (stream {ends.stream}), a model at {stage.model.endpoints.base_url}"


def make_a_home(stage: Stage) -> str:
    furnish(stage.home.path, stage.model.endpoints, prompt=stage.options.prompt)
    return f"{stage.home.path}, with a commented config.yaml"


def install_the_plugin(stage: Stage) -> str:
    options = InstallOptions(python=stage.host.python)
    outcome = install(stage.home, stage.environ, options, Unattended(stage.narrator.tell))
    for change in outcome.plan.changes:
        stage.narrator.diff(change.diff(context=1))
    return " ".join(outcome.verified)


def register_an_agent(stage: Stage) -> str:
    """By the real dialogue, every question answered; the sandbox's owner says yes."""
    ends = stage.canon.endpoints
    answers = SetupAnswers(
        way=Way.REGISTER,
        environment=ends.environment_id,
        base_url=ends.api,
        stream_url=ends.stream,
        agent_name="Demo agent",
        description="Shows that everything works.",
        owner_phone=_OWNER_PHONE,
        canon_profile="demo",
    )
    place = SetupPlace(stage.home, stage.environ, poll_s=_POLL_S)
    result = setup_canon(place, answers, Unattended(stage.narrator.tell))
    if result.agent_id is None:
        raise DemoFailed("The registration ended without an agent.")
    stage.agent_id = result.agent_id
    room = next(row["conversation_id"] for row in stage.canon.human.agents() if row["agent_id"] == result.agent_id)
    stage.conversation_id = str(room)
    return f"{result.agent_name} ({result.agent_id}), request {result.request_id}, Canon profile {result.canon_profile}"


def ask_the_doctor(stage: Stage) -> str:
    """Every check of the registry; the gateway does not run yet, which is no fault."""
    diagnosis = diagnose(select(), Examination(stage.home, stage.environ, python=stage.host.python))
    for verdict in diagnosis.findings:
        stage.narrator.tell(f"{verdict.finding.status.value} {verdict.check.id}: {verdict.finding.message}")
    if diagnosis.findings:
        raise DemoFailed(f"doctor has {len(diagnosis.findings)} findings in a fresh home.")
    unknown = [one.check.id for one in diagnosis.verdicts if one.finding.status is Status.UNKNOWN]
    if unknown:
        raise DemoFailed(f"doctor could not answer {', '.join(unknown)}.")
    return f"{diagnosis.summary['ok']} checks are right, nothing is wrong"


def start_the_gateway(stage: Stage) -> str:
    stage.gateway = GatewayProcess.start(
        stage.home, python=stage.host.python, environ=stage.environ, log=stage.log, launch=stage.lifeline.launch
    )
    stage.undo.callback(_end_at_once, stage.gateway)  # should stopping itself be interrupted
    stage.undo.callback(stage.gateway.stop)
    state = stage.gateway.wait_ready(platform="canon")
    if not state.is_connected("canon"):
        raise DemoFailed("The gateway runs, but its state does not say that canon is connected.", file=str(stage.log))
    facts = stage.gateway_facts = gateway_facts(stage.home, stage.gateway.pid)
    executable, version = facts.executable or "executable unknown", facts.version or "unknown"
    return f"pid {facts.pid}, {executable}, hermes_cli.__version__ {version}; canon is connected"


def say_something(stage: Stage) -> str:
    stage.message_id = stage.canon.human.say(stage.conversation_id, stage.options.message)
    return f"the owner wrote: {stage.options.message}"


def watch_the_answer(stage: Stage) -> str:
    """Show the live bubble as it grows, then the one durable message that ends the turn."""
    heard = listen_for_answer(stage, stage.message_id)
    stage.answer, stage.previews = heard.text, heard.previews
    request = next((one for one in stage.model.requests if one.streamed), None)
    if request is None or stage.options.message not in request.user_text:
        raise DemoFailed("An answer came, but the model was never asked what the person said.", file=str(stage.log))
    stage.prompt_received = next(iter(request.system.strip().splitlines()), "")
    stage.narrator.tell(f"the model was told: {stage.prompt_received}")
    stage.narrator.tell(f"the model was asked: {stage.options.message}")
    heard.tell(stage)
    if stage.answer.split() != request.plan.text.split():
        raise DemoFailed(f"The agent's answer is not what the model said: {stage.answer}", file=str(stage.log))
    return f"one durable message after {stage.previews} live previews"


def edit_the_configuration(stage: Stage) -> str:
    stage.config_before = stage.home.config_file.read_bytes()
    done = edit_config(stage.home, EDITED_PATH, lambda document: document.set(EDITED_PATH, EDITED_VALUE), label="demo")
    stage.narrator.diff(done.diff)
    changed = [line for line in done.diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    if [line[0] for line in changed] != ["-", "+"] or done.history_id is None:
        raise DemoFailed(f"The edit changed {len(changed)} lines instead of one.", file=str(stage.home.config_file))
    stage.edit_id = done.history_id
    return f"{done.path}: {done.before} -> {done.after}; one line changed, its comment stayed"


def undo_the_edit(stage: Stage) -> str:
    """By the id of the edit; what comes back are the very bytes."""
    writing = Writing(stage.home, stage.environ, f"undo {stage.edit_id}")
    done = undo_change(writing, stage.edit_id, lambda _file, _text: None)  # the file's one key is the sandbox's
    stage.narrator.diff(done.written.diff)
    if stage.home.config_file.read_bytes() != stage.config_before:
        raise DemoFailed("The undo did not bring the old bytes back.", file=str(stage.home.config_file))
    return f"took back {done.change.id}; config.yaml is byte for byte what it was"


def stop_everything(stage: Stage) -> str:
    pid, code = stage.gateway.pid, stage.gateway.stop()
    stage.undo.close()
    state = read_state(stage.home)
    if stage.gateway.is_running or (state is not None and state.is_alive):
        raise DemoFailed(f"The gateway (pid {pid}) still runs.")
    told = "exit code 1, its usual answer to SIGTERM" if code == 1 else f"exit code {code}"
    return f"the gateway ended ({told}), the servers are closed"


def _end_at_once(gateway: GatewayProcess) -> None:
    if gateway.is_running:
        gateway.kill()


def _paced(answer: str) -> str:
    """Spread an answer over a few seconds, so that it can be watched; one with directives of its own is left alone."""
    from canon_ops.sandbox.model.script import parse_directives

    paced = f"[say {answer}] [slow {_SPREAD_S:g}]"
    said = [directive.rest for directive in parse_directives(paced) if directive.name == "say"]
    return paced if said == [answer] and not parse_directives(answer) else answer


STEPS: tuple[Step, ...] = (
    Step("host", "Find the Hermes host", find_the_host),
    Step("sandboxes", "Start Canon and a model on loopback", start_the_sandboxes),
    Step("home", "Make a temporary Hermes home", make_a_home),
    Step("install", "Install the plugin", install_the_plugin),
    Step("setup", "Register an agent, approved by its owner", register_an_agent),
    Step("doctor", "Ask the doctor", ask_the_doctor),
    Step("gateway", "Start the real gateway", start_the_gateway),
    Step("message", "Say something as a person", say_something),
    Step("answer", "Watch the answer grow", watch_the_answer),
    Step("ask", "Let the agent ask for an approval", let_the_agent_ask),
    Step("decide", "Answer as the person, after the agent's turn has ended", decide_as_the_person),
    Step("approvals", "List the approval and audit its history", list_and_audit),
    Step("edit", "Edit the configuration", edit_the_configuration),
    Step("undo", "Take the edit back", undo_the_edit),
    Step("stop", "Stop everything", stop_everything),
)
