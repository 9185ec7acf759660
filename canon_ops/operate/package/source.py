"""Where the wheel comes from that is put into the host.

Without ``--source`` it is the canon-ops that is running, put together again from its own list of files or from the
checkout that it runs from, so no index is ever asked for our own name (decisions L5). A wheel file is taken as it is. A
folder or a name is something only an installer can read: it installs that, alone, into a scratch folder, and the wheel
is put together from there; so whatever the source, the host gets one file with one digest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from canon_ops.errors import RefusedError, UsageError
from canon_ops.hermes.discovery import HostInstallation
from canon_ops.hermes.host_call import OUR_DISTRIBUTION, OUR_PACKAGES
from canon_ops.hermes.installer import Installer
from canon_ops.operate.package.wheel import NotAWheel, PackageAltered, Wheel, from_checkout, from_installed, normalised
from canon_ops.runtime.scratch import scratch_folder

__all__ = ["Origin", "PackageSource", "WrongPackage", "find_source"]


_SOURCES = "name a wheel or a folder with a pyproject.toml; without --source the running version is meant"


class WrongPackage(RefusedError):
    """The source is not our distribution, or not for this host's Python."""

    code = "package_wrong"


class Origin(Enum):
    """The kind of place; the value completes "canon-ops 0.1.0 from …"."""

    RUNNING = "the running canon-ops"
    CHECKOUT = "the checkout that canon-ops runs from"
    FILE = "a wheel file"
    FOLDER = "a source folder"
    INDEX = "the package index"


@dataclass(frozen=True, slots=True)
class PackageSource:
    """A wheel and how it was come by.

    Attributes:
        told: the folder, file or name, as text for people.
    """

    wheel: Wheel
    origin: Origin
    told: str


def find_source(text: str | None, host: HostInstallation, environ: Mapping[str, str]) -> PackageSource:
    """The wheel that ``--source`` means, or the running version's; it is ours and fits the host's Python.

    Raises:
        NotAWheel, PackageAltered, WrongPackage: it cannot be used.
        UsageError: the text is no source.
        InstallerFailed: the folder cannot be built, or the index does not have it.
    """
    source = _running() if text is None else _told(text, host, environ)
    _require_ours(source, host)
    return source


def _running() -> PackageSource:
    try:
        distribution = metadata.distribution(OUR_DISTRIBUTION)
    except metadata.PackageNotFoundError as exc:
        raise PackageAltered(
            f"{OUR_DISTRIBUTION} runs from {Path(__file__).parents[3]} without being installed, so there is no list of "
            "its files.",
            fix="--source WHEEL, or the folder of the checkout",
        ) from exc
    info = Path(str(distribution._path))  # type: ignore[attr-defined]  # the one way to the folder of the metadata
    if (root := _checkout_of(distribution)) is not None:
        return PackageSource(from_checkout(info, root), Origin.CHECKOUT, str(root))
    return PackageSource(from_installed(info, prefix=Path(sys.prefix), intact=True), Origin.RUNNING, str(info.parent))


def _checkout_of(distribution: metadata.Distribution) -> Path | None:
    """The folder that an editable installation leads to."""
    try:
        direct = json.loads(distribution.read_text("direct_url.json") or "{}")
        parts = urlsplit(str(direct["url"])) if direct["dir_info"]["editable"] else None
    except (ValueError, KeyError, TypeError):
        return None
    return Path(unquote(parts.path)) if parts is not None and parts.scheme == "file" else None


def _told(text: str, host: HostInstallation, environ: Mapping[str, str]) -> PackageSource:
    path = Path(text).expanduser()
    if path.is_file():
        return PackageSource(Wheel.read(path), Origin.FILE, str(path))
    if path.is_dir():
        return PackageSource(_fetched(str(path.absolute()), host, environ), Origin.FOLDER, str(path))
    if text.endswith(".whl") or "/" in text:
        raise UsageError(f"--source: there is no file or folder {text}.", fix=_SOURCES)
    try:
        requirement = Requirement(text)
    except InvalidRequirement as exc:
        raise UsageError(f"--source {text!r} is no file, no folder and no name of a package.", fix=_SOURCES) from exc
    if normalised(requirement.name) != OUR_DISTRIBUTION:
        raise UsageError(f"--source {text!r} is not {OUR_DISTRIBUTION}.", fix=f"--source {OUR_DISTRIBUTION}")
    return PackageSource(_fetched(text, host, environ), Origin.INDEX, text)


def _fetched(what: str, host: HostInstallation, environ: Mapping[str, str]) -> Wheel:
    """Have it installed alone into a scratch folder, and take it from there."""
    installer: Installer | None = host.installer
    if installer is None:
        raise WrongPackage(
            f"Neither pip nor uv can work on {host.python}, so {what} cannot be built.", fix="--source WHEEL"
        )
    with scratch_folder() as scratch:
        installer.run(host.python, "install", "--no-deps", "--target", str(scratch.path), what, environ=environ)
        for info in sorted(scratch.path.glob("*.dist-info")):
            return from_installed(info, prefix=scratch.path, intact=True)
    raise NotAWheel(f"{what} holds nothing that can be installed.", fix="--source WHEEL")


def _require_ours(source: PackageSource, host: HostInstallation) -> None:
    wheel = source.wheel
    packages = {path.split("/")[0] for path in wheel.digests}
    if wheel.name != OUR_DISTRIBUTION or not {*OUR_PACKAGES} <= packages:
        raise WrongPackage(f"{source.told} is {wheel}, not {OUR_DISTRIBUTION}.", fix="--source WHEEL of canon-ops")
    if wheel.requires_python is None:
        return
    try:
        fits = SpecifierSet(wheel.requires_python).contains(host.facts.python, prereleases=True)
    except InvalidSpecifier:
        return
    if not fits:
        raise WrongPackage(
            f"{wheel} needs Python {wheel.requires_python}; {host.python} is {host.facts.python}.",
            fix="install a version that names this Python, or rebuild Hermes' environment",
        )
