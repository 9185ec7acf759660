"""Write the table of docs/hosts.md that says what Canon relies on and which Hermes has it.

``python -m scripts.contract_table`` asks every environment that `make test-hosts` has made, so make those first. A test
of the end-to-end set holds the column of its own host against the page, on each host.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from canon_hermes_plugin.host import read_host_facts
from canon_ops.hermes.contract import Difference
from canon_ops.hermes.contract_canon import CANON_NEEDS
from canon_ops.hermes.contract_check import contract_differences
from scripts import test_hosts

__all__ = ["AS_NEEDED", "PAGE", "cells", "column", "table"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "hosts.md"
AS_NEEDED = "="
_BEGIN, _END = "<!-- contract table: python -m scripts.contract_table -->\n", "<!-- end of the contract table -->\n"


def cells(differences: Sequence[Difference]) -> dict[str, str]:
    """What stands in a host's column: path → its differences with their effect."""
    found: dict[str, str] = {}
    for one in differences:
        said = f"{one.what}: {one.effect.value}"
        found[one.path] = f"{found[one.path]}; {said}" if one.path in found else said
    return found


def table(columns: Mapping[str, Mapping[str, str]]) -> str:
    """A row for each symbol that some host has otherwise, in the order of the needs."""
    paths = [need.path for need in CANON_NEEDS if any(need.path in column for column in columns.values())]
    lines = [["symbol", *columns], ["---"] * (len(columns) + 1)]
    lines += [[f"`{path}`", *(column.get(path, AS_NEEDED) for column in columns.values())] for path in paths]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def column(page: str, version: str) -> dict[str, str] | None:
    """The differences that the page names for a version; None when it has no column for it."""
    rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in _section(page).splitlines()]
    heads = [cell.partition(" ")[0] for cell in rows[0]]
    if version not in heads:
        return None
    place = heads.index(version)
    return {row[0].strip("`"): row[place] for row in rows[2:] if row[place] != AS_NEEDED}


def _section(page: str) -> str:
    return page.partition(_BEGIN)[2].partition(_END)[0].strip("\n") + "\n"


def _heading(release: str) -> str:
    if release in test_hosts.NEXT:
        return f"{release} (next)"
    return f"{release} (refused)" if release in test_hosts.REFUSED else release


def _interpreter(release: str) -> Path | None:
    """An interpreter with this release: the one that runs this, or one of the matrix's environments."""
    if read_host_facts().version == release:
        return Path(sys.executable)
    environments = [row.environment for row in test_hosts.matrix([release], []) if row.environment]
    return next((one.interpreter for one in environments if one.interpreter.exists()), None)


def main() -> int:
    """Ask the environments and write the table into the page."""
    columns: dict[str, dict[str, str]] = {}
    for release in (*test_hosts.REFUSED, *test_hosts.RELEASES, *test_hosts.NEXT):
        python = _interpreter(release)
        if python is None:
            print(f"No environment of Hermes {release}: make test-hosts HOSTS={release}", file=sys.stderr)
            return 1
        columns[_heading(release)] = cells(contract_differences(python, environ=os.environ))
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(_BEGIN)
    PAGE.write_text(f"{before}{_BEGIN}\n{table(columns)}\n{_END}{rest.partition(_END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
