"""``canon-ops approvals``: whole outputs over registries as gateways leave them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from canon_hermes_plugin.approvals.entry import Decision
from canon_hermes_plugin.approvals.events import Activate, ClaimConsume, Decided, FinishConsume, Reserve
from canon_hermes_plugin.approvals.store import ApprovalStore
from canon_hermes_plugin.state.owner import Owner
from canon_ops.errors import ExitCode
from canon_ops.operate.prompts import Question
from canon_ops.runtime.clock import ManualClock, SystemClock
from tests.support.scripted_prompts import ScriptedPrompts
from tests.unit.cli.conftest import Runner

OWNER = Owner("env", "agent_1")
START_MS = 1_790_000_000_000  # 2026-09-21T14:13:20Z


@pytest.fixture
def file(home: Path) -> Path:
    """One pending for ever, one whose asking was abandoned, one decided and not yet told."""
    (home / ".hermes").mkdir()
    clock = ManualClock(START_MS)
    store = ApprovalStore(home / ".canon" / "detached-approvals.json", clock=clock, process="gateway 7")
    for number, summary in ((1, "Pay 100 ILS?"), (2, "=2+2\nfor Acme"), (3, "File invoice 12345")):
        name = f"hermes-{number}"
        store.apply_one(
            name, Reserve(name, f"convo-{number}", "c", 9e12, OWNER, summary, "owner-1", process="gateway 7")
        )
        store.apply_one(name, Activate("c", 9e12, "owner-1"))
        clock._elapsed_s += 60
    store.apply_one("hermes-2", ClaimConsume("k", "gateway 7"))
    store.apply_one("hermes-3", ClaimConsume("k", "gateway 7"))
    store.apply_one("hermes-3", FinishConsume("k", Decided(Decision.DENY, "owner-1"), wakes=True))
    return store.file


def test_no_registry_is_no_failure(program: Runner, home: Path) -> None:
    """Looking makes no file."""
    (home / ".hermes").mkdir()

    assert program("approvals", "list").out == ""
    assert program("approvals", "list", terminal=True).out == "There are no approvals.\n"
    assert program("approvals", "verify").code == 0
    assert program("approvals", "audit", "--json").json["data"]["steps"] == []
    assert program("approvals", "show", "hermes-1").code == 1
    assert not (home / ".canon").exists()


def test_the_newest_comes_first(program: Runner, file: Path) -> None:
    """State, summary and what each needs; the options choose."""
    rows = [line.split("\t") for line in program("approvals", "list").out.splitlines()]

    assert [(row[0], row[1], row[4]) for row in rows] == [
        ("hermes-3", "resolved: deny", "decided, agent not yet told"),
        ("hermes-2", "consuming", "in doubt"),
        ("hermes-1", "pending", "waiting for the human"),
    ]
    assert rows[1][2] == "=2+2 for Acme"
    assert len(program("approvals", "list", "--state", "pending").out.splitlines()) == 1
    assert len(program("approvals", "list", "--needs", "wake").out.splitlines()) == 1
    assert len(program("approvals", "list", "--conversation", "convo-2").out.splitlines()) == 1
    assert len(program("approvals", "list", "--since", "2026-09-21T14:14:00+00:00").out.splitlines()) == 2
    assert program("approvals", "list", "--since", "1m").out == ""
    assert program("approvals", "list", "--since", "yesterday").code == 2


def test_the_item_of_the_contract(program: Runner, file: Path) -> None:
    """Command-line contract: the keys of an item, and a lease that nobody holds any more."""
    document = program("approvals", "list", "--json").json
    item = next(row for row in document["data"]["approvals"] if row["approval_id"] == "hermes-2")

    assert {
        "approval_id", "status", "decision", "conversation_id", "summary", "requested_at", "expires_at",
        "response_user_id", "responded_by", "wake_status", "lease", "needs",
    } <= set(item)  # fmt: skip
    assert item["lease"] == {
        "kind": "consume", "owner": "gateway 7", "expires_at": "2026-09-21T14:17:20Z", "live": False,
    }  # fmt: skip
    assert (item["summary"], item["requested_at"]) == ("=2+2\nfor Acme", "2026-09-21T14:14:20Z")


def test_one_approval(program: Runner, file: Path) -> None:
    """What was asked of whom, how it stands, what to do; a beginning of the id will do."""
    out = program("approvals", "show", "hermes-3").out

    assert "File invoice 12345" in out
    assert "resolved: deny" in out
    assert "decided, agent not yet told" in out
    assert "canon-ops gateway status" in out, "telling the agent is its gateway's business"
    assert "canon-ops approvals reconcile hermes-2" in program("approvals", "show", "hermes-2").out
    assert "needs" not in program("approvals", "show", "hermes-1").out, "it is the human's turn"
    assert program("approvals", "show", "hermes-3", "--json").json["data"]["decision"] == "deny"
    ran = program("approvals", "show", "hermes")
    assert (ran.code, "Several approvals begin" in ran.err) == (1, True)


FAR, PAST = 9e12, 1


@pytest.mark.parametrize("blank", ["", " ", "\t"])
@pytest.mark.parametrize(
    "words", [("show",), ("reconcile", "--apply"), ("abandon", "--apply"), ("audit",)], ids=" ".join
)
def test_a_blank_id_means_none(program: Runner, home: Path, words: tuple[str, ...], blank: str) -> None:
    """Every id begins with nothing: a script whose variable is empty must not end the one approval that there is."""
    (home / ".hermes").mkdir()
    store = ApprovalStore(home / ".canon" / "detached-approvals.json", clock=ManualClock(START_MS))
    store.apply_one("hermes-1", Reserve("hermes-1", "convo-1", "c", PAST, OWNER))
    before = store.file.read_bytes()

    ran = program("approvals", *words, blank)

    assert (ran.code, "an ID that is empty" in ran.err) == (2, True)
    assert store.file.read_bytes() == before


STANDINGS: dict[str, tuple[dict[str, Any], str]] = {
    "at_work": ({"status": "creating", "createClaimId": "c", "createClaimExpiresAt": "soon"}, "nothing"),
    "waiting": ({"status": "pending"}, "nothing"),
    "answered": ({"status": "pending", "receiptPending": True}, "reconcile"),
    "overdue": ({"status": "pending", "expiresAt": PAST}, "reconcile"),
    "in_doubt": ({"status": "pending", "reconcilePending": True}, "reconcile"),
    "in_doubt, creation": ({"status": "creating", "createClaimId": "c", "createClaimExpiresAt": PAST}, "reconcile"),
    "in_doubt, clock": ({"status": "consuming", "consumeClaimId": "c", "consumeClaimExpiresAt": FAR}, "reconcile"),
    "untold": ({"status": "resolved", "decision": "deny", "wakeStatus": "pending"}, "wake"),
    "to_take_back": ({"status": "orphaned", "cancelPending": True}, "reconcile"),
    "settled": ({"status": "resolved", "decision": "allow"}, "nothing"),
}


@pytest.mark.parametrize("case", STANDINGS)
def test_whose_turn_it_is(program: Runner, file: Path, case: str) -> None:
    """What waits for its human in peace needs nobody here; everything else has one command that brings it on."""
    fields, needs = STANDINGS[case]
    entry = {"approvalId": "hermes-1", "conversationId": "c", "expiresAt": FAR, **fields}
    if entry.get("createClaimExpiresAt") == "soon":
        entry["createClaimExpiresAt"] = SystemClock().now_ms() + 60_000
    file.write_text(json.dumps({"hermes-1": entry}))

    (item,) = program("approvals", "list", "--json").json["data"]["approvals"]
    screen, shown = program("approvals", "list", terminal=True).out, program("approvals", "show", "hermes-1").out
    found = program("approvals", "list", "--needs", needs, "--json").json["data"]["approvals"]

    helps = {"nothing": None, "reconcile": "canon-ops approvals reconcile hermes-1", "wake": "canon-ops gateway status"}
    assert (item["standing"], item["needs"], item["next"]) == (case.split(",")[0], needs, helps[needs])
    assert [row["approval_id"] for row in found] == ["hermes-1"]
    assert ("canon-ops" in screen, "canon-ops" in shown) == (needs != "nothing",) * 2
    assert item["next"] is None or item["next"] in shown
    said = program("approvals", "show", "hermes-1", terminal=True).out
    assert ("approvals abandon hermes-1" in said) == (case in ("overdue", "untold")), "nothing else may be given up"


RESOLVED = {"status": "resolved", "decision": "deny", "respondedBy": "owner-1"}
ENDS: dict[str, tuple[dict[str, Any], str]] = {
    "decided": (RESOLVED, "deny by owner-1"),
    "expired": ({"status": "expired"}, "nobody answered in time"),
    "refused": (
        {"status": "orphaned", "creationError": "Canon rejected it (400)"},
        "never open: Canon rejected it (400)",
    ),
    "wrong human": ({"status": "orphaned", "identityMismatch": True, "respondedBy": "m-9"}, "by m-9 and not by"),
    "nameless": ({"status": "orphaned", "identityMismatch": True}, "did not say who answered"),
    "gone": ({"status": "orphaned"}, "no longer knows it"),
    "given up": ({"status": "orphaned", "abandonReason": "no key"}, "an operator gave it up: no key"),
}


@pytest.mark.parametrize("case", ENDS)
def test_how_it_ended(program: Runner, file: Path, case: str) -> None:
    """An approval that came to nothing says why, to people and to scripts."""
    fields, why = ENDS[case]
    file.write_text(
        json.dumps({"hermes-1": {"approvalId": "hermes-1", "conversationId": "c", "expiresAt": 1, **fields}})
    )

    shown = program("approvals", "show", "hermes-1").out
    row = program("approvals", "show", "hermes-1", "--json").json["data"]

    assert (why in shown, why in row["why"], row["needs"]) == (True, True, "nothing")


def test_looking_changes_nothing(program: Runner, file: Path) -> None:
    """BR-55: neither the registry nor its trail, by any of the commands that look."""
    before = {path.name: path.read_bytes() for path in file.parent.iterdir()}

    for words in (["list"], ["show", "hermes-1"], ["verify"], ["audit"], ["export"], ["prune"]):
        program("approvals", *words)

    assert {path.name: path.read_bytes() for path in file.parent.iterdir()} == before


def test_export(program: Runner, file: Path) -> None:
    """JSON and CSV hold the same; no cell is a formula."""
    rows = json.loads(program("approvals", "export").out)
    cells = list(csv.DictReader(io.StringIO(program("approvals", "export", "--format", "csv").out)))
    document = program("approvals", "export", "--json").json["data"]

    assert [row["approval_id"] for row in document["approvals"]] == [row["approval_id"] for row in rows]
    assert (
        [row["approval_id"] for row in rows]
        == [row["approval_id"] for row in cells]
        == ["hermes-3", "hermes-2", "hermes-1"]
    )
    assert cells[1]["summary"] == "'=2+2\nfor Acme"


def test_the_trail(program: Runner, file: Path) -> None:
    """Every step with its reason; for one approval, or all."""
    ran = program("approvals", "audit", "hermes-3")

    assert [line.split("\t")[2] for line in ran.out.splitlines()] == [
        "nothing -> creating",
        "creating -> pending",
        "pending -> consuming",
        "consuming -> resolved/pending",
    ]
    assert "a human decided: deny by owner-1" in ran.out
    assert len(program("approvals", "audit", "--json").json["data"]["steps"]) == 9


def test_a_trail_that_was_changed(program: Runner, file: Path) -> None:
    """Exit code 1, with the place."""
    trail = file.with_name("detached-approvals.audit")
    trail.write_bytes(trail.read_bytes().replace(b"deny by", b"allow by"))

    ran = program("approvals", "audit", "--json")

    assert ran.code == 1
    assert [(fault["line"], fault["approval_id"]) for fault in ran.json["data"]["faults"]] == [(9, "hermes-3")]


ODD_VALUES: tuple[Any, ...] = (
    10**400,
    -(10**400),
    1e308,
    -1,
    True,
    None,
    "7",
    "\x1b[2J\u202e\ud83d\n",
    ["x"],
    {"a": {}},
)


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: ascii(value)[:16])
@pytest.mark.parametrize("name", ["at", "process", "approval", "transition", "from", "to", "why", "gist", "batch"])
def test_whatever_an_edited_line_holds_it_is_named(program: Runner, file: Path, name: str, value: Any) -> None:
    """An audit of a trail that somebody edited tells the line, whatever stands in it now."""
    trail = file.with_name("detached-approvals.audit")
    lines = trail.read_text().splitlines()
    trail.write_text("\n".join([lines[0], json.dumps(json.loads(lines[1]) | {name: value}), *lines[2:]]) + "\n")

    ran, document = program("approvals", "audit"), program("approvals", "audit", "--json").json

    assert (ran.code, document["exit_code"], ran.err) == (1, 1, "")
    assert 2 in [fault["line"] for fault in document["data"]["faults"]]
    assert not set("\x1b\u202e") & set(ran.out)


def test_a_damaged_entry_is_named(program: Runner, file: Path) -> None:
    """A3: list shows it, show refuses it, verify fails; the file stays."""
    root = json.loads(file.read_text()) | {"hermes-9": {"status": "escalated"}}
    file.write_text(json.dumps(root))
    before = file.read_bytes()

    assert [row["approval_id"] for row in program("approvals", "list", "--json").json["data"]["damaged"]] == [
        "hermes-9"
    ]
    assert "left as it is" in program("approvals", "show", "hermes-9").err
    ran = program("approvals", "verify", "--json")
    assert (ran.code, [fault["approval_id"] for fault in ran.json["data"]["faults"]]) == (1, ["hermes-9"])
    assert program("approvals", "verify", "--quarantine").code == 2
    assert file.read_bytes() == before


@pytest.mark.parametrize("data", [b"{not json", b"[]", b"\xff", b'{"a": 1, "a": 2}'])
def test_a_registry_that_cannot_be_read(program: Runner, file: Path, data: bytes) -> None:
    """It is reported with the place and left; only --quarantine with consent moves it, byte for byte."""
    file.write_bytes(data)

    for words in (["list"], ["show", "hermes-1"], ["audit"], ["prune"], ["export"]):
        ran = program("approvals", *words)
        assert (ran.code, "canon-ops approvals verify" in ran.err) == (3, True), words
    assert program("approvals", "verify").code == 1
    assert program("approvals", "verify", "--quarantine", "--no-input").code == 2
    assert file.read_bytes() == data

    moved = Path(program("approvals", "verify", "--quarantine", "--yes", "--json").json["data"]["moved_to"])
    assert moved.read_bytes() == data
    assert moved.stat().st_mode & 0o777 == 0o600
    assert program("approvals", "list").code == 0


def test_a_registry_that_was_mended_meanwhile(program: Runner, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the operator thinks about it somebody puts the file back: then it is not moved, whatever they answer."""
    whole = file.read_bytes()
    file.write_bytes(b"{not json")

    class Slow(ScriptedPrompts):
        def confirm(self, question: Question, *, default: bool) -> bool:
            file.write_bytes(whole)
            return True

    monkeypatch.setattr("canon_ops.cli.prompts.prompts_for", lambda session: Slow())

    ran = program("approvals", "verify", "--quarantine")

    assert (ran.code, "can be read by now" in ran.err) == (ExitCode.CONFLICT, True)
    assert file.read_bytes() == whole
    assert list(file.parent.glob("*damaged*")) == []


