"""Canon's two local files on the disk: read, edited by a pure function under the lock, written durably.

The corridor between the pure files of ``settings`` and the transactions of ``files``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from canon_ops.files.transaction import Transaction, edit_files
from canon_ops.settings.local_files import LocalFiles
from canon_ops.settings.paths import CanonPaths
from canon_ops.settings.pending import PendingFile
from canon_ops.settings.profiles import AgentsFile, merge_bootstrap

__all__ = ["LocalFilesStore"]


class LocalFilesStore:
    """The two files of one Canon home.

    Args:
        timeout_s: how long to wait for the lock.
        label: how the changes are called in the history.
    """

    def __init__(self, paths: CanonPaths, *, timeout_s: float = 10.0, label: str = "setup canon") -> None:
        self.paths = paths
        self._timeout_s = timeout_s
        self._label = label

    def read(self) -> LocalFiles:
        """Both files as they are now, without a lock.

        Raises:
            DamagedFile: one of them cannot be read whole.
            DiskError: the disk refuses.
        """
        with self._transaction(dry_run=True) as transaction:
            return self._parse(transaction)

    def update(self, edit: Callable[[LocalFiles], LocalFiles]) -> LocalFiles:
        """Write what ``edit`` makes of the files as they are; it may run again when somebody wrote meanwhile.

        Returns:
            Both files as they are afterwards.

        Raises:
            DamagedFile, LockTimeout, ChangedUnderUs, DiskError, or whatever ``edit`` raises: nothing was written.
        """

        def once(transaction: Transaction) -> LocalFiles:
            before = self._parse(transaction)
            after = edit(before)
            if after.agents is not before.agents:
                transaction.stage(self.paths.agents_file, after.agents.data, private=True)
            if after.pending is not before.pending:
                transaction.stage(self.paths.pending_file, after.pending.data, private=True)
            transaction.commit()
            return after

        return edit_files(once, self._transaction)

    def adopt_bootstrap(self, bootstrap: str | None) -> frozenset[str]:
        """Write the profiles of ``CANON_AGENTS_JSON_BOOTSTRAP`` that agents.json lacks; nothing to add writes nothing.

        Returns:
            The names that were added.

        Raises:
            BadBootstrap: the variable holds something else; and as :meth:`update`.
        """
        added: frozenset[str] = frozenset()

        def adopt(files: LocalFiles) -> LocalFiles:
            nonlocal added
            agents, added = merge_bootstrap(files.agents, bootstrap)
            return replace(files, agents=agents) if added else files

        self.update(adopt)
        return added

    def _transaction(self, *, dry_run: bool = False) -> Transaction:
        return Transaction(self.paths.home, timeout_s=self._timeout_s, label=self._label, dry_run=dry_run)

    def _parse(self, transaction: Transaction) -> LocalFiles:
        agents_file, pending_file = self.paths.agents_file, self.paths.pending_file
        return LocalFiles(
            AgentsFile.parse(transaction.read(agents_file), file=str(agents_file)),
            PendingFile.parse(transaction.read(pending_file), file=str(pending_file)),
        )
