"""Any file of records: what we do not know survives every change that we make."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from canon_ops.settings.environments import connection_for
from canon_ops.settings.pending import PendingFile, Wanted
from canon_ops.settings.profiles import AgentsFile
from canon_ops.settings.secret import Secret

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.text(max_size=6)
ENTRIES = st.dictionaries(NAMES, st.dictionaries(st.text(max_size=6), JSON, max_size=4), max_size=4)
DEV = connection_for("canon-dev-v1")
OURS = set(DEV.binding()) | {"profile", "clientType", "createdAt", "updatedAt", "localRegistrationId", "ownerPhone"}


@given(ENTRIES)
def test_reading_and_writing_changes_nothing(entries: dict[str, dict[str, object]]) -> None:
    """Both files come back with equal content and, from the second time on, equal bytes."""
    data = json.dumps(entries).encode()

    for kind in (AgentsFile, PendingFile):
        written = kind.parse(data, file="f").data
        assert json.loads(written) == entries
        assert kind.parse(written, file="f").data == written


@given(ENTRIES, NAMES)
def test_a_new_credential_leaves_every_other_profile(entries: dict[str, dict[str, object]], name: str) -> None:
    """Only the registered profile's entry differs afterwards."""
    mine = {key: value for key, value in entries.get(name, {}).items() if key != "clientType"}
    entries = {**entries, name: mine}
    before = AgentsFile.parse(json.dumps(entries).encode(), file="f")

    after = before.with_credential(name, DEV, api_key=Secret("k"), agent_id="a", agent_name="n", now_ms=0)

    written = json.loads(after.data)
    assert written.pop(name)["apiKey"] == "k"
    entries.pop(name)
    assert written == entries


@given(ENTRIES, st.dictionaries(st.text(max_size=6), JSON, max_size=4))
def test_a_registration_keeps_unknown_fields_and_foreign_entries(
    entries: dict[str, dict[str, object]], unknown: dict[str, object]
) -> None:
    """From the first step to the last, everything that is not ours stays as it was."""
    known = {"requestId", "pollToken", "credentialAgentId", "requestedAgentId"}
    unknown = {name: value for name, value in unknown.items() if name not in OURS | known}
    others = {name: entry for name, entry in entries.items() if name != "ops"}
    before = PendingFile.parse(json.dumps({**others, "ops": unknown}).encode(), file="f")
    wish = Wanted("ops", DEV, "+14155550123", "hermes-" + "0" * 32)

    steps = [before.prepared(wish, known_agent_id=None, now_ms=0)]
    steps.append(steps[-1].submitted("ops", request_id="r", poll_token=Secret("p"), now_ms=0))
    steps.append(steps[-1].prepared(wish, known_agent_id=None, now_ms=1))
    steps.append(steps[-1].credential_saved("ops", agent_id="a", now_ms=0))

    for step in steps:
        written = json.loads(step.data)
        mine = written.pop("ops")
        assert {name: value for name, value in mine.items() if name not in OURS | known} == unknown
        assert written == others
    assert json.loads(steps[-1].without("ops").data) == others
