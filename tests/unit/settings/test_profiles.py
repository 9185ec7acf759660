"""agents.json: what is read, what is refused, what survives a rewrite."""

from __future__ import annotations

import base64
import json

import pytest

from canon_ops.errors import ExitCode
from canon_ops.settings.environments import connection_for
from canon_ops.settings.problems import BadBootstrap, BadEndpoint, DamagedFile, ForeignProfile, UnboundProfile
from canon_ops.settings.profiles import AgentsFile, KeyReference, merge_bootstrap
from canon_ops.settings.secret import Secret
from tests.support.canon_files import DEV_BINDING, KEY, as_file, profile_entry

DEV = connection_for(
    "canon-dev-v1",
    base_url="http://127.0.0.1:8701",
    stream_url="http://127.0.0.1:8702",
    rtdb_url="http://127.0.0.1:8703",
    firebase_api_key="loopback",
)
FILE = "/c/agents.json"
REQUIRED = ["apiKey", "agentId", "agentName", "registeredAt", *DEV_BINDING]


def agents(**entries: object) -> AgentsFile:
    return AgentsFile.parse(as_file(**entries), file=FILE)


def test_a_complete_profile_reads_with_every_field() -> None:
    """All ten fields of an entry are read, and its snapshot becomes a connection."""
    profile = agents(ops=profile_entry(note="kept")).profile("ops")

    assert profile is not None
    assert profile.missing() == ()
    assert profile.api_key == Secret(KEY)
    assert (profile.agent_id, profile.agent_name) == ("agent_7Qx", "Ops Hermes")
    assert profile.registered_at == "2026-09-11T15:51:09Z"
    assert profile.client_type == "hermes"
    assert profile.connection(FILE) == DEV
    assert profile.is_bound_to(DEV)
    assert profile.fields["note"] == "kept"


@pytest.mark.parametrize("value", [None, "", "  ", 7, ["x"]])
@pytest.mark.parametrize("name", REQUIRED)
def test_a_profile_that_lacks_a_required_field_is_unbound(name: str, value: object) -> None:
    """SC.10: a field that is absent, empty or no text is listed, and the profile fails closed."""
    profile = agents(ops=profile_entry(**{name: value})).profile("ops")

    assert profile is not None
    with pytest.raises(UnboundProfile, match="identity or environment binding") as caught:
        profile.connection(FILE)
    assert caught.value.missing == (name,)
    assert caught.value.exit_code is ExitCode.CREDENTIAL
    again = "canon-ops setup canon --canon-profile ops" + (" --agent-id agent_7Qx" if name != "agentId" else "")
    with_key = f"canon-ops profile migrate ops   # or reconnect it: {again}"
    assert caught.value.fix == (again if name == "apiKey" else with_key)


@pytest.mark.parametrize(
    ("client_type", "is_ours"),
    [(None, True), ("hermes", True), (" hermes ", True), ("codex", False), ("Hermes", False), (5, False), ([], False)],
)
def test_only_hermes_profiles_and_untyped_ones_are_ours(client_type: object, is_ours: bool) -> None:
    """A profile of another client type is invisible to the choice and refused by name."""
    file = agents(ops=profile_entry(clientType=client_type))
    profile = file.profile("ops")

    assert profile is not None
    assert profile.is_for_hermes is is_ours
    assert [each.name for each in file.for_hermes()] == (["ops"] if is_ours else [])
    if not is_ours:
        with pytest.raises(ForeignProfile, match="belongs to client type"):
            profile.connection(FILE)


def test_a_profile_may_hold_a_reference_instead_of_its_key() -> None:
    """Decision C1: a key that moved to the keyring leaves a reference, and the profile is complete."""
    entry = profile_entry(apiKey=None, apiKeyRef={"service": "canon-ops", "account": "ops"})

    profile = agents(ops=entry).profile("ops")

    assert profile is not None
    assert profile.api_key is None
    assert profile.api_key_ref == KeyReference("canon-ops", "ops")
    assert profile.missing() == ()


@pytest.mark.parametrize("reference", [{}, {"service": "s"}, {"service": "s", "account": ""}, "s/a", None])
def test_a_broken_reference_is_no_key(reference: object) -> None:
    """A reference without service and account leaves the profile unbound."""
    profile = agents(ops=profile_entry(apiKey=None, apiKeyRef=reference)).profile("ops")

    assert profile is not None
    assert profile.missing() == ("apiKey",)


def test_the_stored_snapshot_is_checked_like_any_endpoint() -> None:
    """A profile with an endpoint that no longer passes names the field and how to mend the profile."""
    profile = agents(ops=profile_entry(baseUrl="http://example.com")).profile("ops")

    assert profile is not None
    with pytest.raises(BadEndpoint, match=r"ops\.baseUrl in /c/agents\.json") as caught:
        profile.connection(FILE)
    assert caught.value.fix == "canon-ops setup canon --canon-profile ops"


DAMAGED = {
    "nothing": (b"", 1),
    "cut off": (b'{\n "ops": {', 2),
    "no json": (b"not json", 1),
    "a list": (b"[]", None),
    "null": (b"null", None),
    "a text entry": (b'{"ops": "x"}', None),
    "a null entry": (b'{"ops": null}', None),
    "the same name twice": (b'{"ops": {}, "ops": {}}', None),
    "the same field twice": (b'{"ops": {"apiKey": "a", "apiKey": "b"}}', None),
    "not utf-8": (b'{\n"ops": {"a": "\xff"}}', 2),
    "byte-order mark": (b"\xef\xbb\xbf{}", 1),
    "absurd nesting": (b'{"a":' * 200_000, None),
    "an absurd number": (b'{"a": {"n": ' + b"9" * 5000 + b"}}", None),
}


