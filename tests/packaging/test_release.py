"""What the release check and the changelog decide, apart from the programs that they call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts.changelog import KINDS, BadFragment, folded, section
from scripts.release_check import Audit, Failed, audit_verdict, checksums, differences

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.checkout


def answer(*rows: Mapping[str, object]) -> str:
    return json.dumps({"dependencies": list(rows), "fixes": []})


SOUND = {"name": "click", "version": "8.1.7", "vulns": []}
ILL = {"name": "idna", "version": "3.6", "vulns": [{"id": "PYSEC-2024-60", "fix_versions": ["3.7"]}]}

UNKNOWN = {"name": "own", "skip_reason": "Dependency not found on PyPI and could not be audited: own (1.0)"}


@pytest.mark.parametrize(
    ("code", "out", "err", "verdict"),
    [
        (0, answer(SOUND), "No known vulnerabilities found", Audit.CLEAN),
        (1, answer(SOUND, ILL), "Found 1 known vulnerability in 1 package", Audit.FOUND),
        (1, "", "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='pypi.org', port=443)", Audit.NOT_DONE),
        (1, "", "ERROR:pip_audit._cli:ReadTimeout", Audit.NOT_DONE),
        (0, answer(UNKNOWN), "No known vulnerabilities found", Audit.NOT_DONE),
    ],
)
def test_what_an_answer_of_the_audit_amounts_to(code: int, out: str, err: str, verdict: Audit) -> None:
    """A service that cannot be reached is told apart from a clean answer, which nothing else passes as."""
    assert audit_verdict(code, out, err) is verdict


@pytest.mark.parametrize(
    ("code", "out", "err"),
    [
        (2, "", "usage: pip-audit"),
        (0, "", ""),
        (0, "[]", ""),
        (0, answer(SOUND, UNKNOWN), "No known vulnerabilities found"),
    ],
)
def test_an_audit_that_did_not_happen_is_no_pass(code: int, out: str, err: str) -> None:
    """Whatever else goes wrong ends the check, whatever the exit code says."""
    with pytest.raises(Failed):
        audit_verdict(code, out, err)


def test_builds_are_compared_by_bytes_and_names() -> None:
    """A file that only one build has differs, too."""
    assert differences({"a": b"1", "b": b"2"}, {"a": b"1", "b": b"3", "c": b""}) == ["b", "c"]
    assert differences({"a": b"1"}, {"a": b"1"}) == []


def test_checksums_are_those_of_sha256sum(tmp_path: Path) -> None:
    """By name, two blanks between."""
    files = [tmp_path / "b", tmp_path / "a"]
    for file in files:
        file.write_text(file.name)

    assert checksums(files) == "".join(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in "ab")


def test_fragments_become_a_section() -> None:
    """Kinds in their order, a sentence a line, whatever breaks its file has."""
    text = section("1.2.0", "2027-01-05", {"z.fixed.md": "It\nworks.\n", "b.added.md": "New.", "a.added.md": "First."})

    assert text == "## 1.2.0 (2027-01-05)\n\n### Added\n\n- First.\n- New.\n\n### Fixed\n\n- It works.\n"


@pytest.mark.parametrize(
    ("name", "text"), [("odd.md", "x"), ("a.repaired.md", "x"), ("a.fixed.md", " \n"), (".md", "x")]
)
def test_a_fragment_that_cannot_be_folded_is_refused(name: str, text: str) -> None:
    """None is left out silently."""
    with pytest.raises(BadFragment):
        section("1.2.0", "2027-01-05", {name: text})


def test_the_newest_release_stands_first() -> None:
    """Behind what introduces the page; the same version twice is refused."""
    first = folded("# Changelog\n\nAbout it.\n", section("1.0.0", "2027-01-01", {"a.added.md": "One."}))
    second = folded(first, section("1.1.0", "2027-02-01", {"a.added.md": "Two."}))

    assert second == (
        "# Changelog\n\nAbout it.\n\n## 1.1.0 (2027-02-01)\n\n### Added\n\n- Two.\n"
        "\n## 1.0.0 (2027-01-01)\n\n### Added\n\n- One.\n"
    )
    with pytest.raises(BadFragment):
        folded(second, section("1.0.0", "2027-03-01", {"a.added.md": "Again."}))


def test_what_is_in_the_folder_can_be_folded() -> None:
    """The next release will not fail on a fragment of today."""
    files = [file for file in ROOT.joinpath("changelog.d").iterdir() if file.name != "README.md"]

    text = section("9.9.9", "2099-01-01", {file.name: file.read_text(encoding="utf-8") for file in files})

    assert text.count("\n- ") == len(files)
    assert KINDS == ("added", "changed", "fixed", "removed", "security")
