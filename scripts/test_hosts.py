"""``make test-hosts``: the end-to-end set on every host of the matrix, one environment after the other.

A row is a Hermes release and a Python minor. Its environment lies in ``.hosts/`` and is made once; our package is
installed there editable, with its dependencies beside the host's pins, so a row always tests the checkout as it is.
Rows run one at a time, because a row starts gateways. Hosts that must be refused run the tests of the refusal only.
The next host runs the whole set and cannot fail the target. What came of it stands in ``.hosts/results.json``, each
row's output in ``.hosts/<row>.log``.

``make test-hosts HOSTS="0.19.0 0.21.0.post1" PYTHONS=3.13`` chooses rows; ``HOSTS=next`` and ``HOSTS=refused`` too, and
``PYTHONS=here`` is the Python of the environment that runs this.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from canon_ops.hermes.audited import requirement_of
from scripts.matrix import ABSENT, Row, minors, run_all, say
from tests.support.environments import CHECKOUT, Environment, find_python

RELEASES = ("0.18.2", "0.19.0", "0.21.0.post1")
NEXT = ("0.22.2.post1",)  # must not fail the target; Hermes host, 14
REFUSED = ("0.17.0",)
PYTHONS = ("3.11", "3.12", "3.13")
GROUPS = {"next": NEXT, "refused": REFUSED}
END_TO_END = "host and not long"
LIMIT_S = 900.0  # all rows with their environments made
REFUSAL_TESTS = ("tests/acceptance/test_refused_host.py",)


def matrix(hosts: Iterable[str], pythons: Iterable[str]) -> list[Row]:
    """The rows that are asked for, in the order of the tables; without wishes all of them.

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
        row(release, minor)
        for release in known
        if release in chosen
        for minor in PYTHONS
        if minor in wanted and (release in RELEASES or minor == max(wanted))  # of the others, one Python is enough
    ]


def row(release: str, minor: str) -> Row:
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
        END_TO_END,
        REFUSAL_TESTS if release in REFUSED else (),
        counts=release not in NEXT,
        hermes=release,
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen rows; 0 when every row that counts is good."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", default="", help="versions, separated by blanks; next and refused are groups")
    parser.add_argument("--pythons", default="", help="minors, separated by blanks, or here")
    parser.add_argument("--make-only", action="store_true", help="make the environments, run nothing")
    options, extra = parser.parse_known_args(arguments)
    rows = matrix(options.hosts.split(), options.pythons.split())
    if options.make_only:
        for one in rows:
            say(f"{' '.join(one.labels)}: {one.environment.make(say=say) if one.environment else ABSENT}")
        return 0
    return run_all(rows, ("Hermes", "Python"), CHECKOUT / ".hosts" / "results.json", extra, limit_s=LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
