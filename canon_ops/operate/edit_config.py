"""One edit of a home's config.yaml, planned or carried out: the work behind ``config set`` and ``config add``.

The editor keeps every byte outside the edit; the transaction makes it whole or not at all. What comes back is the same
for a plan and for the deed, so that what was shown is what is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from canon_ops.errors import CanonOpsError, RefusedError, UsageError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.history import Retention
from canon_ops.files.transaction import Transaction, edit_files
from canon_ops.files.yaml_path import format_path
from canon_ops.hermes.homes import HermesHome
from canon_ops.hints import Any, ClassVar
from canon_ops.lean import dataclass, replace
from canon_ops.operate.shown_config import MaskTree, shown_value

__all__ = ["ConfigEdited", "ManagedHome", "edit_config", "expect_unchanged", "refuse_managed", "sparing_comments"]

KeyPath = tuple[str | int, ...]


class ManagedHome(RefusedError):
    """A package manager owns the home; what we write there would be lost, or fought over."""

    code: ClassVar[str] = "hermes_home_managed"


@dataclass(frozen=True, slots=True)
class ConfigEdited:
    """What an edit did, or would do.

    Attributes:
        before, after: the values that Hermes reads at ``path``, masked; None also where there is none.
        files: the files that changed, or would.
        diff: unified, secrets masked; empty when nothing changes.
        history_id: what ``undo`` takes; None for a plan and for no change.
        was_set, is_set: whether there was a value, and is one; null may be one.
        notice: the sentence about a gateway that runs and has not seen it.
        repeated: other paths that read differently now, since an alias or a merge key repeats there what was changed.
    """

    path: str
    before: Any
    after: Any
    changed: bool
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    dry_run: bool
    repeated: tuple[str, ...] = ()
    was_set: bool = True
    is_set: bool = True
    notice: str | None = None


def edit_config(
    home: HermesHome,
    path: KeyPath,
    edit: Callable[[ConfigDocument], ConfigDocument],
    *,
    label: str,
    dry_run: bool = False,
    expected: Sequence[tuple[Path | None, str]] = (),
    mask: Callable[[str], str] | None = None,
    mask_tree: MaskTree = lambda _path, value: value,
    lock_timeout_s: float = 10.0,
    retention: Retention | None = None,
    with_diff: bool = True,
    takes_out: bool = False,
) -> ConfigEdited:
    """Apply ``edit`` to the home's config.yaml, which is created when it does not exist.

    Args:
        path: what is edited, for the report.
        edit: may run again on the fresh text, when somebody else wrote meanwhile.
        label: the command as the history shows it; never a secret.
        expected: (file, SHA-256) pairs; see :func:`expect_unchanged`.
        mask: hides secrets in each line of the diff.
        mask_tree: hides secrets in the values before and after.
        retention: how much history stays.
        with_diff: False when nobody will look at it.
        takes_out: ``edit`` removes what is at ``path``, or from the list there; see :mod:`earlier_text`.

    Raises:
        ManagedHome, PinnedByAdministrator: the home, or the value, belongs to somebody else.
        ConfigSyntaxError, ConfigRefused: the text cannot be read, or the edit cannot be made safely.
        ChangedUnderUs, LockTimeout: somebody else was at it.
    """
    file = home.config_file
    if home.administrator is not None:
        _refuse_pinned(home, path)

    def once(files: Transaction) -> ConfigEdited:
        data = files.read(file)
        expect_unchanged(files, expected, home=home, changing=[file])
        old = ConfigDocument.parse(data or b"", str(file))
        new = edit(old)
        if new.data != old.data:
            if takes_out:
                from canon_ops.operate.earlier_text import earlier_text  # the other edits need none of it

                new = earlier_text(home, old, new, path)
            files.stage(file, new.data, private=True)
        changes = files.changes()
        return ConfigEdited(
            path=format_path(path),
            before=shown_value(old, path, mask_tree),
            after=shown_value(new, path, mask_tree),
            changed=bool(changes),
            files=tuple(change.path for change in changes),
            diff="".join(change.diff(mask=mask) for change in changes) if with_diff else "",
            history_id=files.commit(),
            dry_run=dry_run,
            repeated=_repeated(old, new, path),
            was_set=old.find(path) is not None,
            is_set=new.find(path) is not None,
        )

    def make() -> Transaction:
        return Transaction(
            home.path,
            timeout_s=lock_timeout_s,
            label=label,
            dry_run=dry_run,
            refuse=lambda _path: refuse_managed(home),
            retention=sparing_comments(home, retention),
        )

    return edit_files(once, make)


def _repeated(old: ConfigDocument, new: ConfigDocument, path: KeyPath) -> tuple[str, ...]:
    """The paths of a change that lie elsewhere than where it was made."""
    if b"*" not in old.data or new.data == old.data:
        return ()
    from canon_ops.files.yaml_difference import differences

    names = [str(name) for name in path]
    elsewhere = []
    for each in differences(old.value, new.value):
        parts = [str(part) for part in each.path]
        if parts[: len(names)] != names and names[: len(parts)] != parts:
            elsewhere.append(format_path(tuple(part if type(part) is int else str(part) for part in each.path)))
    return tuple(elsewhere)


def sparing_comments(home: HermesHome, retention: Retention | None = None) -> Retention:
    """A retention that leaves the text in the history from which lost comments can come back (``config heal``)."""

    def spare() -> tuple[str, ...]:
        from canon_ops.operate.kept_config import is_ours_alone  # a short history needs none of it

        with suppress(CanonOpsError):
            if is_ours_alone(home):
                return ()
        from canon_ops.operate.heal_config import last_commented  # reads and compares every text

        return last_commented(home)

    return replace(retention or Retention(), spare=spare)


def _refuse_pinned(home: HermesHome, path: KeyPath) -> None:
    from canon_ops.hermes.managed_scope import managed_scope  # few machines have that layer, and every edit asks

    if (scope := managed_scope(home)) is not None:
        scope.refuse_path(path)


def refuse_managed(home: HermesHome) -> ManagedHome | None:
    """The refusal of a home that a package manager owns; None for every other."""
    if home.managed_by is None:
        return None
    return ManagedHome(
        f"{home.path} is managed by {home.managed_by}; its files are not edited here.",
        fix=f"Change the setting in the configuration of {home.managed_by}.",
        file=str(home.path),
    )


def expect_unchanged(
    files: Transaction, expected: Sequence[tuple[Path | None, str]], *, home: HermesHome, changing: Sequence[Path]
) -> None:
    """Hold a transaction to the digests that the caller last saw.

    Args:
        expected: a relative file lies in the home; None means the only file that the command changes.
        changing: the files that the command may change.

    Raises:
        ChangedUnderUs: a file has another digest.
        UsageError: a file is meant that the command does not change, or the only one when there are several.
    """
    for file, sha256 in expected:
        if file is None and len(changing) != 1:
            names = ", ".join(str(path) for path in changing)
            raise UsageError("--if-unchanged needs a file name here.", fix=f"--if-unchanged FILE=SHA256 with {names}")
        wanted = changing[0] if file is None else home.path / file.expanduser()
        if wanted not in changing:
            raise UsageError(f"This command does not change {wanted}.", fix="leave out that --if-unchanged")
        files.expect(wanted, sha256)
