"""Every error code of the program: the class behind it, or what is to be said about one that has none.

The classes are found by walking the program. A code without a class is an answer that is a refusal at the same time (a
key that is not set, findings of a lint), or a finding that carries a code; those stand in a table, and a test walks the
source so that none is forgotten. Importing the rooms takes half a second, which only ``explain`` and a test pay.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import canon_ops
from canon_ops.errors import CanonOpsError, ExitCode

__all__ = ["EXIT_MEANINGS", "ErrorFacts", "error_classes", "error_facts", "first_paragraph"]

# The sandbox needs libraries that an operator may not have, and answers to tests; children are programs.
_LEFT_OUT = ("canon_ops.sandbox", "canon_ops.demo", "canon_ops.__main__", "canon_ops.keyring.child",
             "canon_ops.hermes.host_child")  # fmt: skip

EXIT_MEANINGS = {
    ExitCode.FAILED: "It was refused or failed: somebody has to decide or mend something.",
    ExitCode.USAGE: "The call is wrong, or an answer is missing that nobody could be asked for.",
    ExitCode.OUTSIDE: "Something outside prevents it (the host, the disk, the network), or it is a fault of ours.",
    ExitCode.CREDENTIAL: "A credential is missing, or the server does not take it.",
    ExitCode.CONFLICT: "Somebody else was at it: a file changed, or a lock was not free in time.",
    ExitCode.INTERRUPTED: "Somebody stopped it; nothing was written, or what was written was taken back.",
    ExitCode.TERMINATED: "The system stopped it; nothing was written, or what was written was taken back.",
}

_WITHOUT_CLASS: Mapping[str, tuple[ExitCode, str]] = {
    "approvals_unsettled": (
        ExitCode.FAILED,
        "Approvals wait for an answer that their agent's key can no longer fetch; they can only be given up.",
    ),
    "config_absent": (ExitCode.FAILED, "The key that was asked for is not set in config.yaml, so its default counts."),
    "creds_findings": (
        ExitCode.FAILED,
        "The audit of credentials has findings; each names its place and its cure.",
    ),
    "env_absent": (ExitCode.FAILED, "The variable that was asked for is set nowhere."),
    "env_duplicate": (ExitCode.FAILED, "A variable is set twice in .env; the last line counts."),
    "env_findings": (ExitCode.FAILED, "The lint of .env has findings; each names its line and its cure."),
    "env_line_ends": (
        ExitCode.FAILED,
        "Lines of .env end in a way that some readers take for part of the value.",
    ),
    "env_mark": (ExitCode.FAILED, "A byte-order mark stands before the first name of .env and hides it from a reader."),
    "env_not_ascii": (
        ExitCode.FAILED,
        "A credential in .env holds characters beyond ASCII, which the gateway drops when it reads it.",
    ),
    "env_not_assignment": (ExitCode.FAILED, "A line of .env is no assignment, so that its readers leave it out."),
    "env_not_utf8": (ExitCode.FAILED, "Bytes of .env are no UTF-8; its readers take them for different characters."),
    "env_readers": (
        ExitCode.FAILED,
        "A value in .env reads differently in the gateway, in Hermes or in a shell.",
    ),
    "gateway_crashed": (ExitCode.FAILED, "The gateway's file says that it runs, and its process is gone."),
    "gateway_not_running": (ExitCode.FAILED, "No gateway runs on the Hermes profile that was asked about."),
    "host_contract": (ExitCode.FAILED, "This Hermes lacks something that the platform cannot do without."),
    "host_platform_unaudited": (ExitCode.FAILED, "Nobody has tried the platforms on this operating system."),
    "host_python_unaudited": (ExitCode.FAILED, "Nobody has tried this Hermes with the Python that runs it here."),
    "host_version_unaudited": (ExitCode.FAILED, "Nobody has tried the platforms with this version of Hermes."),
    "inbox_in_doubt": (ExitCode.FAILED, "A crash left messages of which nobody can tell whether their turn has run."),
    "interrupted": (ExitCode.INTERRUPTED, "The command was interrupted, by Ctrl-C or by the end of its input."),
    "host_unaudited": (ExitCode.FAILED, "Nobody has tried the platforms on the Hermes that is found here."),
    "no_log": (ExitCode.FAILED, "There is no log file, because no gateway has written one yet."),
    "nothing_installed": (ExitCode.FAILED, "No platform of canon-ops is enabled, switched on or in use in this home."),
    "package_missing": (ExitCode.FAILED, "A platform is wanted here, and the Hermes that is found has no canon-ops."),
    "platform_failing": (ExitCode.FAILED, "The gateway runs and says that it has no connection to the platform."),
    "plugin_not_enabled": (ExitCode.FAILED, "A platform is switched on whose plugin Hermes is not allowed to load."),
    "terminated": (ExitCode.TERMINATED, "The command was told to end by a signal."),
}


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    """What is known about a code; ``sentences`` say how it comes about."""

    sentences: tuple[str, ...]
    exit_code: ExitCode
    retryable: bool = False


def error_facts() -> dict[str, ErrorFacts]:
    """Every code, by its name."""
    found = {code: ErrorFacts((sentence,), exit_code) for code, (exit_code, sentence) in _WITHOUT_CLASS.items()}
    for code, kinds in error_classes().items():
        sentences = tuple(dict.fromkeys(map(first_paragraph, kinds)))
        found[code] = ErrorFacts(sentences, kinds[0].exit_code, kinds[0].retryable)
    return found


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
    return " ".join(inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0].split()).replace("``", "`")


def _modules() -> Iterator[str]:
    for module in pkgutil.walk_packages(canon_ops.__path__, "canon_ops."):
        if not module.name.startswith(_LEFT_OUT):
            yield module.name


def _below(kind: type[CanonOpsError]) -> Iterator[type[CanonOpsError]]:
    yield kind
    for child in kind.__subclasses__():
        if child.__module__.startswith(("canon_ops.", "canon_hermes_plugin.", "borgee_hermes.")):
            yield from _below(child)
