"""The order in which credentials are found, and what each effective value tells about itself."""

from __future__ import annotations

import base64
import json

import pytest

from canon_ops.errors import CanonOpsError, ExitCode
from canon_ops.settings.credentials import Resolution, enablement_seed, is_configured, resolve
from canon_ops.settings.encodings import to_utf8
from canon_ops.settings.environments import connection_for
from canon_ops.settings.problems import (
    AmbiguousProfile,
    BadBootstrap,
    BadEndpoint,
    BadOption,
    DamagedFile,
    EnvironmentMissing,
    ForeignDatabase,
    ForeignProfile,
    NotConfigured,
    UnboundProfile,
    UnknownEnvironment,
    UnknownProfile,
    UnreadableDotenv,
    UnsetReference,
)
from canon_ops.settings.profiles import KeyReference
from canon_ops.settings.provenance import Found, Origin, Source
from canon_ops.settings.secret import Secret
from canon_ops.settings.surroundings import Surroundings
from tests.support.canon_files import DEV_BINDING, KEY, as_file, profile_entry

DOTENV = "/h/.env"
CONFIG = "/h/config.yaml"
AGENTS = "/c/agents.json"
DIRECT = {"CANON_API_KEY": KEY, "CANON_ENVIRONMENT_ID": "canon-dev-v1"}


def around(
    environ: dict[str, str] | None = None,
    *,
    dotenv: str | bytes | None = None,
    platform: dict[str, object] | None = None,
    extra: dict[str, object] | None = None,
    agents: bytes | None = None,
) -> Surroundings:
    return Surroundings(
        environ=environ or {},
        dotenv=dotenv.encode() if isinstance(dotenv, str) else dotenv,
        platform={**(platform or {}), **({"extra": extra} if extra is not None else {})},
        agents=agents,
        dotenv_file=DOTENV,
        config_file=CONFIG,
        agents_file=AGENTS,
    )


def process(name: str) -> Origin:
    return Origin(Source.PROCESS, name)


def config(path: str) -> Origin:
    return Origin(Source.CONFIG, f"platforms.canon.{path}", CONFIG)


def dotenv(name: str, line: int) -> Origin:
    return Origin(Source.DOTENV, name, DOTENV, line)


def test_a_direct_key_needs_nothing_but_its_environment() -> None:
    """Key and environment id from the environment; endpoints are packaged, agent and profile unknown."""
    found = resolve(around(DIRECT))

    assert found.connection == connection_for("canon-dev-v1")
    assert found.api_key == Secret(KEY)
    assert (found.api_key_ref, found.agent_id, found.agent_name, found.profile) == (None, None, None, None)
    assert found.settings["api_key"].origin == process("CANON_API_KEY")
    assert found.settings["base_url"].origin == Origin(Source.DEFAULT, "CANON_BASE_URL")
    assert found.settings["base_url"].value == "https://dev.api.canonmail.com"
    assert KEY not in repr(found)


