"""``make test-hosts``: the end-to-end set on every host of the matrix, one environment after the other.

A row is a Hermes release and a Python minor. Its environment lies in ``.hosts/`` and is made once; our package is
installed there editable, with its dependencies beside the host's pins, so a row always tests the checkout as it is.
Rows run one at a time, because a row starts gateways. The core of the set has each seam of a host once; ``SET=whole``
is all of it, and what a row of docs/hosts.md rests on: there ``--record`` writes the day, the commit and the counts,
also those of hosts that have no row. Hosts that must be refused run the tests of the refusal only. The next host cannot
fail the target. A row of which few tests passed or many were skipped is no good one. What came of it stands in
``.hosts/results.json``, each row's output in ``.hosts/<row>.log``.

``make test-hosts HOSTS="0.19.0 0.21.0.post1" PYTHONS=3.13`` chooses rows; ``HOSTS=next`` and ``HOSTS=refused`` too, and
``PYTHONS=here`` is the Python of the environment that runs this.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from canon_ops.hermes.audited import requirement_of
from scripts.hosts_page import Run, recorded
from scripts.matrix import ABSENT, Row, minors, run_all, say
from tests.support.environments import CHECKOUT, Environment, find_python

RELEASES = ("0.18.2", "0.19.0", "0.21.0.post1")
NEXT = ("0.22.2.post1",)  # must not fail the target; Hermes host, 14
REFUSED = ("0.17.0",)
PYTHONS = ("3.11", "3.12", "3.13")
GROUPS = {"next": NEXT, "refused": REFUSED}
END_TO_END = {"core": "host and not long", "whole": "host and (not long or everywhere)"}
CORE = (
    *(
        f"tests/acceptance/{name}"
        for name in (
            "test_gateway_frames.py",
            "test_gateway_tools.py::test_a_question_is_answered",
            "test_gateway_tools.py::test_a_card_is_answered_while_the_turn_waits",
            "test_gateway_approvals.py::test_an_explicit_check_gets_the_answer_and_no_wake",
            "test_borgee_gateway.py",
            "test_both_platforms.py::test_both_answer",
            "test_tools_offered.py::test_a_slow_start_costs_the_model_no_tool",
            "test_install_to_gateway.py",
            "test_hermes_setup.py::test_words_behind_hermes_canon_reach_the_program",
            "test_documented.py::test_the_page_of_hosts_says_what_this_host_has",
        )
    ),
    *(f"tests/unit/hermes/test_{name}.py" for name in ("contract", "contract_borgee", "gateway", "host_call")),
    *(
        f"tests/unit/canon_hermes_plugin/test_{name}.py"
        for name in ("adapter", "host", "probe", "registration", "stream_consumer")
    ),
    "tests/unit/canon_hermes_plugin/hosting/test_queue.py",
    "tests/unit/canon_hermes_plugin/outbound/test_outgoing.py",
    *(f"tests/unit/borgee_hermes/test_{name}.py" for name in ("adapter", "life", "registration")),
)
SETS = {"core": CORE, "whole": ()}
LEAST = {"core": 220, "whole": 750}  # of 267 and 827 on 2026-12-01: what passed, or the row shows nothing
LEAST_REFUSED = 4
MOST_SKIPPED = 20
LIMIT_S = 900.0  # the core on all rows, their environments made
RESULTS = CHECKOUT / ".hosts" / "results.json"
PAGE = CHECKOUT / "docs" / "hosts.md"
REFUSAL_TESTS = ("tests/acceptance/test_refused_host.py",)


def matrix(hosts: Iterable[str], pythons: Iterable[str], which: str = "core") -> list[Row]:
    """The rows that are asked for, in the order of the tables; without wishes all of them.

    Args:
        which: a name in :data:`SETS`.

    Raises:
        SystemExit: a wish that no release or Python fulfils.
    """
    known = (*RELEASES, *NEXT, *REFUSED)
    chosen = {release for wish in hosts for release in GROUPS.get(wish, (wish,))} or {*known}
    wanted = {*minors(pythons)} or {*PYTHONS}
    if unknown := [*(chosen - {*known}), *(wanted - {*PYTHONS})]:
        raise SystemExit(
            f"Not in the matrix: {', '.join(sorted(unknown))}. "
            f"Hosts: {', '.join((*known, *GROUPS))}; Pythons: {', '.join(PYTHONS)}."
        )
    return [
        row(release, minor, which)
        for release in known
        if release in chosen
        for minor in PYTHONS
        if minor in wanted and (release in RELEASES or minor == max(wanted))  # of the others, one Python is enough
    ]


def row(release: str, minor: str, which: str = "whole") -> Row:
    """One host on one Python."""
    python = find_python(minor)
    environment = python and Environment(
        f"hermes-{release}-py{minor}",
        python=python,
        requirements=(requirement_of(release),),
        checkout_extra="test",
    )
    return Row(
        (release, minor),
        environment or None,
        END_TO_END[which],
        REFUSAL_TESTS if release in REFUSED else SETS[which],
        counts=release not in NEXT,
        hermes=release,
        least=LEAST_REFUSED if release in REFUSED else LEAST[which],
        most_skipped=MOST_SKIPPED,
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen rows; 0 when every row that counts is good."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="", help="versions, separated by blanks; next and refused are groups")
    parser.add_argument("--pythons", default="", help="minors, separated by blanks, or here")
    parser.add_argument("--set", default="core", choices=SETS, help="which of the end-to-end tests")
    parser.add_argument("--record", action="store_true", help="write the rows that passed into docs/hosts.md")
    parser.add_argument("--make-only", action="store_true", help="make the environments, run nothing")
    options, extra = parser.parse_known_args(arguments)
    if options.record and (options.set != "whole" or extra):
        parser.error(
            "a row of docs/hosts.md rests on the whole set: --record goes with --set whole and nothing of pytest's"
        )
    commit = commit_of_checkout() if options.record else None
    if options.record and commit is None:
        parser.error("a row of docs/hosts.md names a commit, and this checkout has changes that are in none")
    rows = matrix(options.hosts.split(), options.pythons.split(), options.set)
    if options.make_only:
        for one in rows:
            say(f"{' '.join(one.labels)}: {one.environment.make(say=say) if one.environment else ABSENT}")
        return 0
    limit_s = LIMIT_S if options.set == "core" else None
    code = run_all(rows, ("Hermes", "Python"), RESULTS, extra, limit_s=limit_s)
    if commit is not None:
        runs = [run for one in json.loads(RESULTS.read_text()) if (run := run_of(one, commit)) is not None]
        PAGE.write_text(recorded(PAGE.read_text(encoding="utf-8"), runs, sys.platform), encoding="utf-8")
    return code


def run_of(outcome: Mapping[str, Any], commit: str) -> Run | None:
    """What the page may say of a row of the results: nothing where the tests did not run, or too few of them."""
    if outcome["trouble"]:
        return None
    failed = tuple(failure["name"] for failure in outcome["failures"])
    return Run(*outcome["labels"], outcome["date"], commit, outcome["passed"], outcome["skipped"], failed)


def commit_of_checkout() -> str | None:
    """The commit that is checked out; None where a file differs from it."""
    changed, head = (
        subprocess.run(
            ["git", *words], cwd=CHECKOUT, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
        ).stdout.strip()
        for words in (["status", "--porcelain"], ["rev-parse", "--short=12", "HEAD"])
    )
    return None if changed else head


if __name__ == "__main__":
    sys.exit(main())
