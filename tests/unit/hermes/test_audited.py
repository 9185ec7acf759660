"""The audited table refuses exactly, and says what was found and what is required."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.hermes.audited import AUDITED_HOSTS, Audited, AuditedHost, Evidence, Refused, audit

ROWS = (
    AuditedHost("0.19.0", "3.11", "linux", Evidence.RUN),
    AuditedHost("0.19.0", "3.12", "linux", Evidence.RUN),
    AuditedHost("0.21.0", "3.13", "linux", Evidence.DOCUMENT),
    AuditedHost("0.21.0", "3.13", "darwin", Evidence.DOCUMENT),
)


@pytest.mark.parametrize("row", AUDITED_HOSTS, ids=lambda row: f"{row.hermes}-{row.python}-{row.platform}")
def test_every_row_admits_its_host(row: AuditedHost) -> None:
    """S1.13: a host in the table is audited, whatever the interpreter's patch level."""
    assert audit(row.hermes, f"{row.python}.99", row.platform) == Audited(row)


def test_no_row_stands_twice() -> None:
    """The key of the table is version, Python minor and platform."""
    keys = [(row.hermes, row.python, row.platform) for row in AUDITED_HOSTS]

    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("version", "python", "platform", "code", "sentence"),
    [
        ("0.19.1", "3.11.4", "linux", "host_version_unaudited",
         "This is Hermes 0.19.1; audited on Linux are 0.19.0 and 0.21.0."),
        ("0.21.0.post1", "3.13.1", "darwin", "host_version_unaudited",
         "This is Hermes 0.21.0.post1; audited on macOS are 0.21.0."),
        (None, "3.11.4", "linux", "host_version_unaudited",
         "This is Hermes of unknown version; audited on Linux are 0.19.0 and 0.21.0."),
        ("0.19.0", "3.14.0", "linux", "host_python_unaudited",
         "Hermes 0.19.0 runs on Python 3.14 here; it is audited on Python 3.11 and 3.12."),
        ("0.19.0", "3.11.0", "win32", "host_platform_unaudited",
         "This is Windows; the Canon and Borgee platforms run on Linux and macOS only."),
    ],
)  # fmt: skip
def test_a_refusal_names_found_and_required(
    version: str | None, python: str, platform: str, code: str, sentence: str
) -> None:
    """S1.13: an unaudited host is refused with one sentence that holds both sides."""
    refused = audit(version, python, platform, rows=ROWS)

    assert isinstance(refused, Refused)
    assert (refused.code, refused.sentence) == (code, sentence)


def test_the_advice_is_a_version_that_was_run() -> None:
    """A version known on paper only is never what we tell people to install while another has been run."""
    refused = audit("0.5.0", "3.11", "linux", rows=ROWS)

    assert isinstance(refused, Refused)
    assert refused.fix == "Install an audited Hermes: pip install hermes-agent==0.19.0"


@pytest.mark.checkout
def test_the_page_of_hosts_shows_the_table() -> None:
    """docs/hosts.md lists exactly the rows of the table, in its order."""
    page = Path(__file__).parents[3].joinpath("docs", "hosts.md").read_text(encoding="utf-8")

    lines = page.partition("| Hermes |")[2].partition("\n\n")[0].splitlines()[2:]
    shown = [tuple(part.strip() for part in line.strip("|").split("|")) for line in lines]

    assert [row[:4] for row in shown] == [
        (row.hermes, row.python, row.platform, row.evidence.value) for row in AUDITED_HOSTS
    ]
