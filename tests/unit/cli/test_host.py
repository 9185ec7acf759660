"""``canon-ops host``: what is shown of a Hermes, and what a platform misses in it."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from canon_ops.cli.commands.host import list_command, show_command
from canon_ops.cli.schemas import document_schema
from canon_ops.hermes.audited import AUDITED_HOSTS
from canon_ops.hermes.contract_canon import CANON_NEEDS
from tests.support.fake_host import make_environment, put_contract, put_hermes, site_of
from tests.unit.cli.conftest import Runner


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An audited Hermes that keeps the contract."""
    python = make_environment(tmp_path / "env")
    put_hermes(python)
    put_contract(python, CANON_NEEDS)
    return python


def test_a_host_that_keeps_the_contract(program: Runner, python: Path) -> None:
    """Version, interpreter, verdict and contract; the JSON document says the same and is what its schema promises."""
    ran, document = (
        program("host", "show", "--python", str(python)),
        program("host", "show", "--python", str(python), "--json"),
    )

    assert ran.code == 0
    assert "hermes\t0.19.0 (hermes-agent, venv, found through --python)\n" in ran.out
    assert f"contract\t{len(CANON_NEEDS)} of {len(CANON_NEEDS)} symbols are as canon needs them." in ran.out
    jsonschema.validate(document.json, document_schema(show_command.document_words, show_command.data))
    assert document.json["data"]["contract"]["worst"] is None
    assert document.json["data"]["host"]["audited"] is True


def test_a_host_with_one_symbol_removed(program: Runner, python: Path) -> None:
    """Exit 1; the symbol, what it is for, and nothing else is named."""
    file = site_of(python) / "gateway" / "session.py"
    file.write_text(file.read_text().replace("def build_session_key(", "def build_key("))

    ran = program("host", "show", "--python", str(python), "--json")

    (difference,) = ran.json["data"]["contract"]["differences"]
    assert (ran.code, ran.json["ok"]) == (1, False)
    assert difference["path"] == "gateway.session:build_session_key"
    assert difference["effect"] == "breaks"
    assert ran.json["errors"][0]["code"] == "host_contract"


def test_an_unaudited_host_is_shown_with_its_refusal(program: Runner, tmp_path: Path) -> None:
    """Exit 1, because nothing of ours works there; the reason, the cure, and what it lacks stand in the answer."""
    python = make_environment(tmp_path / "env")
    put_hermes(python, "0.17.0")
    put_contract(python, CANON_NEEDS[3:])

    ran = program("host", "show", "--python", str(python.parent.parent), "--json")

    data = ran.json["data"]
    assert (ran.code, [error["code"] for error in ran.json["errors"]][:2]) == (1, ["host_unaudited", "host_contract"])
    assert data["host"]["audited"] is False
    assert data["host"]["reason"].startswith("This is Hermes 0.17.0; audited on ")
    assert data["host"]["fix"].startswith("Install an audited Hermes: ")
    assert f"{python} " in data["host"]["fix"]  # of that environment, not of whatever pip is first on PATH
    assert [one["path"] for one in data["contract"]["differences"]] == [need.path for need in CANON_NEEDS[1:3]]


def test_the_list_names_the_audited_hosts(program: Runner) -> None:
    """Every row of the table, and whatever Hermes is found here first."""
    ran = program("host", "list", "--json")

    jsonschema.validate(ran.json, document_schema(list_command.document_words, list_command.data))
    assert [row["hermes_version"] for row in ran.json["data"]["audited"]] == [row.hermes for row in AUDITED_HOSTS]
    assert (ran.code == 0) == bool(ran.json["data"]["found"])


@pytest.mark.host
def test_the_host_of_this_environment_is_found(program: Runner) -> None:
    """The Hermes beside canon-ops stands first in the list, and keeps the contract."""
    found = program("host", "list", "--json").json["data"]["found"]
    shown = program("host", "show", "--json").json["data"]

    assert found[0]["python"] == shown["host"]["python"]
    assert shown["contract"]["worst"] in (None, "degrades")