SETTINGS = {
    "environment_id": ("CANON_ENVIRONMENT_ID", "canon-prod-v1", "canon-dev-v1"),
    "base_url": ("CANON_BASE_URL", "https://one.example.com", "https://two.example.com"),
    "stream_url": ("CANON_STREAM_URL", "https://one.example.com", "https://two.example.com"),
    "rtdb_url": ("CANON_RTDB_URL", "https://127.0.0.1:1", "https://127.0.0.1:2"),
    "firebase_api_key": ("CANON_FIREBASE_API_KEY", "one", "two"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_found_in_its_order(name: str) -> None:
    """Environment, then the three spellings below extra; each place shows what it hides (the table of 3.8)."""
    variable, first, second = SETTINGS[name]
    spellings = [name, variable.lower(), variable]
    base: dict[str, object] = {} if name == "environment_id" else {"environment_id": "canon-dev-v1"}
    places: list[Origin] = [process(variable), *(config(f"extra.{spelling}") for spelling in spellings)]

    for strongest in range(len(places)):
        values = [second if index > strongest else first for index in range(len(places))]
        extra = base | {
            spelling: values[index + 1] for index, spelling in enumerate(spellings) if index + 1 >= strongest
        }
        environ = {"CANON_API_KEY": KEY} | ({variable: values[0]} if strongest == 0 else {})
        found = resolve(around(environ, extra=extra))

        setting = found.settings[name]
        assert getattr(found.connection, name) == first == setting.value
        assert setting.origin == places[strongest]
        assert setting.shadows == tuple(Found(second, place) for place in places[strongest + 1 :])


def test_the_key_has_two_places_of_its_own() -> None:
    """The attributes api_key and token of the platform block stand between the environment and extra."""
    platform: dict[str, object] = {"api_key": "k-attribute", "token": "k-token"}
    extra: dict[str, object] = {
        "api_key": "k-1",
        "canon_api_key": "k-2",
        "CANON_API_KEY": "k-3",
        "environment_id": "canon-dev-v1",
    }
    order = [
        ("k-env", process("CANON_API_KEY")),
        ("k-attribute", config("api_key")),
        ("k-token", config("token")),
        ("k-1", config("extra.api_key")),
        ("k-2", config("extra.canon_api_key")),
        ("k-3", config("extra.CANON_API_KEY")),
    ]

    setting = resolve(around({"CANON_API_KEY": "k-env"}, platform=platform, extra=extra)).settings["api_key"]

    assert setting.origin == order[0][1]
    assert setting.shadows == tuple(Found(Secret(key), origin) for key, origin in order[1:])


def test_dotenv_overrides_the_process() -> None:
    """The gateway lays .env over its environment, so its line counts and the process value is what it hides."""
    found = resolve(around({**DIRECT, "CANON_API_KEY": "from the shell"}, dotenv=f"\nCANON_API_KEY={KEY}\n"))

    assert found.api_key == Secret(KEY)
    assert found.settings["api_key"].origin == dotenv("CANON_API_KEY", 2)
    assert found.settings["api_key"].shadows == (Found(Secret("from the shell"), process("CANON_API_KEY")),)


def test_the_gateway_and_the_command_line_see_the_same() -> None:
    """With .env merged into the environment or handed in beside it, the same connection and key come out."""
    text = f"CANON_API_KEY={KEY}\nCANON_ENVIRONMENT_ID=canon-dev-v1\nCANON_BASE_URL=\nexport CANON_AGENT=x\n"
    shell = {"CANON_API_KEY": "old", "CANON_BASE_URL": "https://old.example.com"}
    outside = around(shell, dotenv=text)

    merged = around(dict(outside.gateway_environ))
    both = around(dict(outside.gateway_environ), dotenv=text)

    expected = resolve(outside)
    for other in (resolve(merged), resolve(both)):
        assert (other.connection, other.api_key) == (expected.connection, expected.api_key)
    assert resolve(both).settings["api_key"].shadows == ()


def test_a_variable_of_white_space_is_found_and_empty() -> None:
    """A key of white space hides the configuration's key, so that profiles are consulted after all."""
    surroundings = around(
        {"CANON_API_KEY": "  \t"},
        extra={"api_key": "k-config", "environment_id": "canon-dev-v1"},
        agents=as_file(ops=profile_entry()),
    )

    found = resolve(surroundings)

    assert found.profile == "ops"
    assert found.settings["api_key"].shadows == (Found(Secret("k-config"), config("extra.api_key")),)


def test_a_configured_value_of_white_space_hides_those_behind_it() -> None:
    """The first place that is not empty wins, also when nothing but white space stands there."""
    surroundings = around(extra={"api_key": " ", "canon_api_key": KEY}, agents=as_file(ops=profile_entry()))

    assert resolve(surroundings).profile == "ops"


@pytest.mark.parametrize("environ", [{}, {"CANON_API_KEY": ""}])
def test_an_unset_or_empty_variable_hides_nothing(environ: dict[str, str]) -> None:
    """A variable without a character lets the configuration through."""
    found = resolve(around(environ, extra={"api_key": KEY, "environment_id": "canon-dev-v1"}))

    assert found.api_key == Secret(KEY)


def test_a_white_space_endpoint_takes_the_packaged_value_and_hides_the_configured_one() -> None:
    """Found and empty: neither the variable nor the configuration behind it counts."""
    found = resolve(around({**DIRECT, "CANON_BASE_URL": " "}, extra={"base_url": "https://c.example.com"}))

    assert found.connection.base_url == "https://dev.api.canonmail.com"
    assert found.settings["base_url"].origin == Origin(Source.DEFAULT, "CANON_BASE_URL")
    assert found.settings["base_url"].shadows == (Found("https://c.example.com", config("extra.base_url")),)


def test_an_empty_dotenv_line_takes_the_process_value_away() -> None:
    """``CANON_AGENT=`` in .env unsets the shell's value in the gateway; what it hid stays visible."""
    agents = as_file(ops=profile_entry(), work=profile_entry())

    with pytest.raises(AmbiguousProfile):
        resolve(around({"CANON_AGENT": "ops"}, dotenv="CANON_AGENT=\n", agents=agents))

    setting = around({"CANON_AGENT": "ops"}, dotenv="CANON_AGENT=\n").find("CANON_AGENT")
    assert setting is not None
    assert (setting.value, setting.origin) == ("", dotenv("CANON_AGENT", 1))
    assert setting.shadows == (Found("ops", process("CANON_AGENT")),)


def test_numbers_and_booleans_of_yaml_count_as_their_text() -> None:
    """A bare number in YAML is the text that somebody meant."""
    found = resolve(around(DIRECT, extra={"firebase_api_key": 1234}))

    assert found.connection.firebase_api_key == "1234"


@pytest.mark.parametrize("value", [["k"], {"k": 1}])
def test_a_list_or_a_map_is_no_value(value: object) -> None:
    """A richer value is refused with its path instead of being printed into the setting."""
    with pytest.raises(BadOption, match=r"CANON_BASE_URL cannot be a (list|dict).*platforms\.canon\.extra\.base_url"):
        resolve(around(DIRECT, extra={"base_url": value}))


@pytest.mark.parametrize("text", ["${MY_KEY}", "${env:MY_KEY}", " ${MY_HALF}6789abcdef "])
def test_a_configured_value_may_stand_for_a_variable(text: str) -> None:
    """The host hands ``${NAME}`` over as it is; it is filled from the gateway's environment, .env included."""
    surroundings = around(
        {"MY_HALF": KEY[:-10]}, dotenv=f"MY_KEY={KEY}\n", extra={"api_key": text, "environment_id": "canon-dev-v1"}
    )

    assert resolve(surroundings).api_key == Secret(KEY)


def test_a_configured_value_may_not_stand_for_nothing() -> None:
    """A reference to a variable that nobody sets is named, instead of being sent to Canon as a key."""
    with pytest.raises(
        UnsetReference, match=r"platforms\.canon\.api_key in /h/config\.yaml refers to \$\{MY_KEY\}"
    ) as caught:
        resolve(around(platform={"api_key": "${MY_KEY}"}))

    assert caught.value.fix == "canon-ops env set MY_KEY"


@pytest.mark.parametrize("extra", [None, "text", ["x"], 5])
def test_an_extra_that_is_no_map_is_no_configuration(extra: object) -> None:
    """A broken extra holds no setting."""
    assert resolve(around(DIRECT, platform={"extra": extra})).connection == connection_for("canon-dev-v1")


@pytest.mark.parametrize(
    ("surroundings", "fix"),
    [
        (
            around({"CANON_API_KEY": KEY}),
            "canon-ops env set CANON_ENVIRONMENT_ID canon-prod-v1   # one of: canon-prod-v1, canon-dev-v1",
        ),
        (
            around(platform={"api_key": KEY}),
            "canon-ops config set platforms.canon.extra.environment_id canon-prod-v1   "
            "# one of: canon-prod-v1, canon-dev-v1",
        ),
        (
            around({"CANON_API_KEY": KEY, "CANON_ENVIRONMENT_ID": " "}, extra={"environment_id": "canon-dev-v1"}),
            "canon-ops env set CANON_ENVIRONMENT_ID canon-prod-v1   # one of: canon-prod-v1, canon-dev-v1",
        ),
    ],
)
def test_a_direct_key_without_its_environment_is_refused(surroundings: Surroundings, fix: str) -> None:
    """The product's rule: a key given directly must name its environment; the fix fits the key's place."""
    with pytest.raises(EnvironmentMissing, match="CANON_ENVIRONMENT_ID") as caught:
        resolve(surroundings)

    assert caught.value.fix == fix
    assert caught.value.exit_code is ExitCode.CREDENTIAL


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"CANON_ENVIRONMENT_ID": "retired"}, UnknownEnvironment),
        ({"CANON_STREAM_URL": "http://example.com"}, BadEndpoint),
        ({"CANON_RTDB_URL": "https://canonmail-prod.firebaseio.com"}, ForeignDatabase),
    ],
)
def test_a_wrong_value_names_its_place(values: dict[str, str], problem: type[CanonOpsError]) -> None:
    """A wrong value in .env is reported with file and line."""
    name, value = next(iter(values.items()))

    with pytest.raises(problem, match=rf"{name} in /h/\.env, line 2") as caught:
        resolve(around(DIRECT, dotenv=f"# x\n{name}={value}\n"))

    assert (caught.value.file, caught.value.line) == (DOTENV, 2)


