"""Floor 0: the errors that carry their own cure, and the exit codes.

The tree is shallow and split by who has to act::

    CanonOpsError
    ├── UsageError          the caller: a wrong option, a missing answer           exit 2
    ├── RefusedError        the operator: we could, but will not                   exit 1
    ├── NotFoundError       the operator: a key, a profile, an entry is not there  exit 1
    ├── CredentialError     the operator: missing, or the server says no           exit 4
    ├── ConflictError       somebody else: the file changed, the lock is held      exit 5
    ├── OutsideError        the world: network, host, disk                         exit 3
    │   └── UnreachableError    a service that did not answer; worth another try
    └── InternalError       us                                                     exit 3

Rooms subclass the leaf that fits and set ``code``; a code never changes its meaning. Foreign exceptions are
translated once, where they appear, with ``raise … from exc``.
"""

from __future__ import annotations

from enum import IntEnum

from canon_ops.hints import ClassVar

__all__ = [
    "CanonOpsError",
    "ConflictError",
    "CredentialError",
    "ExitCode",
    "InternalError",
    "NotFoundError",
    "OutsideError",
    "RefusedError",
    "UnreachableError",
    "UsageError",
]


_STARTERS = frozenset({"the", "there"})


class ExitCode(IntEnum):
    """What the process says when it ends. Source: command-line contract, section 5."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    OUTSIDE = 3
    CREDENTIAL = 4
    CONFLICT = 5
    INTERRUPTED = 130
    TERMINATED = 143


class CanonOpsError(Exception):
    """A failure with one sentence for people, one code for scripts and, where there is one, a cure.

    Args:
        what: one sentence that names the value at fault; it never holds a secret.
        fix: a command or a configuration path to paste; None when nothing can be advised.
        file: the file at fault, as text for people.
        line: 1-based line in ``file``.
        column: 1-based column in ``line``.
    """

    code: ClassVar[str] = "failed"
    exit_code: ClassVar[ExitCode] = ExitCode.FAILED
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        what: str,
        *,
        fix: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix
        self.file = file
        self.line = line
        self.column = column

    @property
    def sentence(self) -> str:
        """``what``, begun and ended as a sentence is; a first word that may be a name stays as it is."""
        text = self.what
        if text.partition(" ")[0] in _STARTERS:
            text = text[0].upper() + text[1:]
        return text if text.endswith((".", "!", "?", "…", ":")) or "\n" in text else f"{text}."


class UsageError(CanonOpsError):
    """The call is wrong, or an answer is missing and nobody can be asked."""

    code = "usage"
    exit_code = ExitCode.USAGE


class RefusedError(CanonOpsError):
    """It could be done, but must not be."""

    code = "refused"


class NotFoundError(CanonOpsError):
    """What was asked for by name is not there."""

    code = "not_found"


class CredentialError(CanonOpsError):
    """A credential is missing, incomplete, or refused by the server."""

    code = "credential"
    exit_code = ExitCode.CREDENTIAL


class ConflictError(CanonOpsError):
    """Somebody else changed the file, or holds the lock for too long."""

    code = "conflict"
    exit_code = ExitCode.CONFLICT
    retryable = True


class OutsideError(CanonOpsError):
    """The world outside prevents the check or the work."""

    code = "outside"
    exit_code = ExitCode.OUTSIDE


class UnreachableError(OutsideError):
    """A service gave no usable answer; trying again later makes sense."""

    code = "unreachable"
    retryable = True


class InternalError(CanonOpsError):
    """A promise inside the program was broken: our fault, worth a report."""

    code = "internal"
    exit_code = ExitCode.OUTSIDE
