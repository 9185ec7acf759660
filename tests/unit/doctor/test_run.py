"""What the runner makes of checks that answer, cannot, take too long, or are broken themselves."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from borgee_hermes.doctor_checks import CHECKS as BORGEE_CHECKS
from canon_ops.doctor.check import Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination, Fact, FactMissing
from canon_ops.doctor.registry import CHECKS, LIVE_CHECKS, PROBE_CHECKS, UnknownCheck, areas, select
from canon_ops.doctor.run import Diagnosis, diagnose
from canon_ops.errors import ExitCode, NotFoundError
from canon_ops.hermes.homes import resolve_home
from canon_ops.hermes.host_call import _DESCRIBE_S, _DISCOVER_S, _FACTS_S, _IMPORT_S

OK = Finding(Status.OK, "Good.")


def check(run: Callable[[Examination], Any], name: str = "a.b", **more: Any) -> Check:
    return Check(name, "Title", "Question?", run, **more)


@pytest.fixture
def examination(tmp_path: Path) -> Examination:
    environ = {"HOME": str(tmp_path)}
    return Examination(resolve_home(environ), environ)


def broken(_: Examination) -> Finding:
    raise KeyError("gone")


def only(diagnosis: Diagnosis) -> Finding:
    (verdict,) = diagnosis.verdicts
    return verdict.finding


def test_findings_keep_the_order_of_the_checks(examination: Examination) -> None:
    """Whatever finishes first, the report is in the order of the registry, and one check may find several things."""
    second_done = threading.Event()

    def first(_: Examination) -> tuple[Finding, ...]:
        second_done.wait(5)
        return Finding(Status.OK, "1a"), Finding(Status.OK, "1b")

    def second(_: Examination) -> Finding:
        second_done.set()
        return Finding(Status.OK, "2")

    diagnosis = diagnose([check(first), check(second, "a.c")], examination)

    assert [verdict.finding.message for verdict in diagnosis.verdicts] == ["1a", "1b", "2"]


def test_a_check_that_takes_too_long_is_unknown(examination: Examination) -> None:
    """The limit is the check's own, and the others are not held up."""

    async def stuck(_: Examination) -> Finding:
        await asyncio.Event().wait()
        return OK

    diagnosis = diagnose([check(stuck, limit_s=0.01), check(lambda _: OK)], examination)

    assert [verdict.finding for verdict in diagnosis.verdicts] == [
        Finding(
            Status.UNKNOWN,
            "No answer within 0.01 s.",
            Fix("canon-ops doctor --only a.b   # when this machine has less to do"),
        ),
        OK,
    ]


def test_a_check_that_asks_the_host_outlives_the_host_s_own_limits() -> None:
    """So that on a busy machine the question's own sentence is told, with its cure; the plain limit says less."""
    slowest_s = _FACTS_S + max(_IMPORT_S, _DESCRIBE_S, _DISCOVER_S)
    asking = {"host.contract", "gateway.hooks", "plugin.import", "borgee.plugin", "borgee.contract"}

    limits = {each.id: each.limit_s for each in (*CHECKS, *BORGEE_CHECKS) if each.id in asking}

    assert limits.keys() == asking
    assert {name for name, limit_s in limits.items() if limit_s <= slowest_s} == set()


def test_a_check_that_hangs_in_its_thread_holds_up_nothing(examination: Examination) -> None:
    """A read from a dead mount never returns: the limit ends the run, and the thread is left behind."""
    never = threading.Event()

    diagnosis = diagnose([check(lambda _: never.wait() and OK, limit_s=0.01), check(lambda _: OK)], examination)

    assert [verdict.finding.status for verdict in diagnosis.verdicts] == [Status.UNKNOWN, Status.OK]


