"""Any environment, any .env, any platform block: the command line and the gateway agree."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from canon_ops.errors import CanonOpsError
from canon_ops.settings.credentials import Resolution, enablement_seed, is_configured, resolve
from canon_ops.settings.surroundings import Surroundings
from tests.support.canon_files import as_file, profile_entry

VARIABLES = ["CANON_API_KEY", "CANON_ENVIRONMENT_ID", "CANON_BASE_URL", "CANON_AGENT"]
VALUES = st.sampled_from(["", " ", "key-1", "ops", "work", "canon-dev-v1", "canon-prod-v1", "https://a.example.com"])
ENVIRONS = st.dictionaries(st.sampled_from(VARIABLES), VALUES)
LINES = st.lists(st.tuples(st.sampled_from(VARIABLES), VALUES | st.none()), max_size=5)
KEYS = ["api_key", "canon_api_key", "environment_id", "base_url", "agent", "profile"]
EXTRAS = st.dictionaries(st.sampled_from(KEYS), VALUES | st.none() | st.booleans() | st.lists(st.none(), max_size=1))
AGENTS = st.sampled_from(
    [
        None,
        as_file(),
        as_file(ops=profile_entry()),
        as_file(ops=profile_entry(), work=profile_entry(agentName=None)),
        as_file(work=profile_entry(clientType="codex")),
        b"damaged",
    ]
)


def outcome(surroundings: Surroundings) -> object:
    """What resolving gives, without the places: a credential, or the code of the refusal."""
    try:
        found: Resolution = resolve(surroundings)
    except CanonOpsError as exc:
        return exc.code
    return found.connection, found.api_key, found.profile, found.agent_id


@given(ENVIRONS, LINES, EXTRAS, AGENTS)
def test_the_gateway_and_the_command_line_resolve_alike(
    environ: dict[str, str], lines: list[tuple[str, str | None]], extra: dict[str, object], agents: bytes | None
) -> None:
    """.env beside the environment, merged into it, or both: one outcome, and nothing but our own errors."""
    dotenv = "".join(name + "\n" if value is None else f"{name}='{value}'\n" for name, value in lines).encode()
    outside = Surroundings(environ=environ, dotenv=dotenv, platform={"extra": extra}, agents=agents)
    merged = dict(outside.gateway_environ)

    inside = Surroundings(environ=merged, platform={"extra": extra}, agents=agents)
    both = Surroundings(environ=merged, dotenv=dotenv, platform={"extra": extra}, agents=agents)

    assert outcome(outside) == outcome(inside) == outcome(both)
    assert is_configured(outside) is not isinstance(outcome(outside), str)


@given(ENVIRONS, EXTRAS, AGENTS)
def test_a_seed_leads_back_to_the_same_credential(
    environ: dict[str, str], extra: dict[str, object], agents: bytes | None
) -> None:
    """R1.13: what the host stores as extra resolves to what the environment resolved to."""
    surroundings = Surroundings(environ=environ, platform={"extra": extra}, agents=agents)

    seed = enablement_seed(surroundings)

    if seed is None:
        assert isinstance(outcome(surroundings), str)
    else:
        assert outcome(Surroundings(environ={}, platform={"extra": seed}, agents=agents)) == outcome(surroundings)


@given(ENVIRONS, LINES, EXTRAS, AGENTS)
def test_every_value_in_force_knows_its_place(
    environ: dict[str, str], lines: list[tuple[str, str | None]], extra: dict[str, object], agents: bytes | None
) -> None:
    """Each setting of a resolution is the connection's own value, and no place is named twice for it."""
    dotenv = "".join(name + "\n" if value is None else f"{name}='{value}'\n" for name, value in lines).encode()
    surroundings = Surroundings(environ=environ, dotenv=dotenv, platform={"extra": extra}, agents=agents)
    if isinstance(outcome(surroundings), str):
        return

    found = resolve(surroundings)

    for name in ("base_url", "stream_url", "rtdb_url", "firebase_api_key"):
        assert found.settings[name].value == getattr(found.connection, name)
    for setting in found.settings.values():
        places = [setting.origin, *(shadow.origin for shadow in setting.shadows)]
        assert len(set(places)) == len(places)
