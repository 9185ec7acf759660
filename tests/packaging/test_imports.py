"""What a gateway pays for our packages at its start: nothing that a terminal or the network needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

FORBIDDEN = ("click", "rich", "questionary", "prompt_toolkit", "keyring", "httpx", "websockets")


@pytest.mark.parametrize("package", ["canon_hermes_plugin", "borgee_hermes", "canon_ops.settings"])
def test_importing_the_plugins_and_the_settings_loads_no_terminal_and_no_network(package: str) -> None:
    """A fresh interpreter imports the package and every public name of it, and finds none of the libraries loaded."""
    script = f"from {package} import *\nimport sys\nsys.stdout.write(' '.join(sys.modules))"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    loaded = set(done.stdout.split())
    assert package in loaded
    assert not loaded & set(FORBIDDEN)