def test_the_only_profile_for_hermes_is_taken() -> None:
    """SC.6: with no name and one usable profile, its key, identity and snapshot are in force."""
    agents = as_file(ops=profile_entry(clientType=None), theirs=profile_entry(clientType="codex"))

    found = resolve(around(agents=agents))

    dev = connection_for(
        "canon-dev-v1",
        base_url="http://127.0.0.1:8701",
        stream_url="http://127.0.0.1:8702",
        rtdb_url="http://127.0.0.1:8703",
        firebase_api_key="loopback",
    )
    assert (found.profile, found.agent_id, found.agent_name) == ("ops", "agent_7Qx", "Ops Hermes")
    assert (found.connection, found.api_key, found.agents_data) == (dev, Secret(KEY), None)
    assert found.settings["base_url"].origin == Origin(Source.AGENTS_FILE, "ops.baseUrl", AGENTS)
    assert found.settings["profile"].origin == Origin(Source.AGENTS_FILE, "ops", AGENTS)


@pytest.mark.parametrize(
    ("environ", "extra", "origin"),
    [
        ({"CANON_AGENT": " work "}, {"agent": "ops"}, process("CANON_AGENT")),
        ({}, {"agent": "work", "profile": "ops"}, config("extra.agent")),
        ({}, {"profile": "work", "canon_agent": "ops"}, config("extra.profile")),
        ({}, {"canon_agent": "work", "CANON_AGENT": "ops"}, config("extra.canon_agent")),
        ({}, {"CANON_AGENT": "work"}, config("extra.CANON_AGENT")),
    ],
)
def test_a_profile_is_chosen_by_name(environ: dict[str, str], extra: dict[str, object], origin: Origin) -> None:
    """CANON_AGENT, else the four names below extra."""
    agents = as_file(ops=profile_entry(), work=profile_entry(agentId="agent_w"))

    found = resolve(around(environ, extra=extra, agents=agents))

    assert (found.profile, found.agent_id) == ("work", "agent_w")
    assert found.settings["profile"].origin == origin


