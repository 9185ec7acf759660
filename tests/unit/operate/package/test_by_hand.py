"""What a person is told where no command of ours can work: by layout, with every path in full."""

from __future__ import annotations

from pathlib import Path

import pytest

from canon_ops.hermes.discovery import HostInstallation, HowFound, Layout
from canon_ops.hermes.host_call import HostFacts
from canon_ops.hermes.installer import Installer
from canon_ops.operate.package.by_hand import install_by_hand, own_source, remove_by_hand

PYTHON = Path("/opt/an agent/bin/python")
UV, PIP = Installer("uv", ("/x/uv", "pip")), Installer("pip", (str(PYTHON), "-m", "pip"))


def a_host(
    layout: Layout = Layout.VENV, installer: Installer | None = None, *, managed: bool = False, writable: bool = True
) -> HostInstallation:
    facts = HostFacts(
        executable=PYTHON, python="3.11.7", platform="linux", prefix=PYTHON.parents[1], is_venv=True, has_pip=False,
        externally_managed=managed, site=Path("/opt/an agent/lib"), site_writable=writable, hermes=None,
        entry_points=(), owners={},
    )  # fmt: skip
    return HostInstallation(PYTHON, None, HowFound.OPTION, layout, installer, facts)


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (a_host(installer=UV), "/x/uv pip install --python '/opt/an agent/bin/python' "),
        (a_host(installer=PIP), "'/opt/an agent/bin/python' -m pip install "),
        (a_host(), "'/opt/an agent/bin/python' -m ensurepip && '/opt/an agent/bin/python' -m pip install "),
        (a_host(Layout.NIX), "to the Python packages of your Hermes module or flake"),
        (a_host(Layout.CONTAINER), "RUN uv pip install --python '/opt/an agent/bin/python' "),
        (a_host(Layout.SYSTEM, managed=True), "belongs to the system's package manager"),
        (a_host(writable=False), "as the owner of /opt/an agent/lib"),
    ],
    ids=["uv", "pip", "neither", "nix", "image", "system", "not ours"],
)  # fmt: skip
def test_installing_by_hand(host: HostInstallation, words: str) -> None:
    """A command wherever one does it, quoted for a shell; a sentence elsewhere."""
    told = install_by_hand(host)

    assert words in told
    if words.endswith(" "):
        assert own_source() in told


def test_removing_by_hand() -> None:
    """pip is told not to ask; uv never does; without either the place is named."""
    by_pip = remove_by_hand(a_host(installer=Installer("pip", ("pip",))), ["a", "b"])
    by_uv = remove_by_hand(a_host(installer=Installer("uv", ("uv", "pip"))), ["a"])

    assert by_pip == "pip uninstall --yes a b"
    assert by_uv == "uv pip uninstall --python '/opt/an agent/bin/python' a"
    assert (
        remove_by_hand(a_host(), ["a"]) == "remove a from the virtual environment that Hermes runs from (/opt/an agent)"
    )
