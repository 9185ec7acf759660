"""The wheel holds exactly our three import packages, and pip finds no conflict beside the real host."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from canon_ops.cli.tree import leaves
from canon_ops.operate.package.wheel import Wheel, from_checkout

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.checkout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, built once."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_top_level_names_are_the_three_packages(wheel: Path) -> None:
    """Nothing but canon_ops, canon_hermes_plugin and borgee_hermes becomes importable."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name.split("/")[0] for name in archive.namelist()}

    packages = {name for name in names if not name.endswith((".dist-info", ".data"))}

    assert packages == {"canon_ops", "canon_hermes_plugin", "borgee_hermes"}


def test_each_package_is_typed_and_brings_its_manifest(wheel: Path) -> None:
    """py.typed lies in all three packages, plugin.yaml in both plugins."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    assert {f"{package}/py.typed" for package in ("canon_ops", "canon_hermes_plugin", "borgee_hermes")} <= names
    assert {"canon_hermes_plugin/plugin.yaml", "borgee_hermes/plugin.yaml"} <= names


def test_the_manual_completions_and_schemas_are_data_of_the_wheel(wheel: Path) -> None:
    """They lie where man and the shells look below a prefix: a page and a schema for each command, a script a shell."""
    with zipfile.ZipFile(wheel) as archive:
        shared = {name.partition(".data/data/")[2] for name in archive.namelist() if ".data/data/" in name}

    pages = {f"share/man/man1/{'-'.join(('canon-ops', *words))}.1" for words, _ in leaves()}
    scripts = {
        "share/bash-completion/completions/canon-ops",
        "share/zsh/site-functions/_canon-ops",
        "share/fish/vendor_completions.d/canon-ops.fish",
    }
    assert pages | scripts <= shared
    assert len([name for name in shared if name.startswith("share/canon-ops/schemas/")]) >= len(pages)


def test_entry_points_name_modules(wheel: Path) -> None:
    """The host wants an object with a ``register`` attribute, so each entry point names a package, not a function."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/entry_points.txt")]
        text = archive.read(name).decode()

    section = text.split("[hermes_agent.plugins]")[1].split("[")[0]

    assert sorted(line for line in section.splitlines() if line.strip()) == [
        "borgee = borgee_hermes",
        "canon-hermes = canon_hermes_plugin",
    ]


def test_no_hermes_and_no_test_tool_is_a_hard_dependency(wheel: Path) -> None:
    """Whoever installs the toolkit outside a host gets no Hermes with it."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        text = archive.read(name).decode()

    hard = [line for line in text.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]

    assert hard
    assert not [line for line in hard if "hermes" in line or "pytest" in line]


def test_pip_finds_no_conflict_beside_the_host() -> None:
    """Our ranges contain the host's exact pins: ``pip check`` is clean in the environment that holds both."""
    result = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout


def test_the_wheel_of_a_running_checkout_is_the_built_one(wheel: Path) -> None:
    """What `install` puts together from an editable installation has the files of the build, byte for byte."""
    built = Wheel.read(wheel)
    info = Path(str(metadata.distribution("canon-ops")._path))  # type: ignore[attr-defined]

    made = from_checkout(info, ROOT)

    def contents(one: Wheel) -> dict[str, str]:
        own = (".dist-info/WHEEL", ".dist-info/METADATA")  # the builder's name; the moment of `pip install -e`
        return {name: digest for name, digest in one.digests.items() if not name.endswith(own)}

    assert contents(made) == contents(built)
    assert (made.file_name, made.version) == (built.file_name, built.version)