def test_endpoint_settings_do_not_touch_a_profile() -> None:
    """The snapshot counts; the settings that it overrules are shown as hidden."""
    surroundings = around(
        {"CANON_BASE_URL": "https://env.example.com", "CANON_ENVIRONMENT_ID": "canon-prod-v1"},
        extra={"base_url": "https://config.example.com"},
        agents=as_file(ops=profile_entry()),
    )

    found = resolve(surroundings)

    assert found.connection.binding() == DEV_BINDING
    assert found.settings["base_url"].shadows == (
        Found("https://env.example.com", process("CANON_BASE_URL")),
        Found("https://config.example.com", config("extra.base_url")),
    )
    assert found.settings["environment_id"].shadows == (Found("canon-prod-v1", process("CANON_ENVIRONMENT_ID")),)


def test_a_direct_key_wins_over_profiles() -> None:
    """Profiles are not even read, so a damaged file does not matter."""
    assert resolve(around(DIRECT, agents=b"damaged")).profile is None


REFUSED: dict[str, tuple[Surroundings, type[CanonOpsError], str]] = {
    "nothing at all": (around(), NotConfigured, "canon-ops setup canon"),
    "only foreign profiles": (
        around(agents=as_file(a={"clientType": "codex"})),
        NotConfigured,
        "canon-ops setup canon",
    ),
    "several": (
        around(agents=as_file(b=profile_entry(), a=profile_entry())),
        AmbiguousProfile,
        "canon-ops profile bind a",
    ),
    "several, one incomplete": (
        around(agents=as_file(b=profile_entry(), a={})),
        AmbiguousProfile,
        "canon-ops profile bind a",
    ),
    "one incomplete": (
        around(agents=as_file(ops=profile_entry(agentId=None))),
        UnboundProfile,
        "canon-ops profile migrate ops   # or reconnect it: canon-ops setup canon --canon-profile ops",
    ),
    "unknown name": (
        around({"CANON_AGENT": "gone"}, agents=as_file(ops=profile_entry())),
        UnknownProfile,
        "export CANON_AGENT=ops where the gateway is started, or unset it there",
    ),
    "unknown name in .env": (
        around(dotenv="CANON_AGENT=gone", agents=as_file(ops=profile_entry())),
        UnknownProfile,
        "canon-ops env set CANON_AGENT ops",
    ),
    "unknown name, no profiles": (
        around({"CANON_AGENT": "gone"}),
        UnknownProfile,
        "canon-ops setup canon --canon-profile gone",
    ),
    "foreign name": (
        around({"CANON_AGENT": "a"}, agents=as_file(a=profile_entry(clientType="codex"))),
        ForeignProfile,
        "choose another profile, or register one for Hermes: canon-ops setup canon",
    ),
    "named, incomplete": (
        around({"CANON_AGENT": "a"}, agents=as_file(a={}, b=profile_entry())),
        UnboundProfile,
        "canon-ops setup canon --canon-profile a",
    ),
    "damaged file": (
        around(agents=b"{"),
        DamagedFile,
        "repair /c/agents.json by hand, or move it away",
    ),
    "bad bootstrap": (
        around({"CANON_AGENTS_JSON_BOOTSTRAP": "%"}),
        BadBootstrap,
        "give it the content of an agents.json, as JSON or as base64 of JSON, or unset it",
    ),
    "UTF-32 .env": (
        around(dotenv="\ufeffA=1".encode("utf-32-le")),
        UnreadableDotenv,
        to_utf8("UTF-32", "/h/.env"),
    ),
}


