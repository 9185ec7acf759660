"""What the program's source says to people who have to mend something: commands to type, and errors without a cure.

Texts are put together from literals, f-strings, names of the module and of the function around them; whatever is known
only at run time is ``X``. What :meth:`HermesHome.own_command` and :meth:`Examination.command` are given counts too.
Docstrings do not: they tell readers of the code.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Told", "told_commands", "uncured"]

PACKAGES = ("canon_ops", "canon_hermes_plugin")
_COMMAND = re.compile(r"canon-ops (?P<words>.*?)(?=$|[;,)`\n]|\.(?:\s|$)|\s{3}|\s#| or |: | and | goes | [<>|] )")
_SIGNS = ("canon-ops", "own_command", "examination.command")  # a file without any of them tells no command


@dataclass(frozen=True)
class Told:
    """One command.

    Attributes:
        words: after ``canon-ops``.
        place: the line where it stands.
        is_begun: the text gets a name, and may be continued elsewhere.
    """

    words: str
    place: str
    is_begun: bool = False


def told_commands() -> list[Told]:
    """All of them, each once a place."""
    return sorted({told for file in _sources() for told in _told_by(file)}, key=lambda told: (told.words, told.place))


def _told_by(file: Path) -> Iterator[Told]:
    source = file.read_text(encoding="utf-8")
    tree = ast.parse(source)
    values = _values(tree, _module_of(file))
    if not any(sign in text for text in (source, *values.values()) for sign in _SIGNS):
        return
    signs = (*_SIGNS, *(name for name, text in values.items() if any(sign in text for sign in _SIGNS)))
    lines = source.splitlines()
    for scope in (tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))):
        if isinstance(scope, ast.FunctionDef):
            first = min((decorator.lineno for decorator in scope.decorator_list), default=scope.lineno)
            own = "\n".join(lines[first - 1 : scope.end_lineno])
            if not any(sign in own for sign in signs):
                continue
        known = {**values, **_assigned(scope, values)} if isinstance(scope, ast.FunctionDef) else values
        nodes = list(_own_nodes(scope))
        parts = {id(part) for node in nodes for part in _parts(node)}
        begun = {id(node) for one in nodes if isinstance(one, ast.Assign) for node in ast.walk(one.value)}
        for node in nodes:
            if id(node) in parts:
                continue
            for text in _texts(node, known):
                for found in _COMMAND.finditer(text):
                    yield Told(found["words"].strip(), f"{_name_of(file)}:{node.lineno}", id(node) in begun)


def _name_of(file: Path) -> Path:
    """``canon_ops/files/lock.py``: the file below the folder in which its package lies."""
    return next(file.relative_to(folder.parent) for folder in _folders() if file.is_relative_to(folder))


def _module_of(file: Path) -> str:
    return ".".join(_name_of(file).with_suffix("").parts).removesuffix(".__init__")


def _values(tree: ast.Module, module: str) -> dict[str, str]:
    """The texts behind the names of a module, imported ones included."""
    found = {name: value for name, value in _assigned(tree, {}).items() if value}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("canon_ops"):
            for alias in node.names:
                if alias.name.isupper():
                    value = getattr(importlib.import_module(str(node.module)), alias.name, None)
                    if isinstance(value, str):
                        found[alias.asname or alias.name] = value
    return found


def _assigned(scope: ast.AST, known: Mapping[str, str]) -> dict[str, str]:
    """The texts that plain assignments give to names, in their order; ``+=`` appends."""
    found: dict[str, str] = {}
    for node in _own_nodes(scope):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if (text := _text(value, {**known, **found})) is not None:
                    found[name] = text
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value) if name in found:
                found[name] += _text(value, {**known, **found}) or ""
    return found


def _own_nodes(scope: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """What stands in ``scope`` itself, functions in it and docstrings left out, in the order of the text."""
    for child in ast.iter_child_nodes(scope):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and child is not scope:
            continue
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue
        if isinstance(child, ast.expr | ast.stmt):
            yield child
        yield from _own_nodes(child)


def _texts(node: ast.AST, known: Mapping[str, str]) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Attribute(attr="own_command"), args=[words]):
            yield f"canon-ops {_text(words, known) or 'X'}"
        case ast.Call(func=ast.Attribute(attr="command", value=ast.Name(id="examination")), args=[words]):
            yield f"canon-ops {_text(words, known) or 'X'}"
        case ast.Constant(value=str()) | ast.JoinedStr() | ast.BinOp():
            yield _text(node, known) or ""


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The pieces of a text that are no texts of their own."""
    match node:
        case ast.JoinedStr(values=parts):
            for part in parts:
                yield part.value if isinstance(part, ast.FormattedValue) and _is_text(part.value) else part
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from (side for side in (left, right) if _is_text(side))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp)


