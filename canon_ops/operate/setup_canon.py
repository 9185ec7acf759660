"""``setup canon``: the dialogue that gives a Hermes home its Canon identity.

Three ways: register (or reconnect) an agent, use a profile that exists, or paste a key. Each settles the environment
first and makes sure that its API and its stream answer for it; only then is anything asked of the owner, and only at
the end is anything written that the gateway reads. The order inside a registration, and how it survives a crash, is
the business of :mod:`canon_ops.operate.registration_steps`; the questions stand in ``setup_questions``, what all three
ways share in ``setup_stage``.

The dialogue speaks through :class:`~canon_ops.operate.prompts.Prompts`, takes answers beforehand, prints nothing, and
gives back a :class:`~canon_ops.operate.setup_answers.SetupResult`. It is synchronous and runs the network in event
loops of its own, so it must not be called from inside one.

Source: command-line contract, section 7; Canon wire 1.5, 3.5; the product document, "Install".
"""

from __future__ import annotations

from dataclasses import replace

from canon_ops.operate.home_identity import key_lines, profile_lines
from canon_ops.operate.profile_key import key_of_profile
from canon_ops.operate.prompts import Prompts
from canon_ops.operate.rewinding import Rewinding
from canon_ops.operate.setup_answers import (
    BadAnswer,
    ContradictingAnswers,
    KeyOfAnotherAgent,
    SetupAnswers,
    SetupResult,
    Way,
)
from canon_ops.operate.setup_questions import (
    ask_connection,
    ask_existing_profile,
    ask_key,
    ask_profile_name,
    ask_way,
)
from canon_ops.operate.setup_registration import Watch, register_agent, usual_profile
from canon_ops.operate.setup_stage import SETUP, SetupPlace, SetupStage, endpoint_answers
from canon_ops.settings.environments import Connection
from canon_ops.settings.local_files import LocalFiles
from canon_ops.settings.problems import reconnect_command
from canon_ops.settings.secret import Secret
from canon_ops.wire.agents import AgentIdentity

__all__ = ["SetupPlace", "setup_canon"]


def setup_canon(
    place: SetupPlace,
    answers: SetupAnswers,
    prompts: Prompts,
    *,
    dry_run: bool = False,
    watch: Watch = lambda _state: None,
) -> SetupResult:
    """Lead the dialogue to its end.

    Args:
        answers: what is answered beforehand; the rest is asked.
        dry_run: ask, check and verify, but send no request and write nothing.
        watch: told each phase of a registration before it begins.

    Raises:
        RegistrationPending: the owner has not decided; the request stays.
        RegistrationRejected, KeyExpired, KeyAlreadyDelivered: this request leads nowhere; its entry is gone.
        AcknowledgementFailed: everything but the acknowledgement is done; the next run repeats it.
        DamagedFile: agents.json or the pending registrations cannot be read; nothing was asked.
        EnvironmentMismatch, RequestFailed: the environment does not answer as itself; nothing was saved.
        CredentialError: Canon refuses the key.
        KeyringProblem: new keys are to go to the keyring, and it cannot be used; nothing falls back to a file.
        UsageError: an answer is wrong or missing.
        KeyboardInterrupt: Ctrl-C; a request that was sent stays pending, and a note has said so.
    """
    rewinding = Rewinding(prompts)
    stage = SetupStage(place, answers, rewinding, dry_run=dry_run)
    return rewinding.lead(lambda: _lead(stage, watch))


def _lead(stage: SetupStage, watch: Watch) -> SetupResult:
    """The dialogue from its first question; it runs again when a person goes back."""
    has_profiles = bool(stage.agents.for_hermes())
    match ask_way(stage.prompts, stage.answers, has_profiles=has_profiles, pending=stage.pending.for_hermes()):
        case Way.REGISTER:
            return register_agent(stage, watch)
        case Way.USE_PROFILE:
            return _use_profile(stage)
        case Way.KEY:
            return _use_key(stage)


