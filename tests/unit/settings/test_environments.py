"""Environments, endpoints and the rule about the realtime database."""

from __future__ import annotations

import pytest

from canon_ops.errors import ExitCode
from canon_ops.settings.environment_ids import ENVIRONMENT_IDS
from canon_ops.settings.environments import (
    DEFAULT_ENVIRONMENT_ID,
    ENVIRONMENTS,
    Connection,
    EnvironmentContract,
    clean_url,
    complete,
    connection_for,
)
from canon_ops.settings.problems import BadEndpoint, ForeignDatabase, MissingEndpoint, UnknownEnvironment
from canon_ops.settings.provenance import Origin, Source

PROD_RTDB = "https://canonmail-prod-default-rtdb.europe-west1.firebasedatabase.app"


@pytest.mark.parametrize("environment_id", ["retired", "", "CANON-PROD-V1", "prod", "canon-prod-v2"])
def test_an_unknown_environment_is_named_as_unsupported(environment_id: str) -> None:
    """SC.1: an id outside the two contracts is refused, and the refusal is a ValueError that names it."""
    with pytest.raises(ValueError, match=f"Unsupported Canon environment ID: {environment_id}") as caught:
        connection_for(environment_id)

    assert isinstance(caught.value, UnknownEnvironment)
    assert caught.value.exit_code is ExitCode.USAGE
    assert caught.value.fix == "use one of: canon-prod-v1, canon-dev-v1"


@pytest.mark.parametrize(("name", "project"), [("canon-dev-v1", "canonmail-dev"), ("canon-prod-v1", "canonmail-prod")])
def test_packaged_endpoints_belong_to_the_environments_own_project(name: str, project: str) -> None:
    """SC.2: project and region come from the contract, the packaged endpoints from its hosts."""
    connection = connection_for(f"  {name}\n")

    prefix = "" if project == "canonmail-prod" else "dev."
    assert connection == Connection(
        environment_id=name,
        project_id=project,
        region="europe-west1",
        base_url=f"https://{prefix}api.canonmail.com",
        stream_url=f"https://{prefix}stream.canonmail.com",
        rtdb_url=f"https://{project}-default-rtdb.europe-west1.firebasedatabase.app",
        firebase_api_key=ENVIRONMENTS[name].firebase_api_key,
    )
    assert connection.firebase_api_key.startswith("AIzaSy")
    assert len(connection.firebase_api_key) == 39


def test_production_is_the_default() -> None:
    """The default environment is canon-prod-v1."""
    assert DEFAULT_ENVIRONMENT_ID == "canon-prod-v1"


@pytest.mark.parametrize(
    ("url", "environment", "accepted"),
    [
        (PROD_RTDB, "canon-prod-v1", True),
        (PROD_RTDB, "canon-dev-v1", False),
        ("https://canonmail-dev-attacker.example.com", "canon-dev-v1", False),
        ("http://127.0.0.1:9000", "canon-dev-v1", True),
        ("http://127.0.0.1:9000", "canon-prod-v1", True),
        ("https://127.0.0.2:9000", "canon-prod-v1", True),
        ("https://[::1]:9000", "canon-prod-v1", True),
        ("https://[::ffff:127.0.0.1]:9000", "canon-prod-v1", False),
        ("https://localhost", "canon-prod-v1", True),
        ("https://localhost.example.com", "canon-prod-v1", False),
        ("https://canonmail-prod.firebaseio.com", "canon-prod-v1", True),
        ("https://canonmail-prod-2.firebaseio.com", "canon-prod-v1", True),
        ("https://canonmail-prodigy.firebaseio.com", "canon-prod-v1", False),
        ("https://canonmail-prod.evilfirebaseio.com", "canon-prod-v1", False),
        ("https://canonmail-prod.firebaseio.com.example.com", "canon-prod-v1", False),
        ("https://x.canonmail-prod.firebaseio.com", "canon-prod-v1", False),
        ("https://CANONMAIL-PROD.FirebaseIO.com", "canon-prod-v1", True),
    ],
)
def test_the_realtime_database_must_be_the_projects_own(url: str, environment: str, accepted: bool) -> None:
    """SC.3: loopback or one of the project's own databases; a lookalike host or another project is refused."""
    if accepted:
        assert connection_for(environment, rtdb_url=url).rtdb_url == url
        return

    with pytest.raises(ForeignDatabase, match=f"must belong to project {ENVIRONMENTS[environment].project_id}"):
        connection_for(environment, rtdb_url=url)