def _text(node: ast.expr, known: Mapping[str, str]) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return known.get(name)
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, known) or "X" for part in parts)
        case ast.FormattedValue(value=value):
            return _text(value, known)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            texts = (_text(left, known), _text(right, known))
            return None if texts == (None, None) else "".join(text or "X" for text in texts)
    return None


def uncured() -> list[tuple[str, str]]:
    """Every place that makes an error of ours without a cure, with the error's class.

    A class that writes its own cure is looked at where it does so.
    """
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in _sources()}
    kept = (ast.ClassDef, ast.Call)
    nodes = {file: [node for node in ast.walk(tree) if isinstance(node, kept)] for file, tree in trees.items()}
    classes = {node.name: node for found in nodes.values() for node in found if isinstance(node, ast.ClassDef)}
    ours = {name for name in (*classes, "CanonOpsError") if _is_ours(name, classes)}
    asking = {name for name in ours if _init(name, classes) is None}  # whoever makes one says its cure
    found = []
    for file in trees:
        name_of_file = _name_of(file)
        for node in nodes[file]:
            place = f"{name_of_file}:{node.lineno}"
            if isinstance(node, ast.Call):
                name = _last_name(node.func)
                if name in asking and not _has_cure(node) and ast.unparse(node.func) != f"click.{name}":
                    found.append((name, place))
            elif node.name in ours and node.name != "CanonOpsError":
                calls = [
                    call
                    for call in ast.walk(_own_init(node) or ast.Pass())
                    if isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__"
                ]
                if calls and not any(map(_has_cure, calls)):
                    found.append((node.name, place))
    return sorted(found)


def _folders() -> list[Path]:
    """Where the packages lie from which this process imports: a checkout, or what a wheel has brought."""
    specs = [importlib.util.find_spec(name) for name in PACKAGES]
    return [Path(folder) for spec in specs if spec for folder in spec.submodule_search_locations or ()]


def _sources() -> list[Path]:
    return [file for folder in _folders() for file in folder.rglob("*.py")]


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _has_cure(call: ast.Call) -> bool:
    return any(keyword.arg in ("fix", None) for keyword in call.keywords)


def _bases(name: str, classes: Mapping[str, ast.ClassDef]) -> list[str]:
    return [ast.unparse(base).rpartition(".")[2] for base in classes[name].bases] if name in classes else []


def _is_ours(name: str, classes: Mapping[str, ast.ClassDef]) -> bool:
    return name == "CanonOpsError" or any(_is_ours(base, classes) for base in _bases(name, classes))


def _own_init(node: ast.ClassDef) -> ast.FunctionDef | None:
    return next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)


def _init(name: str, classes: Mapping[str, ast.ClassDef]) -> str | None:
    """The class that makes the sentence of ``name``; None when the caller does."""
    if name == "CanonOpsError" or name not in classes:
        return None
    if _own_init(classes[name]) is not None:
        return name
    return next((made for base in _bases(name, classes) if (made := _init(base, classes))), None)
