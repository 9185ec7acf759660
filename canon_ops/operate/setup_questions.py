"""The questions of ``setup canon``, one function each: answered beforehand, or asked with a sensible default.

Each takes the answers given beforehand and what the files already know, and returns a checked value. An answer that
was given beforehand is checked like a typed one, but a wrong one ends the run: nobody is there to correct it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from canon_ops.errors import CanonOpsError
from canon_ops.operate.phone import BadPhone, clean_phone
from canon_ops.operate.prompts import Choice, MissingAnswer, Prompts, Question
from canon_ops.operate.setup_answers import BadAnswer, NoProfiles, ProfileInTheWay, SetupAnswers, Way
from canon_ops.settings.environments import (
    BINDING_FIELDS,
    DEFAULT_ENVIRONMENT_ID,
    ENVIRONMENTS,
    Connection,
    complete,
    connection_for,
    contract_for,
)
from canon_ops.settings.pending import Due, PendingRegistration
from canon_ops.settings.problems import UnknownProfile
from canon_ops.settings.profiles import AgentProfile
from canon_ops.settings.provenance import Origin, Source
from canon_ops.settings.records import text_field
from canon_ops.settings.secret import Secret

__all__ = [
    "ask_about_profile_in_the_way",
    "ask_agent_id",
    "ask_connection",
    "ask_existing_profile",
    "ask_key",
    "ask_owner_phone",
    "ask_profile_name",
    "ask_text",
    "ask_way",
    "choose_environment",
]

_ID = re.compile(r"[A-Za-z0-9_.:-]{1,160}")  # Canon wire 0.1
_PROFILE_NAME = re.compile(r"\w[\w.@+-]{0,63}")
_ENDPOINTS = {
    "base_url": ("--base-url", "API URL"),
    "stream_url": ("--stream-url", "Stream URL"),
    "rtdb_url": ("--rtdb-url", "RTDB URL"),
    "firebase_api_key": ("--firebase-api-key", "Firebase web key"),
}


def ask_way(prompts: Prompts, answers: SetupAnswers, *, has_profiles: bool, pending: Sequence[str]) -> Way:
    """Register, use a profile, or paste a key; registering is the default."""
    if (way := answers.implied_way()) is not None:
        return way
    waiting = f"goes on with {', '.join(pending)}, which waits for its owner" if pending else None
    choices = [
        Choice(Way.REGISTER.value, "Register or reconnect an agent", waiting),
        *([Choice(Way.USE_PROFILE.value, "Use a Canon profile of this machine")] if has_profiles else []),
        Choice(Way.KEY.value, "Paste an agent key", "for machines without a person; it is stored in .env"),
    ]
    question = Question("How does this Hermes home get its Canon agent?", "--way")
    return Way(prompts.choose(question, choices, default=Way.REGISTER.value))


def ask_profile_name(prompts: Prompts, answers: SetupAnswers, *, default: str, taken: Sequence[str]) -> str:
    """The Canon profile that the agent is stored under; a name that exists already may be anything."""

    def complaint(name: str) -> str | None:
        if name in taken or _PROFILE_NAME.fullmatch(name):
            return None
        return "a Canon profile is letters, digits and . _ - @ +, at most 64, and begins with a letter or digit"

    if answers.canon_profile is not None:
        return _checked("--canon-profile", answers.canon_profile.strip(), complaint)
    return prompts.text(Question("Canon profile", "--canon-profile"), default=default, validate=complaint).strip()


def ask_existing_profile(
    prompts: Prompts, answers: SetupAnswers, profiles: Sequence[AgentProfile], *, agents_file: str, current: str | None
) -> str:
    """One of the profiles for Hermes.

    Raises:
        NoProfiles: there is none.
        UnknownProfile: the answer given beforehand names another.
    """
    names = [profile.name for profile in profiles]
    if answers.use_profile is not None:
        if answers.use_profile not in names:
            raise UnknownProfile(
                answers.use_profile, names, agents_file, Origin(Source.OPTION, "--use-profile") if names else None
            )
        return answers.use_profile
    if not names:
        raise NoProfiles(agents_file)
    choices = [Choice(each.name, _profile_label(each), _profile_lack(each)) for each in profiles]
    default = current if current in names else (names[0] if len(names) == 1 else None)
    return prompts.choose(Question("Which Canon profile?", "--use-profile"), choices, default=default)


def ask_connection(
    prompts: Prompts,
    answers: SetupAnswers,
    *,
    pending: PendingRegistration | None,
    known: AgentProfile | None,
    is_settled: bool = False,
) -> Connection:
    """The environment and its endpoints.

    Args:
        is_settled: the profile's environment is meant; it is not asked about.

    What is not answered comes from a request that is under way, else from the profile's snapshot when it is of the same
    environment, else from the packaged table; a person may also type other endpoints.

    Raises:
        UnknownEnvironment, BadEndpoint, ForeignDatabase.
    """
    stored: Sequence[PendingRegistration | AgentProfile] = [each for each in (pending, known) if each is not None]
    is_under_way = pending is not None and pending.due is not Due.REGISTER
    environment_id = answers.environment
    if environment_id is None:
        known_ids = [each.environment_id for each in stored if each.environment_id in ENVIRONMENTS]
        default = known_ids[0] or DEFAULT_ENVIRONMENT_ID if known_ids else DEFAULT_ENVIRONMENT_ID
        environment_id = default if is_under_way or is_settled else choose_environment(prompts, default)
    contract = contract_for(environment_id, Origin(Source.OPTION, "--environment"))
    given = {name: getattr(answers, name) for name in _ENDPOINTS}
    origins = {name: Origin(Source.OPTION, option) for name, (option, _) in _ENDPOINTS.items()}
    for each in stored:
        if each.environment_id == contract.environment_id:
            for name in _ENDPOINTS:
                given[name] = given[name] or text_field(each.fields, BINDING_FIELDS[name])
    if not any(given.values()):
        given = _ask_endpoints(prompts, contract.environment_id)
    return connection_for(contract.environment_id, **given, origins=origins)


def ask_text(prompts: Prompts, question: Question, given: str | None, *, default: str) -> str:
    """One line of text that is not empty."""

    def complaint(text: str) -> str | None:
        return None if text.strip() and text.strip().isprintable() else "one line of text is needed"

    if given is not None:
        return _checked(question.option, given.strip(), complaint)
    return prompts.text(question, default=default, validate=complaint).strip()


def ask_agent_id(prompts: Prompts, answers: SetupAnswers) -> str | None:
    """The identity to reconnect; None for a new agent."""

    def complaint(text: str) -> str | None:
        return None if not text or _ID.fullmatch(text) else "an agent id is letters, digits and . _ : -, at most 160"

    if answers.agent_id is not None:
        return _checked("--agent-id", answers.agent_id.strip(), complaint) or None
    question = Question("Agent id to reconnect", "--agent-id", "leave it empty for a new agent")
    return prompts.text(question, default="", validate=complaint).strip() or None


def ask_about_profile_in_the_way(
    prompts: Prompts, known: AgentProfile, connection: Connection, agents_file: str
) -> str | None:
    """What becomes of a profile that is not bound to ``connection``: the agent to reconnect, or None for a new one.

    Raises:
        ProfileInTheWay: it is to stay, or nobody can be asked.
    """
    trouble = ProfileInTheWay(known, connection.environment_id, agents_file)
    choices = [
        Choice("replace", "Register a new agent in its place", "its key and its identity are gone from this machine"),
        Choice("leave", "Leave it as it is, and stop"),
    ]
    if known.agent_id and trouble.may_be_same_agent:
        choices.insert(0, Choice("reconnect", f"Reconnect agent {known.agent_id}", "its owner is asked for it again"))
    question = Question(f"{trouble.what}. What shall become of it?", "--agent-id or --start-over")
    try:
        answer = prompts.choose(question, choices)
    except MissingAnswer as exc:
        raise trouble from exc
    if answer == "leave":
        raise trouble
    return known.agent_id if answer == "reconnect" else None


def ask_owner_phone(prompts: Prompts, answers: SetupAnswers) -> str:
    """The owner's number, cleaned; a typed one is shown back until it is right.

    Raises:
        BadPhone: the answer given beforehand is no number.
    """
    if answers.owner_phone is not None:
        phone = clean_phone(answers.owner_phone)
        prompts.note(f"The owner is asked at {phone}.")
        return phone

    def complaint(text: str) -> str | None:
        try:
            clean_phone(text)
        except BadPhone as exc:
            return exc.why
        return None

    question = Question("Phone number of the agent's owner", "--owner-phone", "with country code: +1 415 555 0123")
    while True:
        phone = clean_phone(prompts.text(question, validate=complaint))
        if prompts.confirm(Question(f"Ask the owner at {phone}?", "--owner-phone"), default=True):
            return phone


def ask_key(prompts: Prompts, given: Secret | None, *, what: str = "Agent key") -> Secret:
    """The agent's key, as one word of visible ASCII: it travels in a header."""

    def complaint(text: str) -> str | None:
        word = text.strip()
        if not word:
            return "it is empty"
        if not (word.isascii() and word.isprintable() and " " not in word):
            return "it has white space or characters that no key has; copy it again"
        return None

    if given is not None:
        key = given.reveal().strip()
        if (why := complaint(key)) is not None:
            raise BadAnswer("the agent key", why, fix="copy the key again")
        return Secret(key)
    question = Question(what, "--api-key-stdin, --api-key-file or --api-key-env")
    return Secret(prompts.secret(question, validate=complaint).reveal().strip())