def test_plain_http_to_another_loopback_address_is_no_endpoint() -> None:
    """The database rule admits 127.0.0.2, the URL rule before it does not admit plain http to it."""
    with pytest.raises(BadEndpoint, match="plain http is only for"):
        connection_for("canon-prod-v1", rtdb_url="http://127.0.0.2:9000")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("https://api.example.com", "https://api.example.com"),
        ("  https://api.example.com///\n", "https://api.example.com"),
        ("https://api.example.com/v1/", "https://api.example.com/v1"),
        ("https://api.example.com:8443", "https://api.example.com:8443"),
        ("http://localhost:1", "http://localhost:1"),
        ("http://127.0.0.1:1", "http://127.0.0.1:1"),
        ("http://[::1]:1", "http://[::1]:1"),
        ("HTTPS://API.example.com", "HTTPS://API.example.com"),
    ],
)
def test_a_good_endpoint_is_trimmed(text: str, clean: str) -> None:
    """White space and trailing slashes go, the rest stays as it was typed."""
    assert clean_url("base_url", text) == clean


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "missing endpoint"),
        (" / ", "missing endpoint"),
        ("api.example.com", "names no host"),
        ("http://api.example.com", "plain http is only for"),
        ("http://localhost.example.com", "plain http is only for"),
        ("ftp://127.0.0.1", "must begin with https"),
        ("https://", "must begin|names no host"),
        ("https://api.example.com:port", "not a URL"),
        ("https://[::1", "not a URL"),
        ("https://user:pw@api.example.com", "user name or password"),
        ("https://api.example.com?x=1", "query"),
        ("https://api.example.com#top", "fragment"),
        ("https://api .example.com", "white space"),
        ("https://api.example.com/\x00", "control"),
    ],
)
def test_a_bad_endpoint_names_the_field_and_the_reason(text: str, why: str) -> None:
    """SC.4: neither HTTPS nor HTTP on this machine, or nothing at all, is refused by field."""
    with pytest.raises(ValueError, match=why) as caught:
        clean_url("stream_url", text)

    assert isinstance(caught.value, BadEndpoint)
    assert caught.value.field == "stream URL"
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    ("origin", "fix"),
    [
        (
            Origin(Source.PROCESS, "CANON_BASE_URL"),
            "export CANON_BASE_URL=https://HOST where the gateway is started, or unset it there",
        ),
        (Origin(Source.DOTENV, "CANON_BASE_URL", "/h/.env", 3), "canon-ops env set CANON_BASE_URL https://HOST"),
        (
            Origin(Source.CONFIG, "platforms.canon.extra.base_url", "/h/config.yaml"),
            "canon-ops config set platforms.canon.extra.base_url https://HOST",
        ),
        (Origin(Source.AGENTS_FILE, "ops.baseUrl", "/c/agents.json"), "canon-ops setup canon --canon-profile ops"),
        (Origin(Source.OPTION, "--base-url"), "--base-url https://HOST"),
    ],
)
def test_the_fix_knows_where_the_value_came_from(origin: Origin, fix: str) -> None:
    """A bad endpoint from .env gets other advice than one from the process, the configuration or a profile."""
    with pytest.raises(BadEndpoint) as caught:
        connection_for("canon-dev-v1", base_url="gopher://x", origins={"base_url": origin})

    assert caught.value.fix == fix
    assert caught.value.file == origin.file
    assert caught.value.line == origin.line
    assert origin.describe() in str(caught.value)


def test_a_blank_endpoint_takes_the_packaged_value() -> None:
    """An endpoint of white space counts as not given."""
    assert (
        connection_for("canon-dev-v1", base_url="  ", firebase_api_key="").base_url == "https://dev.api.canonmail.com"
    )


def test_the_web_key_is_only_trimmed() -> None:
    """Any text is a web key once it is trimmed."""
    assert connection_for("canon-dev-v1", firebase_api_key=" loop back ").firebase_api_key == "loop back"


def test_an_environment_without_packaged_endpoints_names_the_missing_field() -> None:
    """Where neither a value nor a packaged default exists the error says <environment id>.<field>."""
    bare = EnvironmentContract("canon-lab-v1", "canonmail-lab", "europe-west1", "", "", "", "")

    with pytest.raises(MissingEndpoint, match=r"canon-lab-v1\.streamUrl") as caught:
        complete(bare, {"base_url": "https://api.example.com"})

    assert caught.value.fix == "set CANON_STREAM_URL"


def test_the_ids_alone_are_those_of_the_table() -> None:
    """Who needs the names only takes them from a module that loads nothing."""
    assert tuple(ENVIRONMENTS) == ENVIRONMENT_IDS
