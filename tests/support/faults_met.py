"""Which faults of the sandbox the tests of a module arm: read from the code, not from its words.

A fault is armed by a call of ``fault``. Where its first argument is no literal, it comes from what the test is called
with or walks over: the literals in its parametrisations, in the tables of the module that these name, and in the heads
of its loops. A name in a comment, a docstring or a table that nothing arms is none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

__all__ = ["faults_met"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def faults_met(source: str) -> set[str]:
    """The names that the tests of a module may give to ``fault``; a text that is no fault's name may be among them."""
    tree = ast.parse(source)
    tables = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, _Function) and node.name.startswith("test_")]
    return {name for function in functions for name in _armed_by(function, tables)}


def _armed_by(function: _Function, tables: dict[str, ast.expr]) -> Iterator[str]:
    for call in ast.walk(function):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "fault"):
            continue
        if call.args and isinstance(call.args[0], ast.Constant):
            yield from _texts(call.args[:1])
        elif call.args:
            heads = [loop.iter for loop in ast.walk(function) if isinstance(loop, ast.For | ast.AsyncFor)]
            given = [*function.decorator_list, *heads]
            named = {node.id for one in given for node in ast.walk(one) if isinstance(node, ast.Name)}
            yield from _texts([*given, *(tables[name] for name in named if name in tables)])


def _texts(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for one in nodes:
        for node in ast.walk(one):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
