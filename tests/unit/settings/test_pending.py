"""pending-registrations.json: the transitions of a registration and everything that is refused."""

from __future__ import annotations

import json

import pytest

from canon_ops.settings.environments import connection_for
from canon_ops.settings.pending import Due, PendingFile, Wanted
from canon_ops.settings.problems import (
    DamagedFile,
    PendingAgentDiffers,
    PendingForeign,
    PendingKeyDiffers,
    PendingPhoneDiffers,
    PendingProblem,
    PendingTokenMissing,
    PendingUnbound,
    PendingVanished,
)
from canon_ops.settings.secret import Secret
from tests.support.canon_files import DEV_BINDING, as_file, pending_entry

DEV = connection_for(
    "canon-dev-v1",
    base_url="http://127.0.0.1:8701",
    stream_url="http://127.0.0.1:8702",
    rtdb_url="http://127.0.0.1:8703",
    firebase_api_key="loopback",
)
PROD = connection_for("canon-prod-v1")
FILE = "/c/pending-registrations.json"
NOW_MS = 1_789_141_869_000  # 2026-09-11T15:51:09Z
NEW_ID = "hermes-" + "0" * 32
SENT = {"requestId": "reg_1", "pollToken": "pt_1"}


def pending(**entries: object) -> PendingFile:
    return PendingFile.parse(as_file(**entries), file=FILE)


def wanted(**changes: object) -> Wanted:
    values: dict[str, object] = {
        "profile": "ops",
        "connection": DEV,
        "owner_phone": "+14155550123",
        "new_local_id": NEW_ID,
        **changes,
    }
    return Wanted(**values)  # type: ignore[arg-type]


def entry_after(before: PendingFile, wish: Wanted, known_agent_id: str | None = None) -> dict[str, object]:
    entry = json.loads(before.prepared(wish, known_agent_id=known_agent_id, now_ms=NOW_MS).data)["ops"]
    assert isinstance(entry, dict)
    return entry


def test_a_first_run_creates_a_complete_entry() -> None:
    """Steps 2 and 3: profile, client type, times, the local id, the binding and the owner's phone."""
    after = PendingFile.parse(None, file=FILE).prepared(wanted(agent_id="agent_1"), known_agent_id=None, now_ms=NOW_MS)

    assert json.loads(after.data) == {
        "ops": {
            "profile": "ops",
            "clientType": "hermes",
            "createdAt": "2026-09-11T15:51:09Z",
            "updatedAt": "2026-09-11T15:51:09Z",
            "localRegistrationId": NEW_ID,
            "ownerPhone": "+14155550123",
            "requestedAgentId": "agent_1",
            **DEV_BINDING,
        }
    }
    registration = after.registration("ops")
    assert registration is not None
    assert registration.due is Due.REGISTER


def test_the_local_id_is_minted_once() -> None:
    """SC.6: later runs keep the first local id, which begins with hermes-, and the time of creation."""
    entry = entry_after(pending(ops=pending_entry()), wanted())

    assert entry["localRegistrationId"] == pending_entry()["localRegistrationId"]
    assert entry["createdAt"] == "2026-09-11T15:00:00Z"
    assert entry["updatedAt"] == "2026-09-11T15:51:09Z"


def test_the_steps_change_what_is_due() -> None:
    """Sent, saved, gone: each transition adds its fields and keeps the rest."""
    start = pending(ops=pending_entry(extra=[1]), other={"clientType": "codex"})

    sent = start.submitted("ops", request_id="reg_1", poll_token=Secret("pt_1"), now_ms=NOW_MS)
    saved = sent.credential_saved("ops", agent_id="agent_1", now_ms=NOW_MS)
    done = saved.without("ops")

    updated = {"updatedAt": "2026-09-11T15:51:09Z", "extra": [1]}
    other = {"clientType": "codex"}
    assert json.loads(sent.data) == {"ops": pending_entry(**SENT, **updated), "other": other}
    assert json.loads(saved.data) == {
        "ops": pending_entry(**SENT, **updated, credentialAgentId="agent_1"),
        "other": other,
    }
    assert json.loads(done.data) == {"other": other}
    assert [f.registration("ops").due for f in (start, sent, saved)] == [  # type: ignore[union-attr]
        Due.REGISTER,
        Due.POLL,
        Due.ACKNOWLEDGE,
    ]
    assert done.without("other").data == b"{}\n"


@pytest.mark.parametrize(
    ("stored", "explicit", "known", "expected"),
    [
        ({}, None, None, None),
        ({}, "agent_1", None, "agent_1"),
        ({}, None, "agent_k", "agent_k"),
        ({}, "agent_1", "agent_k", "agent_1"),
        ({"requestedAgentId": "agent_s"}, None, "agent_k", "agent_s"),
        ({"requestedAgentId": "agent_s"}, "agent_s", None, "agent_s"),
        (SENT, None, "agent_k", None),
        ({**SENT, "requestedAgentId": "agent_s"}, None, "agent_k", "agent_s"),
    ],
)
def test_which_agent_is_asked_for(
    stored: dict[str, object], explicit: str | None, known: str | None, expected: str | None
) -> None:
    """What was asked for stays; without it the named agent counts, then the one that the profile already has."""
    entry = entry_after(pending(ops=pending_entry(**stored)), wanted(agent_id=explicit), known)

    assert entry.get("requestedAgentId") == expected


def test_an_entry_that_sent_nothing_follows_the_environment() -> None:
    """Without a request the entry is bound again to the environment chosen now."""
    entry = entry_after(pending(ops=pending_entry()), wanted(connection=PROD))

    assert {name: entry[name] for name in DEV_BINDING} == PROD.binding()