ENDED = {"conversationId": "c", "expiresAt": 1, "resolvedAt": 1}
AGES: dict[str, dict[str, Any]] = {
    "expired": {"status": "expired"},
    "told": {"status": "resolved", "decision": "allow", "wakeStatus": "delivered"},
    "untold": {"status": "resolved", "decision": "deny", "wakeStatus": "pending"},
    "telling": {
        "status": "resolved",
        "decision": "deny",
        "wakeStatus": "delivering",
        "wakeClaimId": "k",
        "wakeClaimExpiresAt": 1,
    },
    "open": {"status": "pending"},
    "asking": {"status": "consuming", "consumeClaimId": "k", "consumeClaimExpiresAt": 1},
    "creating": {"status": "creating", "createClaimId": "k", "createClaimExpiresAt": 1},
}


@pytest.fixture
def aged(file: Path) -> Path:
    """Approvals of 1970 in every state."""
    file.write_text(json.dumps({name: {**ENDED, "approvalId": name, **fields} for name, fields in AGES.items()}))
    return file


def test_prune_plans_first(program: Runner, aged: Path) -> None:
    """Nothing goes by a plan, nor without consent; what is shown is what goes."""
    before = aged.read_bytes()

    planned = program("approvals", "prune", "--dry-run", "--json").json["data"]
    refused = program("approvals", "prune", "--no-input")
    shown = program("approvals", "prune", "--dry-run")

    assert (planned["dry_run"], planned["approval_ids"]) == (True, ["expired", "told"])
    assert [(old["status"], old["decision"], old["ended_at"][:4]) for old in planned["plan"]] == [
        ("expired", None, "1970"),
        ("resolved", "allow", "1970"),
    ]
    assert [line.split("\t")[0] for line in shown.out.splitlines()[:2]] == ["expired", "told"]
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert aged.read_bytes() == before