@pytest.mark.parametrize("delivered_to", ["process", "thread"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_a_run_that_hangs(number: signal.Signals, code: int, delivered_to: str, tmp_path: Path) -> None:
    """SIGTERM and Ctrl-C reach the loop while a check hangs, and nothing joins its thread afterwards.

    A signal that another thread got does not end the waiting of the main one, as little as one that comes just before.
    """
    to_itself = f"signal.pthread_kill(threading.get_ident(), {int(number)})" if delivered_to == "thread" else "pass"
    script = f"""
import os, signal, sys, threading, time
from canon_ops.cli.errors import failure_of
from canon_ops.cli.run import signals_raise
from canon_ops.doctor.check import Check
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.run import diagnose
from canon_ops.hermes.homes import resolve_home
from canon_ops.hermes.host_call import _DESCRIBE_S, _DISCOVER_S, _FACTS_S, _IMPORT_S

def hang(_):
    os.write(1, b"hangs\\n")  # a print would hold a lock that the end of Python waits for
    time.sleep(0.2)  # until the loop waits
    {to_itself}
    threading.Event().wait()

environ = {{"HOME": {str(tmp_path)!r}}}
try:
    with signals_raise():
        diagnose([Check("a.b", "T", "Q?", hang)], Examination(resolve_home(environ), environ))
except BaseException as exc:
    sys.exit(failure_of(exc).exit_code)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "hangs\n"

        if delivered_to == "process":
            process.send_signal(number)

        assert process.wait(10) == code


def test_a_missing_fact_is_a_skip_that_points_on(examination: Examination) -> None:
    """The check that tells more is named in words and in the data."""

    def run(_: Examination) -> Finding:
        raise FactMissing("host.found")

    assert only(diagnose([check(run)], examination)) == Finding(
        Status.SKIPPED, "Not asked: host.found tells why.", data={"needs": "host.found"}
    )


def test_an_error_that_the_check_did_not_expect_is_unknown(examination: Examination) -> None:
    """An error of ours keeps its words, its fix and its place."""

    def run(_: Examination) -> Finding:
        raise NotFoundError("It is gone.", fix="look for it", file="f", line=3)

    assert only(diagnose([check(run)], examination)) == Finding(
        Status.UNKNOWN, "It is gone.", Fix("look for it"), Place("f", 3), {"code": "not_found"}
    )


def test_a_fault_in_a_check_hides_no_other_finding(examination: Examination) -> None:
    """A bug is reported as one, beside everything that was found."""
    diagnosis = diagnose([check(broken), check(lambda _: OK)], examination)

    assert [verdict.finding.status for verdict in diagnosis.verdicts] == [Status.UNKNOWN, Status.OK]
    assert diagnosis.verdicts[0].finding.data["fault"] == "KeyError: 'gone'"


def test_offline_leaves_out_what_goes_out(examination: Examination) -> None:
    """A check of the network is not even started."""
    examination.offline = True

    found = only(diagnose([check(broken, network=True)], examination))

    assert found.status is Status.SKIPPED
    assert "--offline" in found.message


@pytest.mark.parametrize(
    ("statuses", "strict", "asked_for", "code"),
    [
        ("ok info skipped unknown", False, False, ExitCode.DONE),
        ("ok warning", False, False, ExitCode.DONE),
        ("ok warning", True, False, ExitCode.FAILED),
        ("ok error", False, False, ExitCode.FAILED),
        ("ok unknown", False, True, ExitCode.OUTSIDE),
        ("error unknown", False, True, ExitCode.FAILED),
        ("ok skipped", False, True, ExitCode.DONE),
    ],
)
def test_the_exit_code_is_the_contract(
    statuses: str, strict: bool, asked_for: bool, code: ExitCode, examination: Examination
) -> None:
    """BR-39, BR-40: 0 healthy, 1 findings, 3 when what was asked for could not be checked."""
    findings = [Finding(Status(word), "m") for word in statuses.split()]

    diagnosis = diagnose([check(lambda _: tuple(findings))], examination)

    assert diagnosis.exit_code(strict=strict, asked_for=asked_for) is code


@pytest.mark.parametrize(("asked_for", "code"), [(True, ExitCode.OUTSIDE), (False, ExitCode.DONE)])
def test_what_waits_for_another_check_was_not_checked(
    asked_for: bool, code: ExitCode, examination: Examination
) -> None:
    """BR-40: a check that was asked for and waits for another, or for a host, is not green; offline is a choice."""

    def run(_: Examination) -> Finding:
        raise FactMissing("host.found")

    examination.offline = True

    held_up = diagnose([check(run)], examination)
    left_out = diagnose([check(run, network=True)], examination)

    assert held_up.exit_code(asked_for=asked_for) is code
    assert left_out.exit_code(asked_for=asked_for) is ExitCode.DONE


def test_the_document_has_the_promised_fields(examination: Examination) -> None:
    """One entry a finding and a summary that names all six statuses."""
    found = Finding(Status.ERROR, "Bad.", Fix("mend it"), Place("f", 1, 2, "a.b"), {"x": 1})

    document = diagnose([check(lambda _: found)], examination).as_data()

    assert document == {
        "checks": [
            {
                "id": "a.b", "area": "a", "title": "Title", "status": "error", "message": "Bad.", "file": "f",
                "line": 1, "column": 2, "path": "a.b", "fix": {"command": "mend it", "automatic": False},
                "data": {"x": 1},
            }
        ],
        "summary": {"ok": 0, "info": 0, "warning": 0, "error": 1, "skipped": 0, "unknown": 0},
    }  # fmt: skip


def test_a_fact_is_fetched_once(examination: Examination) -> None:
    """Many askers at once get one fetch, and so does an error."""
    fetched: list[int] = []

    def fetch() -> int:
        fetched.append(1)
        if len(fetched) > 1:
            raise AssertionError
        return 7

    def unfetchable() -> int:
        fetched.append(2)
        raise NotFoundError("no")

    good, bad = Fact("a.a", fetch), Fact("a.b", unfetchable)

    diagnosis = diagnose(
        [check(lambda _: Finding(Status.OK, str(good())))] * 8 + [check(lambda _: Finding(Status.OK, str(bad())))] * 8,
        examination,
    )

    assert fetched == [1, 2] or fetched == [2, 1]
    assert [verdict.finding.message for verdict in diagnosis.verdicts] == ["7"] * 8 + ["Not asked: a.b tells why."] * 8
    with pytest.raises(NotFoundError):
        bad.examine()


@pytest.mark.parametrize(
    ("named", "skipped", "area", "ids"),
    [
        (["plugin.enabled", "host.found"], [], [], ["host.found", "plugin.enabled"]),
        ([], ["net.api"], ["net"], ["net.proxy", "net.stream", "net.tls", "net.clock", "net.environment"]),
        (
            ["net.api"],
            [],
            ["host"],
            ["host.found", "host.version", "host.python", "host.layout", "host.command", "host.contract", "net.api"],
        ),
    ],
)
def test_checks_are_chosen_by_name_and_area(
    named: list[str], skipped: list[str], area: list[str], ids: list[str]
) -> None:
    """Names and areas add up, what is skipped is taken out, the order stays."""
    assert [check.id for check in select(named, skipped, area)] == ids


@pytest.mark.parametrize(("named", "skipped", "area"), [("host.fund", "", ""), ("", "x", ""), ("", "", "nett")])
def test_an_unknown_name_is_a_wrong_call(named: str, skipped: str, area: str) -> None:
    """A typo never turns into "nothing to check"."""
    with pytest.raises(UnknownCheck) as caught:
        select(*([name] if name else [] for name in (named, skipped, area)))

    assert caught.value.exit_code is ExitCode.USAGE


def test_the_registry_is_consistent() -> None:
    """Ids are unique and of two parts, questions are questions, and nothing is left out without a choice."""
    assert len({check.id for check in CHECKS}) == len(CHECKS) >= 15
    assert all(len(check.id.split(".")) == 2 and check.question.endswith("?") and check.title for check in CHECKS)
    assert select() == CHECKS
    assert [check.id for check in (*CHECKS, *PROBE_CHECKS, *LIVE_CHECKS) if check.about is None] == []
    assert all(check.live for check in LIVE_CHECKS)
    assert {"host", "plugin", "config", "env", "platform", "gateway", "settings", "creds", "net", "fs"} <= {*areas()}
    assert [check.id for check in CHECKS if check.live] == []


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({}, "canon-ops setup canon"),
        ({"profile": "default"}, "canon-ops setup canon --profile default"),
        ({"hermes_home": "/a b"}, "canon-ops setup canon --hermes-home '/a b'"),
    ],
)
def test_a_cure_is_aimed_at_the_examined_home(options: dict[str, str], command: str, tmp_path: Path) -> None:
    """A command to paste acts on the home that was examined, not on the one that happens to be active."""
    environ = {"HOME": str(tmp_path)}

    assert Examination(resolve_home(environ, **options), environ).command("setup canon") == command
