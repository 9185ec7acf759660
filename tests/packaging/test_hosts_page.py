"""What a run of the whole end-to-end set writes into the table of audited hosts."""

from __future__ import annotations

from datetime import date

import pytest

from canon_ops.hermes.audited import AUDITED_HOSTS, Evidence
from scripts.hosts_page import HEADING, Run, recorded, rows_of
from tests.support.environments import CHECKOUT

pytestmark = pytest.mark.checkout

PAGE = f"""# Hosts

{HEADING}
|---|---|---|---|---|---|
| 1.0 | 3.11 | linux | run | 2026-01-01 | 600 |
| 1.0 | 3.12 | linux | run | – | – |
| 1.0 | 3.12 | darwin | document | – | – |

The rest, with | 1.0 | 3.11 | in it.
"""


def test_a_run_is_written_into_its_row() -> None:
    """The day and the count; other rows, other platforms and the text keep every byte."""
    page = recorded(PAGE, [Run("1.0", "3.11", "2026-02-03", 612), Run("1.0", "3.12", "2026-02-03", 611)], "linux")

    assert page == PAGE.replace("2026-01-01 | 600", "2026-02-03 | 612").replace(
        "linux | run | – | –", "linux | run | 2026-02-03 | 611"
    )
    assert [row.passed for row in rows_of(page)] == ["612", "611", "–"]


def test_a_host_without_a_row_gets_none() -> None:
    """Which hosts are audited is decided by people."""
    assert recorded(PAGE, [Run("2.0", "3.11", "2026-02-03", 612)], "linux") == PAGE
    assert recorded(PAGE, [Run("1.0", "3.11", "2026-02-03", 612)], "darwin") == PAGE


@pytest.mark.parametrize("page", ["no table", f"{HEADING}\n|---|\n| 1.0 | 3.11 |\n\n"])
def test_a_page_without_its_table_is_an_error(page: str) -> None:
    """Nothing is recorded into the void."""
    with pytest.raises(ValueError, match="table of audited hosts"):
        rows_of(page)


def test_the_page_of_hosts_shows_the_table() -> None:
    """docs/hosts.md lists exactly the rows of the table, in its order, with the day and the count of each run."""
    page = CHECKOUT.joinpath("docs", "hosts.md").read_text(encoding="utf-8")

    shown = rows_of(page)

    assert [(row.hermes, row.python, row.platform, row.evidence) for row in shown] == [
        (row.hermes, row.python, row.platform, row.evidence.value) for row in AUDITED_HOSTS
    ]
    for row in shown:
        if row.evidence == Evidence.RUN.value:
            assert date.fromisoformat(row.day).year >= 2026
            assert int(row.passed) > 500, "the whole set, not its core"
        else:
            assert (row.day, row.passed) == ("–", "–")
