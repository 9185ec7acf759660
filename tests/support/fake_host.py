"""A Python environment that holds something which looks like Hermes, made in a tenth of a second."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
import tempfile
import venv
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from canon_ops.hermes.contract import Need, Use

__all__ = ["make_environment", "put_contract", "put_distribution", "put_hermes", "put_loader", "site_of"]


@cache
def _template() -> Path:
    """One environment a test process; its copies take a tenth of the time."""
    folder = Path(tempfile.mkdtemp(prefix="environment-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder / "env")
    return folder / "env"


def make_environment(folder: Path) -> Path:
    """A virtual environment without pip, as uv makes them; its interpreter."""
    shutil.copytree(_template(), folder, symlinks=True)
    return folder / "bin" / "python"


def site_of(python: Path) -> Path:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return python.parent.parent / "lib" / version / "site-packages"


def put_hermes(python: Path, version: str = "0.19.0", *, folder: Path | None = None) -> None:
    """Make ``hermes_cli`` importable for ``python``: in its site-packages, or in ``folder`` as a source checkout."""
    home = folder or site_of(python)
    home.joinpath("hermes_cli").mkdir(parents=True)
    home.joinpath("hermes_cli", "__init__.py").write_text(
        f'__version__ = "{version}"\n__release_date__ = "2026.7.20"\n'
    )
    if folder is None:
        put_distribution(python, "hermes-agent", version, {})
    else:
        site_of(python).joinpath("hermes.pth").write_text(f"{folder}\n")


def put_loader(python: Path, rows: list[dict[str, object]]) -> None:
    """Give the fake Hermes a plugin loader that answers these rows, as the host's own would."""
    site_of(python).joinpath("hermes_cli", "plugins.py").write_text(
        "class Manager:\n"
        f"    def list_plugins(self): return {rows!r}\n"
        "def get_plugin_manager(): return Manager()\n"
        "def discover_plugins(): pass\n"
    )


def put_contract(python: Path, needs: Iterable[Need]) -> None:
    """Give the fake Hermes every symbol of ``needs``, each as small as it can be; it keeps the contract."""
    modules: dict[str, dict[str, list[Need]]] = {}
    for need in needs:
        module, _, name = need.path.partition(":")
        modules.setdefault(module, {}).setdefault(name.partition(".")[0], []).append(need)
    for module, symbols in modules.items():
        file = site_of(python).joinpath(*module.split(".")).with_suffix(".py")
        if site_of(python).joinpath(module, "__init__.py").exists():
            continue  # hermes_cli itself: there already, with its version
        file.parent.mkdir(parents=True, exist_ok=True)
        file.parent.joinpath("__init__.py").touch()
        file.write_text("".join(_symbol(name, rows) for name, rows in symbols.items()))


def _symbol(name: str, needs: list[Need]) -> str:
    members = [need for need in needs if "." in need.path.partition(":")[2]]
    if members:
        body = "".join(f"    {_member(need.path.rpartition('.')[2], need)}\n" for need in members)
        return f"class {name}:\n    def __init__(self, *args, **more): ...\n{body}"
    return f"{_member(name, needs[0])}\n"


def _member(name: str, need: Need) -> str:
    if need.use in (Use.CALL, Use.OVERRIDE):
        return f"{'async ' if need.is_async else ''}def {name}(*args, **more): ..."
    return f"{name} = {set(need.holds) or None!r}"


def put_distribution(
    python: Path,
    name: str,
    version: str,
    files: dict[str, str],
    *,
    entry_points: dict[str, str] | None = None,
    requires: Sequence[str] = (),
    editable: Path | None = None,
) -> None:
    """Install a distribution of ``files`` by hand: metadata, RECORD, entry points of the plugin group.

    Args:
        editable: the folder that its note about the installation names.
    """
    site = site_of(python)
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {text}" for text in requires)]
    info.joinpath("METADATA").write_text("\n".join(["Metadata-Version: 2.1", *lines, ""]))
    if editable is not None:
        note = {"url": editable.as_uri(), "dir_info": {"editable": True}}
        info.joinpath("direct_url.json").write_text(json.dumps(note))
    if entry_points:
        lines = [f"{key} = {value}" for key, value in entry_points.items()]
        info.joinpath("entry_points.txt").write_text("\n".join(["[hermes_agent.plugins]", *lines, ""]))
    for path, text in files.items():
        site.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
        site.joinpath(path).write_text(text)
    info.joinpath("RECORD").write_text("".join(f"{path},,\n" for path in [*files, f"{info.name}/METADATA"]))


def script(path: Path, text: str) -> Path:
    """An executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def clean_environ(**more: str) -> dict[str, str]:
    return {"PATH": os.defpath, **more}
