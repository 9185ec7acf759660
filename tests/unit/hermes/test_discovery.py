"""The interpreter is found from what people start, and asked who it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import canon_ops
from canon_ops.hermes.discovery import (
    HostNotFound,
    HowFound,
    Layout,
    find_host,
    find_hosts,
    interpreter_of,
)
from canon_ops.hermes.installer import Installer
from tests.support.fake_host import clean_environ, make_environment, put_hermes, script
from tests.support.hosts import THIS_HOST

PACKAGE = Path(canon_ops.__file__).parent


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    python = make_environment(tmp_path / "env")
    put_hermes(python)
    return python


@pytest.mark.host
def test_the_running_interpreter_comes_first() -> None:
    """A canon-ops that lives beside Hermes, and was started by its path, acts on that Hermes."""
    host = find_host(clean_environ())

    assert (host.python, host.how, host.version) == (Path(sys.executable), HowFound.RUNNING, THIS_HOST.hermes)
    assert host.is_running_interpreter
    assert host.hermes_command == Path(sys.executable).parent / "hermes"


@pytest.mark.parametrize(
    "text",
    [
        "#!{python}\nfrom hermes_cli.main import main\n",
        "#!{python} -E\n",
        "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\nimport sys\n",
        '#!/usr/bin/env bash\nset -e\nexec "{python}" -m hermes_cli.main "$@"\n',
        '#!/bin/bash\nexec "$VENV/bin/python" -m hermes_cli.main "$@"\n',
        '#!/bin/sh\nexec "{launcher}" "$@"\n',
    ],
    ids=["direct", "with an option", "long path", "wrapper", "variable", "wrapper of a launcher"],
)
def test_a_launcher_leads_to_its_python(text: str, environment: Path, tmp_path: Path) -> None:
    """Each form in which the command is written names the interpreter of the environment, not what it links to."""
    inner = script(tmp_path / "env" / "bin" / "hermes", f"#!{environment}\n")
    launcher = script(tmp_path / "bin" / "hermes", text.format(python=environment, launcher=inner))

    python = interpreter_of(launcher, clean_environ(VENV=str(environment.parent.parent)))

    assert python == environment


@pytest.mark.parametrize(
    "text", ["", "\x7fELF\x00\x01", "#!\n", '#!/bin/sh\nexec "{self}"\n', "#!/bin/sh\nexec 'open\n"]
)
def test_a_launcher_that_says_nothing_gives_nothing(text: str, tmp_path: Path) -> None:
    """An unreadable form, or a wrapper of itself, is None and never an endless search."""
    launcher = tmp_path / "hermes"
    script(launcher, text.replace("{self}", str(launcher)))

    assert interpreter_of(launcher, clean_environ()) is None


def test_env_python_is_looked_up_on_the_given_path(environment: Path, tmp_path: Path) -> None:
    """``env python3`` means the first one on the caller's PATH."""
    launcher = script(tmp_path / "hermes", "#!/usr/bin/env python3\n")

    python = interpreter_of(launcher, clean_environ(PATH=str(environment.parent)))

    assert python == environment.parent / "python3"


def others(environ: dict[str, str]) -> dict[HowFound, tuple[Path, str | None, Layout]]:
    return {
        host.how: (host.facts.prefix, host.version, host.layout)
        for host in find_hosts(environ)
        if not host.is_running_interpreter
    }


def test_the_command_on_path_leads_to_its_environment(environment: Path, tmp_path: Path) -> None:
    """A launcher on PATH is followed to the interpreter that it runs."""
    script(tmp_path / "bin" / "hermes", f"#!{environment}\n")

    found = others(clean_environ(PATH=str(tmp_path / "bin"), HOME=str(tmp_path)))

    assert found == {HowFound.LAUNCHER: (tmp_path / "env", "0.19.0", Layout.VENV)}


def test_a_launcher_of_unknown_form_is_asked_for_its_folder(environment: Path, tmp_path: Path) -> None:
    """When its text does not say, the folder that ``hermes --version`` prints does."""
    folder = tmp_path / "env" / "lib" / "python3.x" / "site-packages"
    script(tmp_path / "bin" / "hermes", f"#!/bin/sh\necho 'Hermes Agent v0.19.0'\necho 'Install directory: {folder}'\n")

    found = others(clean_environ(PATH=f"{tmp_path / 'bin'}:{os.defpath}", HOME=str(tmp_path)))

    assert found == {HowFound.LAUNCHER: (tmp_path / "env", "0.19.0", Layout.VENV)}


