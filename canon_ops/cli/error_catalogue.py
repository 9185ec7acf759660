"""Every error code of the program with the class behind it: found by walking the program, so that none is forgotten.

Importing the rooms takes half a second, which only ``explain`` and a test pay.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import canon_ops
from canon_ops.errors import CanonOpsError, ExitCode

__all__ = ["EXIT_MEANINGS", "error_classes", "first_paragraph"]

# The sandbox needs libraries that an operator may not have, and answers to tests; children are programs.
_LEFT_OUT = ("canon_ops.sandbox", "canon_ops.demo", "canon_ops.__main__", "canon_ops.keyring.child",
             "canon_ops.hermes.host_child")  # fmt: skip

EXIT_MEANINGS = {
    ExitCode.FAILED: "It was refused or failed: somebody has to decide or mend something.",
    ExitCode.USAGE: "The call is wrong, or an answer is missing that nobody could be asked for.",
    ExitCode.OUTSIDE: "Something outside prevents it (the host, the disk, the network), or it is a fault of ours.",
    ExitCode.CREDENTIAL: "A credential is missing, or the server does not take it.",
    ExitCode.CONFLICT: "Somebody else was at it: a file changed, or a lock was not free in time.",
}


def error_classes() -> dict[str, list[type[CanonOpsError]]]:
    """The classes of each code, the one that introduced the code first."""
    for module in _modules():
        importlib.import_module(module)
    found: dict[str, list[type[CanonOpsError]]] = {}
    for kind in _below(CanonOpsError):
        if "code" in vars(kind):
            found.setdefault(kind.code, []).append(kind)
    return found


def first_paragraph(kind: type[CanonOpsError]) -> str:
    """What the class says about itself, on one line."""
    return " ".join(inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].split())


def _modules() -> Iterator[str]:
    for module in pkgutil.walk_packages(canon_ops.__path__, "canon_ops."):
        if not module.name.startswith(_LEFT_OUT):
            yield module.name


def _below(kind: type[CanonOpsError]) -> Iterator[type[CanonOpsError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__.startswith(("canon_ops.", "canon_hermes_plugin.", "borgee_hermes.")):
            yield from _below(child)
