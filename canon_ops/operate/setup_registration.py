"""The first way of ``setup canon``: register an agent, reconnect one, or go on with a request that is under way.

This part asks and tells; the order of calls and writes is :mod:`canon_ops.operate.registration_steps`' business.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace

from canon_ops.client.registration import RegistrationApi
from canon_ops.files.writable import require_writable
from canon_ops.operate.home_identity import profile_lines
from canon_ops.operate.prompts import Question
from canon_ops.operate.register import RegistrationRun, mint_local_id
from canon_ops.operate.registration_steps import (
    DEFAULT_DESCRIPTION,
    DEFAULT_NAME,
    Phase,
    Registration,
    RegistrationRefused,
    RegistrationRejected,
    begin,
    rewrite,
)
from canon_ops.operate.setup_answers import RegistrationPending, SetupAnswers, SetupResult, Way
from canon_ops.operate.setup_questions import (
    ask_about_profile_in_the_way,
    ask_agent_id,
    ask_connection,
    ask_owner_phone,
    ask_profile_name,
    ask_text,
)
from canon_ops.operate.setup_stage import SetupStage, endpoint_answers
from canon_ops.operate.setup_trouble import ask_what_now
from canon_ops.runtime.wakeful import run_wakeful
from canon_ops.settings.environments import Connection
from canon_ops.settings.pending import Due, PendingRegistration, Wanted
from canon_ops.settings.profiles import AgentProfile

__all__ = ["Watch", "register_agent", "usual_profile"]

Watch = Callable[[Registration], None]


def register_agent(stage: SetupStage, watch: Watch) -> SetupResult:
    """Lead the questions, verify the environment, register, and bind the home to the profile.

    Raises:
        RegistrationPending, RegistrationRejected, KeyExpired, KeyAlreadyDelivered, AcknowledgementFailed, and what the
        questions and the files refuse.
    """
    answers, prompts = stage.answers, stage.prompts
    stage.require_store()
    if not stage.dry_run:  # the key comes once; a disk that cannot hold it must show before anybody is asked
        require_writable(stage.store.paths.home, stage.store.paths.agents_file, stage.store.paths.pending_file)
    name = ask_profile_name(prompts, answers, default=usual_profile(stage), taken=stage.agents.names)
    known = stage.agents.profile(name)
    entry = stage.pending.registration(name)
    if answers.start_over:
        entry = None
    known_agent = known if known is not None and _is_reconnected(known, answers) else None
    connection = ask_connection(prompts, answers, pending=entry, known=known, is_settled=known_agent is not None)
    stage.verify(connection)
    wanted = _wanted(stage, name, connection, entry, known, reconnected=known_agent)
    done = _preview(stage, wanted) if stage.dry_run else _until_accepted(stage, wanted, entry, watch)
    return stage.result(
        Way.REGISTER,
        connection,
        _answers_of(stage, wanted),
        lambda found: found.profile == name,
        files=(stage.store.paths.pending_file, stage.store.paths.agents_file),
        canon_profile=name,
        in_keyring=_is_in_keyring(stage, name),
        agent_id=done.agent_id,
        agent_name=done.agent_name,
        request_id=done.request_id,
        resumed=done.resumed,
    )


def usual_profile(stage: SetupStage) -> str:
    """The profile that is most likely meant: one that waits, the one in use, the only one, or a new one."""
    waiting = stage.pending.for_hermes()
    if len(waiting) == 1:
        return waiting[0]
    if (current := stage.current_profile) is not None:
        return current
    ours = stage.agents.for_hermes()
    if len(ours) == 1:
        return ours[0].name
    hermes_profile = stage.place.home.profile_name
    return "hermes" if hermes_profile in ("default", "custom") else hermes_profile


def _wanted(
    stage: SetupStage,
    name: str,
    connection: Connection,
    entry: PendingRegistration | None,
    known: AgentProfile | None,
    *,
    reconnected: AgentProfile | None,
) -> Wanted:
    """Ask what the request needs; a request that is under way, or an agent that is there, is not asked about again."""
    answers, prompts = stage.answers, stage.prompts
    agent_id, agent_name, description = answers.agent_id, answers.agent_name, answers.description
    if entry is not None and entry.due is not Due.REGISTER:
        prompts.note(f"Going on with the registration of {name} (request {entry.request_id}).")
    elif reconnected is not None:
        agent_name = agent_name or reconnected.agent_name or DEFAULT_NAME
        who = f"{agent_name} ({agent_id}) on {connection.environment_id}"
        prompts.note(f"Reconnecting {who}: its owner is asked, and it gets a new key.")
    else:
        usual = (entry and entry.agent_name) or (known and known.agent_name) or DEFAULT_NAME
        agent_name = ask_text(prompts, Question("Agent's name", "--agent-name"), agent_name, default=usual)
        usual = (entry and entry.description) or DEFAULT_DESCRIPTION
        description = ask_text(prompts, Question("What it is for", "--description"), description, default=usual)
        agent_id = _agent_id(stage, connection, entry, known)
    stored_phone = entry.owner_phone if entry and answers.owner_phone is None else None
    if stored_phone:
        prompts.note(f"The owner is asked at {stored_phone}, as the earlier run was told.")
    return Wanted(
        profile=name,
        connection=connection,
        owner_phone=stored_phone or ask_owner_phone(prompts, answers),
        new_local_id=mint_local_id(),
        agent_id=agent_id,
        agent_name=agent_name,
        description=description,
    )


def _is_reconnected(known: AgentProfile, answers: SetupAnswers) -> bool:
    """Whether the agent of a complete profile is asked for by its id: nothing about it is left to ask."""
    told = (answers.agent_id or "").strip()
    lacks = [name for name in known.missing() if name != "apiKey"]
    return bool(told) and told == known.agent_id and not lacks


def _agent_id(
    stage: SetupStage, connection: Connection, entry: PendingRegistration | None, known: AgentProfile | None
) -> str | None:
    """The identity to ask for; what the files already say is told, not asked."""
    if stage.answers.agent_id is None:
        stored = entry.requested_agent_id if entry else None
        if stored is None and known is not None and known.is_bound_to(connection):
            stored = known.agent_id
        if stored is not None:
            stage.prompts.note(f"Agent {stored} is asked for again.")
            return None
    is_told = bool((stage.answers.agent_id or "").strip() or stage.answers.start_over)
    if known is not None and known.holds_an_agent and not known.is_bound_to(connection) and not is_told:
        return ask_about_profile_in_the_way(stage.prompts, known, connection, stage.agents.file)
    return ask_agent_id(stage.prompts, stage.answers)


def _preview(stage: SetupStage, wanted: Wanted) -> Registration:
    """What a run would begin with; it raises what the run would raise before its first call."""
    state = begin(wanted, start_over=stage.answers.start_over)
    rewrite(state, stage.store.read(), now_ms=stage.place.clock.now_ms())
    stage.use(profile_lines(wanted.profile))
    return state


def _until_accepted(stage: SetupStage, wanted: Wanted, entry: PendingRegistration | None, watch: Watch) -> Registration:
    """Register; when Canon refuses what the person has just answered, they may answer otherwise.

    Raises:
        RegistrationRefused: they stop, or the answer was no question; its fix repeats what was answered.
    """
    while True:
        try:
            return _run(stage, wanted, watch)
        except RegistrationRefused as refused:
            refused.fix = _fix_of(stage, wanted, refused)
            was_asked = stage.answers.owner_phone is None or not refused.is_owner_unknown
            if entry is not None or not was_asked:
                raise
            ask_what_now(stage.prompts, refused, about="--owner-phone" if refused.is_owner_unknown else None)


def _fix_of(stage: SetupStage, wanted: Wanted, refused: RegistrationRefused) -> str:
    """The same call with every answer that was given, and a place for the one that was wrong."""
    answers = _answers_of(stage, wanted)
    if refused.is_owner_unknown:
        answers = replace(answers, owner_phone="NUMBER")
    call = stage.place.home.own_command(answers.as_words())
    return call if refused.is_owner_unknown else f"change what it complains about: {call}"


def _run(stage: SetupStage, wanted: Wanted, watch: Watch) -> Registration:
    run: RegistrationRun | None = None

    def tell(state: Registration) -> None:
        if state.phase is Phase.WAIT:
            limit_s = stage.answers.wait_s
            waiting = f"; waiting up to {limit_s:g} s for that (--wait)" if limit_s else ""
            stage.prompts.note(
                f"Request {state.request_id} is with the owner, who approves it in the Canon app{waiting}."
            )
        watch(state)

    async def carry_out() -> Registration:
        nonlocal run
        place = stage.place
        async with RegistrationApi(wanted.connection, clock=place.clock, timeout_s=place.timeout_s) as calls:
            run = RegistrationRun(
                begin(wanted, start_over=stage.answers.start_over),
                calls,
                stage.store,
                stage.place.clock,
                bind=lambda profile: stage.use(profile_lines(profile)),
                keep=lambda key: stage.keep(wanted.profile, key),
                watch=tell,
                waiting=lambda request_id, left_s: show(_waiting(request_id, left_s)),
                wait_s=stage.answers.wait_s,
                every_s=stage.place.poll_s,
            )
            return await run.carry_out()

    try:
        with stage.prompts.progress(f"Registering {wanted.profile} with Canon") as show:
            state = run_wakeful(carry_out())
    except BaseException as exc:
        if not isinstance(exc, Exception) and run is not None and run.is_with_canon:  # Ctrl-C, or a signal
            stage.prompts.note(_stays(stage, run.state))
        raise
    if state.trouble is not None:  # the pending entry is gone, and with it what had been answered
        call = stage.place.home.own_command(_answers_of(stage, wanted).as_words())
        is_no = isinstance(state.trouble, RegistrationRejected)
        state.trouble.fix = f"agree with the owner, then register again: {call}" if is_no else call
        raise state.trouble
    if state.phase is Phase.UNDECIDED:
        raise RegistrationPending(wanted.profile, state.request_id)
    return state


def _is_in_keyring(stage: SetupStage, name: str) -> bool:
    """Where the key is now; an earlier run may have put it elsewhere than this one would."""
    if stage.dry_run:
        return stage.stores_in_keyring
    profile = stage.store.read().agents.profile(name)
    return profile is not None and profile.api_key_ref is not None


def _waiting(request_id: str, left_s: float) -> str:
    minutes, seconds = divmod(max(0, round(left_s)), 60)
    return f"Waiting for the owner: {minutes}:{seconds:02} left (Ctrl-C: go on later), request {request_id}"


def _stays(stage: SetupStage, state: Registration) -> str:
    """What Ctrl-C leaves behind. Source: decision L2."""
    profile = state.wanted.profile
    again = f"Go on with: {stage.place.home.own_command(f'setup canon --canon-profile {shlex.quote(profile)}')}"
    if state.request_id is None:
        return f"The request for {profile} may be with Canon already; its pending entry stays. {again}"
    return f"The registration of {profile} (request {state.request_id}) stays pending. {again}"


def _answers_of(stage: SetupStage, wanted: Wanted) -> SetupAnswers:
    return SetupAnswers(
        way=Way.REGISTER,
        **endpoint_answers(wanted.connection),
        agent_name=wanted.agent_name,
        description=wanted.description,
        owner_phone=wanted.owner_phone,
        canon_profile=wanted.profile,
        agent_id=wanted.agent_id,
        store=stage.answers.store,
        wait_s=stage.answers.wait_s,
    )
