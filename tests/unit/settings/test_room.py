"""What the room promises as a whole: it is pure, light, and its errors are orderly."""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import canon_ops.settings
from canon_ops.errors import CanonOpsError
from canon_ops.settings import problems

FOLDER = Path(canon_ops.settings.__file__).parent
MODULES = sorted(module.name for module in pkgutil.iter_modules([str(FOLDER)]))


def test_the_room_loads_the_standard_library_only() -> None:
    """A fresh interpreter that imports every module of the room has loaded nothing from outside."""
    names = ", ".join(f"canon_ops.settings.{name}" for name in MODULES)
    program = (
        f"import sys, {names}\n"
        "tops = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(tops - set(sys.stdlib_module_names) - {'__main__', 'canon_ops'}))"
    )

    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert run.stdout == "[]\n"


@pytest.mark.parametrize("name", MODULES)
def test_no_module_touches_disk_environment_clock_or_network(name: str) -> None:
    """The sources name no way to reach the outside: everything is handed in."""
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))

    imported = {
        alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in ([ast.alias(node.module or "")] if isinstance(node, ast.ImportFrom) else node.names)
    }
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}

    assert not imported & {
        "os",
        "io",
        "time",
        "random",
        "secrets",
        "uuid",
        "socket",
        "logging",
        "subprocess",
        "asyncio",
    }
    assert "open" not in called
    assert not attributes & {"read_text", "write_text", "read_bytes", "write_bytes", "expanduser", "resolve", "now"}


def test_every_error_has_a_code_of_its_own() -> None:
    """Codes are for scripts: each class has one, and no two share it."""
    classes = [found for name in problems.__all__ if isinstance(found := getattr(problems, name), type)]

    codes = [cls.__dict__["code"] for cls in classes]
    assert all(issubclass(cls, CanonOpsError) and issubclass(cls, ValueError) for cls in classes)
    assert len(set(codes)) == len(codes)
