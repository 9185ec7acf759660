"""Write the tables of docs/hosts.md that say what each platform relies on and which Hermes has it.

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
from canon_ops.hermes.contract_check import NEEDS, contract_differences
from scripts import test_hosts

__all__ = ["AS_NEEDED", "PAGE", "cells", "column", "table"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "hosts.md"
AS_NEEDED = "="
_END = "<!-- end of the contract table -->\n"


def _begin(platform: str) -> str:
    return f"<!-- contract table of {platform}: python -m scripts.contract_table -->\n"


def cells(differences: Sequence[Difference]) -> dict[str, str]:
    """What stands in a host's column: path → its differences with their effect."""
    found: dict[str, str] = {}
    for one in differences:
        said = f"{one.what}: {one.effect.value}"
        found[one.path] = f"{found[one.path]}; {said}" if one.path in found else said
    return found


def table(platform: str, columns: Mapping[str, Mapping[str, str]]) -> str:
    """A row for each symbol that some host has otherwise, in the order of the needs."""
    paths = [need.path for need in NEEDS[platform] if any(need.path in column for column in columns.values())]
    lines = [["symbol", *columns], ["---"] * (len(columns) + 1)]
    lines += [[f"`{path}`", *(column.get(path, AS_NEEDED) for column in columns.values())] for path in paths]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def column(page: str, platform: str, version: str) -> dict[str, str] | None:
    """The differences that the page names for a version; None when it has no column for it."""
    rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in _section(page, platform).splitlines()]
    heads = [cell.partition(" ")[0] for cell in rows[0]]
    if version not in heads:
        return None
    place = heads.index(version)
    return {row[0].strip("`"): row[place] for row in rows[2:] if row[place] != AS_NEEDED}


def _section(page: str, platform: str) -> str:
    return page.partition(_begin(platform))[2].partition(_END)[0].strip("\n") + "\n"


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
    """Ask the environments and write the tables into the page."""
    columns: dict[str, dict[str, dict[str, str]]] = {platform: {} for platform in NEEDS}
    for release in (*test_hosts.REFUSED, *test_hosts.RELEASES, *test_hosts.NEXT):
        python = _interpreter(release)
        if python is None:
            print(f"No environment of Hermes {release}: make test-hosts HOSTS={release}", file=sys.stderr)
            return 1
        for platform, of_platform in columns.items():
            found = contract_differences(python, environ=os.environ, platform=platform)
            of_platform[_heading(release)] = cells(found)
    page = PAGE.read_text(encoding="utf-8")
    for platform, of_platform in columns.items():
        begin = _begin(platform)
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}\n{table(platform, of_platform)}\n{_END}{rest.partition(_END)[2]}"
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
