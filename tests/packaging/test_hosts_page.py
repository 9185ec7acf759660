"""What a run of the whole end-to-end set writes into the tables of hosts."""

from __future__ import annotations

import re
from datetime import date

import pytest

from canon_ops.hermes.audited import AUDITED_HOSTS, Evidence
from scripts import test_hosts
from scripts.hosts_page import HEADING, NAMED, REFUSED_HEADING, Run, recorded, refused_rows_of, rows_of
from tests.support.environments import CHECKOUT

pytestmark = pytest.mark.checkout

PAGE = f"""# Hosts

{HEADING}
|---|---|---|---|---|---|---|---|
| 1.0 | 3.11 | linux | run | 2026-01-01 | – | 600 | – |
| 1.0 | 3.12 | linux | run | – | – | – | – |
| 1.0 | 3.12 | darwin | document | – | – | – | – |

The rest, with | 1.0 | 3.11 | in it.

{REFUSED_HEADING}
|---|---|---|---|---|---|---|---|
| 2.0 | 3.13 | linux | – | – | – | – | – |
"""


def test_a_run_is_written_into_its_row() -> None:
    """The day, the commit and the counts; other rows, other platforms and the text keep every byte."""
    runs = [Run("1.0", "3.11", "2026-02-03", "abc1", 612, 3), Run("1.0", "3.12", "2026-02-03", "abc1", 611, 4)]

    page = recorded(PAGE, runs, "linux")

    assert page == PAGE.replace("2026-01-01 | – | 600 | –", "2026-02-03 | `abc1` | 612 | 3").replace(
        "linux | run | – | – | – | –", "linux | run | 2026-02-03 | `abc1` | 611 | 4"
    )
    assert [row.passed for row in rows_of(page)] == ["612", "611", "–"]


def test_a_run_that_failed_is_no_evidence() -> None:
    """The row of an audited host keeps what it had."""
    assert recorded(PAGE, [Run("1.0", "3.11", "2026-02-03", "abc1", 612, 3, ("t::a",))], "linux") == PAGE


@pytest.mark.parametrize(
    ("failed", "cell"),
    [
        ((), "none"),
        (("t.a::b", "t.a::c"), "`t.a::b`<br>`t.a::c`"),
        (("t.b::x", *(f"t.a::{number}" for number in range(NAMED))), f"`t.a` {NAMED}<br>`t.b` 1"),
    ],
)
def test_a_refused_host_shows_what_failed(failed: tuple[str, ...], cell: str) -> None:
    """Good or bad, it stands there; a second run takes the place of the first."""
    page = recorded(PAGE, [Run("2.0", "3.13", "2026-02-03", "abc1", 5, 9, ("t::old",))], "linux")

    page = recorded(page, [Run("2.0", "3.13", "2026-02-04", "abc2", 6, 8, failed)], "linux")

    assert page == PAGE.replace(
        "| 2.0 | 3.13 | linux | – | – | – | – | – |", f"| 2.0 | 3.13 | linux | 2026-02-04 | `abc2` | 6 | 8 | {cell} |"
    )
    assert [row.failed for row in refused_rows_of(page)] == [cell]


def test_a_host_without_a_row_gets_none() -> None:
    """Which hosts are audited is decided by people."""
    assert recorded(PAGE, [Run("3.0", "3.11", "2026-02-03", "abc1", 612, 3)], "linux") == PAGE
    assert recorded(PAGE, [Run("1.0", "3.11", "2026-02-03", "abc1", 612, 3)], "darwin") == PAGE


@pytest.mark.parametrize("page", ["no table", f"{HEADING}\n|---|\n| 1.0 | 3.11 |\n\n"])
def test_a_page_without_its_table_is_an_error(page: str) -> None:
    """Nothing is recorded into the void."""
    with pytest.raises(ValueError, match="table"):
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
            assert row.commit == row.skipped == "–" or int(row.skipped) <= test_hosts.MOST_SKIPPED
        else:
            assert (row.day, row.commit, row.passed, row.skipped) == ("–", "–", "–", "–")


def test_the_page_of_hosts_shows_what_has_no_row() -> None:
    """The next host and the refused one stand there with what ran on them, and when."""
    page = CHECKOUT.joinpath("docs", "hosts.md").read_text(encoding="utf-8")

    shown = refused_rows_of(page)

    assert [row.hermes for row in shown] == [*test_hosts.REFUSED, *test_hosts.NEXT]
    for row in shown:
        if row.day == "–":
            assert {row.commit, row.passed, row.skipped, row.failed} == {"–"}
        else:
            assert date.fromisoformat(row.day).year >= 2026
            assert re.fullmatch(r"`[0-9a-f]{12}`", row.commit)
            assert int(row.passed) >= test_hosts.LEAST_REFUSED
            assert row.failed != "–"
