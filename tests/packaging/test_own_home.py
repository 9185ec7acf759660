"""Nothing in the tests touches the home of whoever runs them."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from canon_hermes_plugin.host import home_folder
from tests.support.own_home import move_out

SET_BY_THE_HOST = {"HERMES_EXEC_ASK", "HERMES_QUIET"}  # its gateway does when it is imported, maybe for an earlier test


@pytest.mark.host
def test_the_process_of_a_test_has_a_home_of_its_own() -> None:
    """The host in this process would put its state there, too."""
    real = Path(pwd.getpwuid(os.getuid()).pw_dir)

    assert Path.home() != real
    assert not home_folder().is_relative_to(real) or real == Path("/")
    assert not [name for name in os.environ if name.startswith(("HERMES_", "XDG_")) and name not in SET_BY_THE_HOST]


def test_tools_keep_their_settings_and_nothing_else_comes_along(tmp_path: Path) -> None:
    """What somebody has set for a tool stays; what they have set for Hermes and Canon does not."""
    (tmp_path / ".config" / "pip").mkdir(parents=True)
    (tmp_path / ".config" / "pip" / "pip.conf").touch()
    (tmp_path / ".pyenv").mkdir()
    environ = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin",
        "PYENV_ROOT": "/elsewhere",
        **dict.fromkeys(("HERMES_HOME", "CANON_API_KEY", "BORGEE_API_KEY", "XDG_STATE_HOME"), "x"),
    }

    home = move_out(environ)

    assert environ == {
        "HOME": str(home),
        "PATH": "/usr/bin",
        "PYENV_ROOT": "/elsewhere",
        "PIP_CONFIG_FILE": str(tmp_path / ".config" / "pip" / "pip.conf"),
    }
    assert list(home.iterdir()) == []