def test_prune_drops_ends_that_were_told(program: Runner, aged: Path) -> None:
    """R10.7: never what is undecided, nor a decision that the agent has not heard; the trail tells what went."""
    gone = program("approvals", "prune", "--yes", "--json").json["data"]
    again = program("approvals", "prune", "--json").json["data"]

    assert (gone["approval_ids"], again["approval_ids"]) == (["expired", "told"], [])
    assert set(json.loads(aged.read_text())) == set(AGES) - {"expired", "told"}
    steps = program("approvals", "audit", "--json").json["data"]["steps"]
    assert [
        (step["approval_id"], step["transition"], step["after"]) for step in steps if step["transition"] == "dropped"
    ] == [
        ("expired", "dropped", ""),
        ("told", "dropped", ""),
    ]


def test_only_what_was_shown_is_pruned(program: Runner, aged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What grew old while the operator thought about it waits for the next time."""

    class Slow(ScriptedPrompts):
        def confirm(self, question: Question, *, default: bool) -> bool:
            root = json.loads(aged.read_text())
            root["open"] |= {"status": "orphaned"}
            aged.write_text(json.dumps(root))
            return True

    monkeypatch.setattr("canon_ops.cli.prompts.prompts_for", lambda session: Slow())

    program("approvals", "prune")

    assert "open" in json.loads(aged.read_text())
    assert "told" not in json.loads(aged.read_text())


def test_a_restored_registry_is_acknowledged(program: Runner, file: Path, home: Path) -> None:
    """Audit and doctor say so until somebody has said why; then that stands in the trail, and nothing of it is gone."""
    old = file.read_bytes()
    store = ApprovalStore(file, process="gateway 7")
    store.apply_one("hermes-1", ClaimConsume("k", "gateway 7"))
    file.write_bytes(old)
    store.apply_one("hermes-2", FinishConsume("k", Decided(Decision.DENY, "owner-1"), wakes=True))
    before = program("approvals", "audit", "--json")
    trail = file.with_name("detached-approvals.audit").read_bytes()

    refused = program("approvals", "audit", "--acknowledge", "from the backup", "--no-input")
    done = program("approvals", "audit", "--acknowledge", "from the backup", "--yes", "--json")
    after = program("approvals", "audit", "--json")

    assert (before.code, [fault["approval_id"] for fault in before.json["data"]["faults"]]) == (1, ["hermes-1"])
    assert refused.code == 2
    assert (done.code, done.json["data"]["acknowledged"], len(done.json["data"]["faults"])) == (0, 1, 1)
    assert (after.code, after.json["data"]["faults"]) == (0, [])
    last = after.json["data"]["steps"][-1]
    assert (last["transition"], last["process"]) == ("acknowledged", "canon-ops")
    assert last["why"].endswith(": from the backup")
    assert last["why"] != ": from the backup"
    assert "foreign" in {step["transition"] for step in after.json["data"]["steps"]}
    assert file.with_name("detached-approvals.audit").read_bytes().startswith(trail)


def test_what_comes_after_an_acknowledgement_is_a_fault_again(program: Runner, file: Path) -> None:
    """It is about what stood above it."""
    for decision in ("allow", "deny"):
        file.write_text(file.read_text().replace('"summary": "', f'"summary": "{decision} '))
        assert program("approvals", "audit").code == 1
        assert program("approvals", "audit", "--acknowledge", "seen", "--yes").code == 0
        assert program("approvals", "audit").code == 0
    transitions = [step["transition"] for step in program("approvals", "audit", "--json").json["data"]["steps"]]
    assert transitions[-8:] == ["foreign"] * 3 + ["acknowledged"] + ["foreign"] * 3 + ["acknowledged"]


def test_nothing_is_acknowledged_unseen(program: Runner, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody does while the operator thinks about it is not acknowledged along with what was shown."""
    file.write_text(file.read_text().replace('"deny"', '"allow"'))

    class Slow(ScriptedPrompts):
        def confirm(self, question: Question, *, default: bool) -> bool:
            file.write_text(file.read_text().replace("Pay 100", "Pay 900"))
            return True

    monkeypatch.setattr("canon_ops.cli.prompts.prompts_for", lambda session: Slow())

    ran = program("approvals", "audit", "--acknowledge", "seen")

    assert ran.code == ExitCode.CONFLICT
    assert len(program("approvals", "audit", "--json").json["data"]["faults"]) == 2


def test_an_acknowledgement_needs_faults_and_a_reason(program: Runner, file: Path) -> None:
    """Nothing is written where nothing was found; and it is about the whole trail."""
    trail = file.with_name("detached-approvals.audit")
    before = trail.read_bytes()

    assert "nothing to acknowledge" in program("approvals", "audit", "--acknowledge", "seen", "--yes").out
    assert program("approvals", "audit", "--acknowledge", " ").code == 2
    assert program("approvals", "audit", "hermes-1", "--acknowledge", "seen").code == 2
    assert trail.read_bytes() == before


def test_status_counts_what_is_open_and_due(program: Runner, file: Path) -> None:
    """Two are open, one of them expires first; a decision that nobody was told of is for a gateway to act on."""
    (file.parents[1] / ".hermes" / "config.yaml").write_text("{}\n")

    seen = program("status", "--json").json["data"]["profiles"][0]["approvals"]
    screen = program("status", terminal=True).out

    assert seen == {"open": 2, "first_expires_at_ms": 9e12, "due": 2, "damaged": 0}
    assert "2 open, the first expires 2255-03-14 16:00 UTC" in screen
    assert "2 approvals wait for a gateway to act." in screen


def test_status_is_quiet_without_a_registry(program: Runner, home: Path) -> None:
    """Most homes have none: no row, and null for scripts."""
    (home / ".hermes").mkdir()

    assert program("status", "--json").json["data"]["profiles"][0]["approvals"] is None
    assert "Approvals" not in program("status", terminal=True).out


def test_status_tells_a_damaged_registry(program: Runner, file: Path) -> None:
    """Its own line with its own cure; all else stands."""
    file.write_text("[")

    ran = program("status", "--json")

    (told,) = [one for one in ran.json["data"]["profiles"][0]["in_the_way"] if one["about"] == "approvals"]
    assert told["fix"] is not None
    assert ran.json["data"]["profiles"][0]["gateway"] is not None