@pytest.mark.parametrize(("surroundings", "problem", "fix"), REFUSED.values(), ids=REFUSED.keys())
def test_a_credential_that_cannot_be_found_is_refused_with_its_fix(
    surroundings: Surroundings, problem: type[CanonOpsError], fix: str
) -> None:
    """Every way to have no credential has its own error, and the host's check function just says no."""
    with pytest.raises(problem) as caught:
        resolve(surroundings)

    assert caught.value.fix == fix
    assert isinstance(caught.value, ValueError)
    assert is_configured(surroundings) is False
    assert enablement_seed(surroundings) is None


def test_a_bootstrapped_profile_is_used_and_to_be_written() -> None:
    """SC.7: the adopted profile is in force at once, and the new agents.json comes along."""
    text = base64.b64encode(as_file(ops=profile_entry())).decode()

    found = resolve(around({"CANON_AGENTS_JSON_BOOTSTRAP": text}, agents=as_file(theirs={"clientType": "codex"})))

    assert found.profile == "ops"
    assert found.settings["base_url"].origin == Origin(Source.BOOTSTRAP, "ops.baseUrl", AGENTS)
    assert found.agents_data is not None
    assert json.loads(found.agents_data) == {"ops": profile_entry(), "theirs": {"clientType": "codex"}}


@pytest.mark.parametrize(
    ("text", "agents", "is_written"),
    [
        ("", None, False),
        ("  ", None, True),
        ("{}", None, True),
        ("{}", as_file(ops=profile_entry()), False),
        (as_file(ops=profile_entry()).decode(), as_file(ops=profile_entry()), False),
        (as_file(new=profile_entry()).decode(), as_file(ops=profile_entry()), True),
    ],
)
def test_agents_json_is_rewritten_only_when_it_changes(text: str, agents: bytes | None, is_written: bool) -> None:
    """A bootstrap that adds nothing leaves an existing file alone, and creates one that is not there."""
    from canon_ops.settings.credentials import load_profiles

    profiles = load_profiles(around({"CANON_AGENTS_JSON_BOOTSTRAP": text}, agents=agents))

    assert (profiles.data is not None) is is_written


def test_a_key_in_the_keyring_comes_back_as_its_reference() -> None:
    """Decision C1: resolving, and the host's check, never need the key itself."""
    entry = profile_entry(apiKey=None, apiKeyRef={"service": "canon-ops", "account": "ops"})
    surroundings = around(agents=as_file(ops=entry))

    found = resolve(surroundings)

    assert (found.api_key, found.api_key_ref) == (None, KeyReference("canon-ops", "ops"))
    assert found.settings["api_key"].value == "canon-ops/ops"
    assert is_configured(surroundings) is True


def test_a_profile_enables_the_platform_by_its_name() -> None:
    """R1.13: the seed names the profile, carries the whole snapshot (D61) and never the key."""
    seed = enablement_seed(around({"CANON_HOME_CHANNEL": " conv_1 "}, agents=as_file(ops=profile_entry())))

    assert seed == {
        "agent": "ops",
        "environment_id": "canon-dev-v1",
        "base_url": "http://127.0.0.1:8701",
        "stream_url": "http://127.0.0.1:8702",
        "rtdb_url": "http://127.0.0.1:8703",
        "firebase_api_key": "loopback",
        "home_channel": {"chat_id": "conv_1", "name": "Canon Home"},
    }


def test_a_direct_key_enables_the_platform_with_the_key() -> None:
    """R1.13: the seed resolves to the same credential when the host hands it back as extra."""
    surroundings = around({**DIRECT, "CANON_RTDB_URL": "http://127.0.0.1:1", "CANON_FIREBASE_API_KEY": "w"})

    seed = enablement_seed(surroundings)

    assert seed is not None
    assert seed["api_key"] == KEY
    assert "home_channel" not in seed
    again: Resolution = resolve(around(extra=seed))
    assert (again.connection, again.api_key) == (resolve(surroundings).connection, Secret(KEY))
