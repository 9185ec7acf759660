"""Wheels kept in a Hermes home, so that what was there can be put back without asking an index.

They lie in ``<home>/.canon-ops/packages/<digest>/``, each under its own digest: the same wheel is kept once. Whoever
holds the record of the installation says which of them are still needed.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from canon_ops.files.atomic import replace_file
from canon_ops.files.disk import Disk
from canon_ops.hermes.host_call import InstalledDistribution

if TYPE_CHECKING:
    from canon_ops.operate.package.wheel import Wheel

__all__ = ["PackageStore", "SavedPackage"]

_DIGEST_LETTERS = 16
_FOLDER_MODE = 0o700


@dataclass(frozen=True, slots=True)
class SavedPackage:
    """A distribution that can be put back.

    Attributes:
        wheel: its wheel, relative to the store's folder; None for an editable installation.
        editable: the folder that an editable installation leads to.
    """

    name: str
    version: str
    wheel: str | None
    editable: str | None = None

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class PackageStore:
    """The wheels of one Hermes home.

    Args:
        home: the home's folder.
    """

    home: Path

    @property
    def folder(self) -> Path:
        return self.home / ".canon-ops" / "packages"

    def keep(self, wheel: Wheel) -> Path:
        """Write the wheel, unless it is there; the file."""
        file = self.folder / wheel.sha256[:_DIGEST_LETTERS] / wheel.file_name
        if not file.exists():
            Disk().make_folders(file.parent, _FOLDER_MODE)
            replace_file(file, wheel.data)
        return file

    def save(self, one: InstalledDistribution, *, prefix: Path) -> SavedPackage:
        """Keep an installed distribution as it is, altered or not.

        Raises:
            PackageAltered: its files cannot be read, so it could not be put back.
        """
        if one.editable_url is not None:
            return SavedPackage(one.name, one.version, None, unquote(urlsplit(one.editable_url).path))
        info = one.info or prefix / f"{one.name}.dist-info"
        from canon_ops.operate.package.wheel import from_installed  # the doctor reads records and makes no wheels

        wheel = from_installed(info, prefix=prefix, intact=False)
        return SavedPackage(one.name, one.version, str(self.keep(wheel).relative_to(self.folder)))

    def plugins(self, saved: SavedPackage, group: str = "hermes_agent.plugins") -> frozenset[str] | None:
        """The plugins that Hermes would find in a kept distribution; None when it cannot be told without building."""
        file = self.place(saved)
        try:
            with zipfile.ZipFile(file or "") as archive:
                (info,) = {name.partition("/")[0] for name in archive.namelist() if ".dist-info/" in name}
                points = PathDistribution(zipfile.Path(archive, f"{info}/")).entry_points
                return frozenset(point.name for point in points if point.group == group)
        except (OSError, ValueError, zipfile.BadZipFile):
            return None

    def place(self, saved: SavedPackage) -> Path | None:
        """The wheel's file; None for an editable installation."""
        return None if saved.wheel is None else self.folder / saved.wheel

    def prune(self, needed: Iterable[str]) -> None:
        """Remove every wheel but those (relative to the folder); what cannot be removed stays for the next time."""
        kept = {Path(name).parts[0] for name in needed}
        with suppress(OSError):
            for folder in self.folder.iterdir():
                if folder.name not in kept:
                    shutil.rmtree(folder, ignore_errors=True)
            if not kept:
                self.folder.rmdir()