@pytest.mark.parametrize("field", DEV_BINDING)
@pytest.mark.parametrize("value", [None, "https://elsewhere.example.com", 5])
def test_a_request_stays_in_its_environment(field: str, value: object) -> None:
    """SC.9: a request whose binding differs in any of the five fields, or lacks one, is not bound to this one."""
    before = pending(ops=pending_entry(**SENT, **{field: value}))

    with pytest.raises(PendingUnbound, match="is not bound to this environment") as caught:
        before.prepared(wanted(), known_agent_id=None, now_ms=NOW_MS)

    assert caught.value.differing == (field,)
    assert caught.value.fix is not None


@pytest.mark.parametrize(
    ("stored", "wish", "problem"),
    [
        ({"requestId": "reg_1"}, {}, PendingTokenMissing),
        ({**SENT, "pollToken": " "}, {}, PendingTokenMissing),
        (SENT, {"connection": PROD}, PendingUnbound),
        ({}, {"owner_phone": "+14155550199"}, PendingPhoneDiffers),
        (SENT, {"owner_phone": "+14155550199"}, PendingPhoneDiffers),
        (SENT, {"agent_id": "agent_1"}, PendingAgentDiffers),
        ({**SENT, "requestedAgentId": "agent_2"}, {"agent_id": "agent_1"}, PendingAgentDiffers),
        ({"requestedAgentId": "agent_2"}, {"agent_id": "agent_1"}, PendingAgentDiffers),
        ({"clientType": "codex"}, {}, PendingForeign),
        ({"profile": "other"}, {}, PendingKeyDiffers),
        ({"profile": 3}, {}, PendingKeyDiffers),
    ],
)
def test_a_wish_that_does_not_fit_the_entry_is_refused(
    stored: dict[str, object], wish: dict[str, object], problem: type[PendingProblem]
) -> None:
    """Every mismatch of the resume table has its own error, a fix, and leaves the file as it was."""
    before = pending(ops=pending_entry(**stored))
    data = before.data

    with pytest.raises(problem) as caught:
        before.prepared(wanted(**wish), known_agent_id=None, now_ms=NOW_MS)

    assert caught.value.fix
    assert caught.value.file == FILE
    assert before.data == data
    assert "pt_1" not in f"{caught.value} {caught.value.fix}"


def test_an_entry_of_the_older_layout_is_adopted() -> None:
    """SC.15: submittedAt becomes createdAt, a missing client type becomes hermes, unknown fields stay."""
    legacy = {"submittedAt": "2025-01-02T03:04:05Z", "requestId": "r", "pollToken": "p", "note": 1, **DEV_BINDING}
    before = pending(ops=legacy)

    entry = entry_after(before, wanted())

    registration = before.registration("ops")
    assert registration is not None
    assert (registration.created_at, registration.due) == ("2025-01-02T03:04:05Z", Due.POLL)
    assert entry == {
        **legacy,
        "profile": "ops",
        "clientType": "hermes",
        "createdAt": "2025-01-02T03:04:05Z",
        "updatedAt": "2026-09-11T15:51:09Z",
        "localRegistrationId": NEW_ID,
        "ownerPhone": "+14155550123",
    }


def test_the_names_of_the_request_are_remembered_until_it_is_sent() -> None:
    """A repeated request must be the same one: later runs keep its names, and nothing changes them once it is sent."""
    first = pending().prepared(wanted(agent_name="Ops", description="Desk"), known_agent_id=None, now_ms=NOW_MS)
    kept = first.prepared(wanted(), known_agent_id=None, now_ms=NOW_MS)
    renamed = first.prepared(wanted(agent_name="New"), known_agent_id=None, now_ms=NOW_MS)
    sent = first.submitted("ops", request_id="r", poll_token=Secret("p"), now_ms=NOW_MS)
    late = sent.prepared(wanted(agent_name="New"), known_agent_id=None, now_ms=NOW_MS)

    names = [(e.agent_name, e.description) for f in (first, kept, renamed, late) if (e := f.registration("ops"))]
    assert names == [("Ops", "Desk"), ("Ops", "Desk"), ("New", "Desk"), ("Ops", "Desk")]


def test_an_entry_that_vanished_is_a_conflict() -> None:
    """Somebody removed the entry between two steps: exit 5, and nothing is made up in its place."""
    with pytest.raises(PendingVanished, match="removed the pending registration of ops"):
        pending().submitted("ops", request_id="r", poll_token=Secret("p"), now_ms=NOW_MS)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"ops": []}', b'{"ops": {}, "ops": {}}'])
def test_a_damaged_file_is_an_error(data: bytes) -> None:
    """SC.8: a malformed file is a ValueError, so nothing is ever written over it."""
    with pytest.raises(DamagedFile, match="Could not read pending Canon registrations"):
        PendingFile.parse(data, file=FILE)


def test_a_foreign_entry_is_listed_but_never_read_as_ours() -> None:
    """Other clients share the file: their names are visible, their entries stay theirs."""
    file = pending(theirs={"clientType": "codex", "profile": "theirs"})

    assert file.names == ("theirs",)
    with pytest.raises(PendingForeign, match="client type codex"):
        file.registration("theirs")


def test_no_token_shows_in_a_representation() -> None:
    """The poll token is a secret: neither the file nor the entry prints it."""
    file = pending(ops=pending_entry(requestId="reg_1", pollToken="pt_0123456789abcdef"))

    assert "pt_0123456789" not in repr(file) + repr(file.registration("ops"))