def _use_profile(stage: SetupStage) -> SetupResult:
    if stage.answers.store is not None and stage.answers.use_profile:
        raise ContradictingAnswers(
            "--use-profile leaves the key where it is, and --store says where it goes",
            fix=f"canon-ops creds move --to {stage.answers.store} --canon-profile {stage.answers.use_profile}",
        )
    file, ours = stage.agents.file, stage.agents.for_hermes()
    name = ask_existing_profile(stage.prompts, stage.answers, ours, agents_file=file, current=stage.current_profile)
    profile = next(each for each in ours if each.name == name)
    connection = profile.connection(file)
    stage.verify(connection)
    key = key_of_profile(profile, stage.place.keyring)
    identity = stage.identify(connection, key, fix=f"reconnect it: {reconnect_command(name, profile.agent_id)}")
    if identity.agent_id != profile.agent_id:
        raise KeyOfAnotherAgent(name, str(profile.agent_id), identity.agent_id, file)
    adopted = stage.adopt(name)
    stage.use(profile_lines(name))
    return stage.result(
        Way.USE_PROFILE,
        connection,
        SetupAnswers(Way.USE_PROFILE, use_profile=name),
        lambda found: found.profile == name,
        files=adopted,
        canon_profile=name,
        in_keyring=profile.api_key_ref is not None,
        agent_id=profile.agent_id,
        agent_name=profile.agent_name,
    )


def _use_key(stage: SetupStage) -> SetupResult:
    stage.require_store()
    connection = ask_connection(stage.prompts, stage.answers, pending=None, known=None)
    stage.verify(connection)
    key = ask_key(stage.prompts, stage.answers.api_key)
    identity = stage.identify(connection, key, fix=f"copy the key again, or register an agent: {SETUP}")
    stage.prompts.note(f"The key belongs to {identity.display_name or 'an agent'} ({identity.agent_id}).")
    if stage.stores_in_keyring:
        return _keep_as_profile(stage, connection, key, identity)
    stage.use(key_lines(key, connection))
    return stage.result(
        Way.KEY,
        connection,
        SetupAnswers(Way.KEY, **endpoint_answers(connection)),
        lambda found: found.api_key == key,
        agent_id=identity.agent_id,
        agent_name=identity.display_name,
    )


def _keep_as_profile(stage: SetupStage, connection: Connection, key: Secret, identity: AgentIdentity) -> SetupResult:
    """A pasted key in the keyring: only a Canon profile can refer to it, so it becomes one."""
    name = ask_profile_name(stage.prompts, stage.answers, default=usual_profile(stage), taken=stage.agents.names)
    known = stage.agents.profile(name)
    if identity.agent_id is None:
        raise BadAnswer("the key", "Canon takes it and does not say whose it is")
    if known is not None and known.agent_id != identity.agent_id:
        raise BadAnswer("--canon-profile", f"{name} is the profile of {known.agent_id or 'another agent'}")
    agent_id, agent_name = identity.agent_id, identity.display_name or name
    now_ms = stage.place.clock.now_ms()
    if not stage.dry_run:
        place = stage.keep(name, key)

        def save(files: LocalFiles) -> LocalFiles:
            agents = files.agents.with_credential(
                name, connection, api_key=place, agent_id=agent_id, agent_name=agent_name, now_ms=now_ms
            )
            return replace(files, agents=agents)

        stage.store.update(save)
    stage.use(profile_lines(name))
    if not stage.dry_run:
        stage.forget(key)
    return stage.result(
        Way.KEY,
        connection,
        SetupAnswers(Way.KEY, **endpoint_answers(connection), canon_profile=name, store="keyring"),
        lambda found: found.profile == name,
        files=(stage.store.paths.agents_file,),
        canon_profile=name,
        in_keyring=True,
        agent_id=agent_id,
        agent_name=agent_name,
    )