@pytest.mark.parametrize(("data", "line"), DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_an_error_with_its_place(data: bytes, line: int | None) -> None:
    """What cannot be read whole is never taken for an empty file, so it cannot be overwritten."""
    with pytest.raises(DamagedFile, match="left as it is") as caught:
        AgentsFile.parse(data, file=FILE)

    assert caught.value.line == line
    assert caught.value.file == FILE
    assert caught.value.exit_code is ExitCode.FAILED
    assert isinstance(caught.value, ValueError)


def test_a_missing_file_has_no_profiles() -> None:
    """No file is not a damaged file."""
    assert AgentsFile.parse(None, file=FILE).names == ()


def test_a_registration_replaces_its_own_entry_and_nothing_else() -> None:
    """The whole entry of the profile is new; every other entry and its unknown fields stay."""
    other = profile_entry(agentId="agent_2", custom={"deep": [1, None, 2.5]})
    foreign = {"clientType": "codex", "anything": True}
    before = agents(ops=profile_entry(stale="gone"), other=other, foreign=foreign)

    after = before.with_credential(
        "ops", DEV, api_key=Secret("agk_live_new"), agent_id="agent_9", agent_name="נועה", now_ms=1_789_141_869_999
    )

    assert json.loads(after.data) == {
        "ops": {
            "agentId": "agent_9",
            "agentName": "נועה",
            "apiKey": "agk_live_new",
            "clientType": "hermes",
            "registeredAt": "2026-09-11T15:51:09Z",
            **DEV_BINDING,
        },
        "other": other,
        "foreign": foreign,
    }


def test_the_file_is_written_with_two_spaces_and_sorted_names() -> None:
    """The bytes are those that every Canon client writes."""
    file = agents(b={"z": 1, "a": "é"}, a={})

    assert file.data == b'{\n  "a": {},\n  "b": {\n    "a": "\\u00e9",\n    "z": 1\n  }\n}\n'


def test_a_profile_of_another_client_is_never_replaced() -> None:
    """A name that another client uses is refused, whatever we want to store under it."""
    with pytest.raises(ForeignProfile):
        agents(ops={"clientType": "codex"}).with_credential(
            "ops", DEV, api_key=Secret("k"), agent_id="a", agent_name="n", now_ms=0
        )


def test_single_fields_change_without_touching_the_rest() -> None:
    """A key moves to the keyring and back; unknown fields of the entry stay."""
    before = agents(ops=profile_entry(custom=1))
    reference = {"service": "s", "account": "a"}

    moved = before.with_fields("ops", {"apiKey": None, "apiKeyRef": reference})
    back = moved.with_fields("ops", {"apiKey": KEY, "apiKeyRef": None})

    assert json.loads(moved.data) == {"ops": profile_entry(apiKey=None, apiKeyRef=reference, custom=1)}
    assert back.data == before.data
    assert before.without("ops").without("absent").data == b"{}\n"


def as_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "encode",
    [str, as_base64, lambda text: as_base64(text)[:40] + "\n" + as_base64(text)[40:], lambda text: f"\n  {text}  "],
    ids=["json", "base64", "wrapped base64", "padded"],
)
def test_the_bootstrap_variable_adds_what_is_missing(encode: object) -> None:
    """SC.7: profiles come as JSON or base64 of JSON; a name that exists is never overwritten."""
    assert callable(encode)
    text = encode(json.dumps({"ops": profile_entry(agentId="other"), "new": profile_entry()}))

    merged, added = merge_bootstrap(agents(ops=profile_entry()), text)

    assert added == {"new"}
    assert json.loads(merged.data) == {"ops": profile_entry(), "new": profile_entry()}


@pytest.mark.parametrize("text", [None, "", "   ", "{}"])
def test_an_empty_bootstrap_adds_nothing(text: str | None) -> None:
    """Unset, empty, white space and an empty object all leave the profiles as they are."""
    before = agents(ops=profile_entry())

    merged, added = merge_bootstrap(before, text)

    assert (merged.data, added) == (before.data, frozenset())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "no JSON"),
        ("[]", "list"),
        ("7", "number"),
        ('{"": {}}', "empty name"),
        ('{" ": {}}', "empty name"),
        ('{"ops": 1}', "ops"),
        ("%%%", "neither JSON nor base64"),
        ("AAAA", "no JSON|not UTF-8"),
        (as_base64("[]"), "list"),
        ("é", "neither JSON nor base64"),
    ],
)
def test_a_bootstrap_that_is_no_profiles_is_refused(text: str, why: str) -> None:
    """Undecodable text, another root, an empty name and a non-object profile each say what is wrong."""
    with pytest.raises(BadBootstrap, match=why) as caught:
        merge_bootstrap(agents(), text)

    assert caught.value.exit_code is ExitCode.USAGE


def test_nothing_of_a_key_shows_in_a_representation() -> None:
    """Printing a file or a profile, by accident or in a traceback, shows no key."""
    file = agents(ops=profile_entry())

    assert KEY not in repr(file)
    assert KEY not in repr(file.profile("ops"))
