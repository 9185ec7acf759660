"""``make test-rows``: the suite with the lowest dependencies that we declare, the newest, and beside each host's pins.

No Hermes is in the lowest and the newest row, because its pins would decide the versions; so the tests marked ``host``
run in ``make test-hosts``, and all others run here. A host's row uses the environment of that target. What came of it
stands in ``.rows/results.json``, each row's output beside its environment.

``make test-rows ROWS="lowest newest"`` chooses rows. Each has its own Python, where a difference shows best;
``PYTHONS=3.12`` takes others, ``PYTHONS=here`` the one of the environment that runs this.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterable

from packaging.requirements import Requirement

from scripts import test_hosts
from scripts.matrix import Row, minors, run_all
from tests.support.environments import CHECKOUT, Environment, find_python

WITHOUT_HOST = "not host and not long"
LOWEST_PYTHON, NEWEST_PYTHON = "3.11", "3.13"
HOST_PYTHON = "3.13"
LEAST = 10_000  # of 12,432 on 2026-12-01: what passed, or the row shows nothing


def lowest(declared: Iterable[str]) -> tuple[str, ...]:
    """The constraints that hold each requirement to the lowest version it admits: ``click==8.1.7``.

    Raises:
        SystemExit: a requirement without a lower bound, which nobody could test.
    """
    constraints = []
    for requirement in map(Requirement, declared):
        if requirement.name == "canon-ops":
            continue
        bounds = [one.version for one in requirement.specifier if one.operator in (">=", "==", "~=")]
        if len(bounds) != 1:
            raise SystemExit(f"{requirement} has no lower bound, or several.")
        constraints.append(f"{requirement.name}=={bounds[0]}")
    return tuple(constraints)


def declared() -> tuple[str, ...]:
    """What users get: the dependencies, and those of the extras that belong to the product."""
    project = tomllib.loads(CHECKOUT.joinpath("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return (
        *project["dependencies"],
        *(one for name, many in extras.items() if name not in ("test", "dev") for one in many),
    )


def rows(wishes: Iterable[str], pythons: Iterable[str] = ()) -> list[Row]:
    """The rows that are asked for, on the Pythons that are asked for; without wishes all of them, each on its own."""
    own = {"lowest": LOWEST_PYTHON, "newest": NEWEST_PYTHON, **dict.fromkeys(test_hosts.RELEASES, HOST_PYTHON)}
    chosen, wanted = tuple(wishes) or tuple(own), minors(pythons)
    if unknown := {*chosen} - {*own}:
        raise SystemExit(f"No such row: {', '.join(sorted(unknown))}. Rows: {', '.join(own)}.")
    return [_row(name, minor) for name in own if name in chosen for minor in wanted or (own[name],)]


def _row(name: str, minor: str) -> Row:
    if name in test_hosts.RELEASES:
        return _beside(name, minor)
    return _without_host(name, minor, lowest(declared()) if name == "lowest" else ())


def _without_host(name: str, minor: str, constraints: tuple[str, ...] = ()) -> Row:
    python = find_python(minor)
    environment = python and Environment(
        f"{name}-py{minor}", python=python, checkout_extra="test", constraints=constraints, parent=".rows"
    )
    return Row((name, minor), environment or None, WITHOUT_HOST, least=LEAST)


def _beside(release: str, minor: str) -> Row:
    host = test_hosts.row(release, minor)
    return Row((f"beside Hermes {release}", minor), host.environment, WITHOUT_HOST, hermes=release, least=LEAST)


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen rows; 0 when all are good."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="lowest, newest, or a Hermes version, separated by blanks")
    parser.add_argument("--pythons", default="", help="minors instead of the rows' own, separated by blanks, or here")
    options, extra = parser.parse_known_args(arguments)
    chosen = rows(options.rows.split(), options.pythons.split())
    return run_all(chosen, ("dependencies", "Python"), CHECKOUT / ".rows" / "results.json", extra)


if __name__ == "__main__":
    sys.exit(main())