def choose_environment(prompts: Prompts, default: str | None) -> str:
    """One of Canon's environments; without a default somebody has to say it."""
    words = {"canonmail-prod": "production", "canonmail-dev": "development"}
    choices = [
        Choice(name, name, words.get(contract.project_id, contract.project_id))
        for name, contract in ENVIRONMENTS.items()
    ]
    return prompts.choose(
        Question("Which Canon environment owns the agent?", "--environment"), choices, default=default
    )


def _ask_endpoints(prompts: Prompts, environment_id: str) -> dict[str, str | None]:
    packaged = connection_for(environment_id)
    question = Question(
        f"Use the endpoints of {environment_id} ({packaged.base_url})?",
        "--base-url, --stream-url, --rtdb-url, --firebase-api-key",
    )
    if prompts.confirm(question, default=True):
        return dict.fromkeys(_ENDPOINTS)
    asked: dict[str, str | None] = {}
    for name, (option, words) in _ENDPOINTS.items():
        default = getattr(packaged, name)
        asked[name] = prompts.text(
            Question(words, option), default=default, validate=_endpoint_complaint(environment_id, name)
        )
    return asked


def _endpoint_complaint(environment_id: str, name: str) -> Callable[[str], str | None]:
    def complaint(text: str) -> str | None:
        try:
            complete(contract_for(environment_id), {name: text})
        except CanonOpsError as exc:
            return exc.what
        return None

    return complaint


def _profile_label(profile: AgentProfile) -> str:
    agent = profile.agent_name or profile.agent_id or "no agent"
    return f"{profile.name}: {agent} on {profile.environment_id or 'no environment'}"


def _profile_lack(profile: AgentProfile) -> str | None:
    missing = profile.missing()
    return f"incomplete, lacks {', '.join(missing)}" if missing else None


def _checked(option: str, text: str, complaint: Callable[[str], str | None]) -> str:
    if (why := complaint(text)) is not None:
        raise BadAnswer(option, why)
    return text
