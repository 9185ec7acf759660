"""One edit of a home's ``.env``, planned or carried out: the work behind ``env set|unset`` and ``env lint --fix``.

The editor changes one line and proves that every other name keeps its value; the transaction makes it whole or not at
all. What comes back is the same for a plan and for the deed.

Source: command-line contract, 6.2; decisions C5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import ClassVar

from canon_ops.errors import RefusedError, UsageError
from canon_ops.files.dotenv_editor import ALL_READERS, BadName, DotenvDocument
from canon_ops.files.dotenv_lint import EnvProblem, fix_dotenv, lint_dotenv
from canon_ops.files.dotenv_readers import Reader
from canon_ops.files.reading import read_optional
from canon_ops.files.transaction import Transaction, edit_files
from canon_ops.files.values import parse_value
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.keys import DENIED_VARIABLES, KeyFile, find_key, is_public_name
from canon_ops.hermes.managed_scope import managed_scope
from canon_ops.operate.advice import way_to_mend
from canon_ops.operate.dotenv_diff import dotenv_diff
from canon_ops.operate.edit_config import refuse_managed
from canon_ops.operate.writing import Writing, Written
from canon_ops.settings.encodings import as_utf8

__all__ = [
    "BadVariable",
    "DeniedVariable",
    "EnvEdited",
    "EnvFixed",
    "fix_env",
    "lint_env",
    "set_variable",
    "unset_variable",
]


class BadVariable(UsageError):
    """The value is none that the variable can have."""

    code: ClassVar[str] = "env_value_invalid"


class DeniedVariable(RefusedError):
    """Hermes writes this variable to no ``.env``: it would change which programs run, or which home is meant."""

    code: ClassVar[str] = "env_denied"


@dataclass(frozen=True, slots=True)
class EnvEdited:
    """What an edit did, or would do.

    Attributes:
        before, after: the bare texts; None where the file sets nothing. Ask ``may_be_shown`` before showing them.
        duplicates: lines that set the same name earlier, and count for nothing.
        to_utf8: the cure of a file that is not UTF-8, which the gateway and the hermes command read differently.
    """

    name: str
    before: str | None
    after: str | None
    duplicates: tuple[int, ...]
    written: Written
    to_utf8: str | None = None


@dataclass(frozen=True, slots=True)
class EnvFixed:
    """What ``env lint`` found, and did about it.

    Attributes:
        fixed: the problems that are gone, or would be.
        left: those that a person has to look at.
    """

    fixed: tuple[EnvProblem, ...]
    left: tuple[EnvProblem, ...]
    written: Written


def set_variable(writing: Writing, name: str, value: str, *, readers: Collection[Reader] = ALL_READERS) -> EnvEdited:
    """Give a variable a value, on the line that counts or on a new one.

    Raises:
        DeniedVariable, PinnedByAdministrator, ManagedHome: it is not ours to write.
        BadName, BadVariable: no name; no value for that name.
        UnwritableValue, UnreadableEnv: no quoting carries the value to all ``readers``; no file of lines.
        LockTimeout, ChangedUnderUs, DiskError: nothing was written.
    """
    if name in DENIED_VARIABLES:
        raise DeniedVariable(
            f"Hermes refuses {name} in .env: it decides which programs run, or which home is meant.",
            fix=f"export {name} where the gateway is started",
        )
    known = find_key(name, KeyFile.DOTENV)
    if known is not None and (problem := known.problem(value)):
        raise BadVariable(f"{problem}.", fix=writing.home.own_command(way_to_mend(known, value)))
    if (key := find_key(name, KeyFile.CONFIG)) is not None:
        fix = writing.home.own_command(way_to_mend(key, parse_value(value)))
        raise BadName(f"{name} is no variable, but a key of config.yaml", fix=fix)
    return _edited(writing, name, lambda document: document.set(name, value, readers=readers))


def unset_variable(writing: Writing, name: str) -> EnvEdited:
    """Remove every assignment of a variable, so that none of an earlier line comes back.

    Raises:
        PinnedByAdministrator, ManagedHome, UnwritableValue, UnreadableEnv, LockTimeout, ChangedUnderUs, DiskError.
    """
    return _edited(writing, name, lambda document: document.remove(name))


def lint_env(home: HermesHome) -> tuple[EnvProblem, ...]:
    """Every oddity of the home's ``.env``.

    Raises:
        UnreadableEnv, NotAFile, DiskError.
    """
    return lint_dotenv(read_optional(home.env_file) or b"", file=str(home.env_file))


def fix_env(writing: Writing) -> EnvFixed:
    """Put right what may be put right without asking; see :func:`~canon_ops.files.dotenv_lint.fix_dotenv`.

    Raises: as :func:`unset_variable`.
    """
    file = str(writing.home.env_file)
    found: tuple[EnvProblem, ...] = ()
    left: tuple[EnvProblem, ...] = ()

    def fixed(document: DotenvDocument) -> DotenvDocument:
        nonlocal found, left
        after = fix_dotenv(document)
        found, left = lint_dotenv(document.data, file=file), lint_dotenv(after.data, file=file)
        return after

    written = _write(writing, fixed)
    remaining = {(problem.code, problem.name) for problem in left}
    gone = tuple(problem for problem in found if problem.automatic and (problem.code, problem.name) not in remaining)
    return EnvFixed(gone, left, written)


def _edited(writing: Writing, name: str, edit: Callable[[DotenvDocument], DotenvDocument]) -> EnvEdited:
    if (scope := managed_scope(writing.home)) is not None:
        scope.refuse_variable(name)
    before = after = DotenvDocument.parse(b"")

    def once(document: DotenvDocument) -> DotenvDocument:
        nonlocal before, after
        before, after = document, edit(document)
        return after

    written = _write(writing, once)
    duplicates = tuple(entry.line for entry in after.entries if entry.name == name and entry.overridden_by is not None)
    cure = None if after.encoding == "utf-8" else as_utf8(after.data, after.file)
    return EnvEdited(name, before.get(name), after.get(name), duplicates, written, cure)


def _write(writing: Writing, edit: Callable[[DotenvDocument], DotenvDocument]) -> Written:
    home = writing.home

    def once(transaction: Transaction) -> Written:
        writing.expect(transaction, home.env_file)
        data = transaction.read(home.env_file)
        after = edit(DotenvDocument.parse(data or b"", str(home.env_file)))
        if after.data != (data or b""):
            transaction.stage(home.env_file, after.data, private=True)
        changes = transaction.changes()
        diff = "".join(dotenv_diff(change, is_public_name) for change in changes)
        return Written(tuple(change.path for change in changes), diff, transaction.commit())

    return edit_files(once, lambda: writing.transaction(home.path, refuse=lambda _path: refuse_managed(home)))