def test_the_official_layout_is_found_without_a_command(tmp_path: Path) -> None:
    """The installer's checkout below the home is found, and its own uv is what installs there: it has no pip."""
    root = tmp_path / ".hermes"
    python = make_environment(root / "hermes-agent" / "venv")
    put_hermes(python, "0.21.0", folder=root / "hermes-agent")
    root.joinpath("hermes-agent", "pyproject.toml").touch()
    uv = script(root / "bin" / "uv", "#!/bin/sh\n")

    hosts = [host for host in find_hosts(clean_environ(HOME=str(tmp_path))) if not host.is_running_interpreter]

    assert [(host.python, host.how, host.layout) for host in hosts] == [(python, HowFound.CHECKOUT, Layout.CHECKOUT)]
    assert hosts[0].installer == Installer("uv", (str(uv), "pip"))
    assert hosts[0].installer.command(python, "install", "x") == [
        str(uv), "pip", "install", "--python", str(python), "x",
    ]  # fmt: skip


def test_an_image_is_not_installed_into(tmp_path: Path) -> None:
    """The marker of a container image leaves us without an installer: advice, not action."""
    python = make_environment(tmp_path / "env")
    put_hermes(python, folder=tmp_path / "opt")
    tmp_path.joinpath("opt", ".install_method").write_text("docker\n")

    host = find_host(clean_environ(), python=python)

    assert (host.layout, host.installer) == (Layout.CONTAINER, None)


def test_the_option_takes_an_interpreter_or_its_environment(environment: Path) -> None:
    """``--python`` accepts the folder too, and looks nowhere else."""
    by_file = find_host(clean_environ(), python=environment)
    by_folder = find_host(clean_environ(), python=environment.parent.parent)

    assert by_file == by_folder
    assert by_file.how is HowFound.OPTION


def test_an_option_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    """A missing interpreter and one without Hermes are two different sentences."""
    bare = make_environment(tmp_path / "bare")

    with pytest.raises(HostNotFound, match="There is no interpreter at"):
        find_host(clean_environ(), python=tmp_path / "nothing")
    with pytest.raises(HostNotFound, match="has no Hermes in it"):
        find_host(clean_environ(), python=bare)


def test_without_any_host_the_places_are_named(tmp_path: Path) -> None:
    """From an environment without Hermes and with none in sight, the error lists where we looked and what helps."""
    bare = make_environment(tmp_path / "bare")
    tmp_path.joinpath("canon_ops").symlink_to(PACKAGE)  # an installed one may have Hermes beside it
    program = (
        "from canon_ops.hermes.discovery import find_host\n"
        "from canon_ops.errors import CanonOpsError\n"
        "try:\n    find_host({'HOME': '/nonexistent', 'PATH': '/nonexistent'})\n"
        "except CanonOpsError as error:\n    print(error.code, int(error.exit_code), error.what, sep='\\n')\n"
        "    print(error.fix)\n"
    )

    answer = subprocess.run(
        [str(bare), "-c", program], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    ).stdout.splitlines()

    assert answer[:2] == ["host_not_found", "3"]
    assert f"{bare} has none in it; no hermes command on PATH; no environment in /nonexistent/.hermes/" in answer[2]
    assert (
        "   # none yet? python3." in answer[3] and "-m venv ~/hermes-venv && ~/hermes-venv/bin/pip install" in answer[3]
    )


@pytest.mark.parametrize(
    ("started", "path", "wins"),
    [
        ("ours/bin/canon-ops", ["theirs", "ours"], "theirs"),
        ("ours/bin/canon-ops", ["theirs"], "ours"),
        ("lib/canon_hermes_plugin/cli.py", ["theirs", "ours"], "ours"),
        ("ours/bin/canon-ops", ["ours", "theirs"], "ours"),
        ("ours/bin/canon-ops", ["ours"], "ours"),
    ],
    ids=["typed", "by its path", "python -m", "typed, and hermes is ours", "typed, and there is no other"],
)
def test_whoever_types_our_name_means_the_hermes_that_they_type(
    started: str, path: list[str], wins: str, tmp_path: Path
) -> None:
    """BR-32: two Hermes side by side; an interpreter that somebody named beats PATH, a bare name does not."""
    pythons = {name: make_environment(tmp_path / name) for name in ("ours", "theirs")}
    for name, python in pythons.items():
        put_hermes(python)
        if name == "theirs" or path[0] == "ours":
            script(python.parent / "hermes", f"#!{python}\n")
    script(tmp_path / "ours" / "bin" / "canon-ops", f"#!{pythons['ours']}\n")
    tmp_path.joinpath("canon_ops").symlink_to(PACKAGE)
    program = (
        "import sys\n"
        f"sys.argv[0] = {str(tmp_path / started)!r}\n"
        f"sys.path.append({str(tmp_path)!r})\n"
        "from canon_ops.hermes.discovery import find_host, is_running_host\n"
        f"environ = {{'HOME': '/nonexistent', 'PATH': {':'.join(str(tmp_path / one / 'bin') for one in path)!r}}}\n"
        "print(find_host(environ).python, is_running_host(environ))\n"
    )

    answer = subprocess.run(
        [str(pythons["ours"]), "-c", program], env={}, capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()

    assert answer == [str(pythons[wins]), str(wins == "ours")]
