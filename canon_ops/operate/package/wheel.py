"""A wheel as bytes: read from a file, or put together again from an installed distribution.

An installed wheel is still a wheel: RECORD lists every file with its digest, and nothing was changed but three things
that an installer makes itself (compiled files, the scripts of the entry points, the notes about the installation). So
the running canon-ops can be carried into another environment without asking an index (decisions L5), and what is about
to be replaced there can be kept and put back, whoever published it.

The archive is a function of its contents: names sorted, times fixed. The same files give the same digest anywhere.

Source: the binary distribution format of packaging.python.org; PEP 610 for editable installations.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import shlex
import tomllib
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from configparser import ConfigParser
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

from canon_ops.errors import OutsideError, RefusedError

__all__ = ["NotAWheel", "PackageAltered", "Wheel", "from_checkout", "from_installed"]

_OTHER_SOURCE = "name a wheel that is whole: canon-ops install --source WHEEL"
_MOST_NOTES = 64 * 1024 * 1024  # bytes of METADATA or RECORD
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest moment that a zip archive can write
_INSTALLERS_OWN = frozenset({"INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json", "uv_build.json"})
_COMPILED = frozenset({".pyc", ".pyo"})
_SCRIPT_SECTIONS = ("console_scripts", "gui_scripts")
_SCHEME_FOLDERS = frozenset({"bin", "etc", "include", "share"})  # of an environment, beside its lib


class NotAWheel(RefusedError):
    """The file is no wheel that can be read."""

    code = "package_unreadable"


class PackageAltered(RefusedError):
    """An installed file is not the one that was installed; it must not be carried further."""

    code = "package_altered"


@dataclass(frozen=True, slots=True)
class Wheel:
    """One wheel.

    Attributes:
        name: normalised name of the distribution.
        file_name: as installers want it.
        requires_python: the range of Python versions that it names; None for any.
        digests: what RECORD says of each file, by its name in the archive.
    """

    name: str
    version: str
    file_name: str
    data: bytes
    requires_python: str | None
    digests: Mapping[str, str]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def is_installed_as(self, info: Path) -> bool:
        """Whether the distribution with its metadata in ``info`` was made from these very files."""
        try:
            rows = {path: digest for path, digest, _ in _record(info)}
        except PackageAltered:
            return False
        inside = f"{self.file_name.split('-')[0]}-{self.version}."
        return all(
            rows.get(path) == digest
            for path, digest in self.digests.items()
            if not path.startswith(f"{inside}data/") and path != f"{inside}dist-info/WHEEL"
        )

    @classmethod
    def read(cls, file: Path) -> Wheel:
        """The wheel in ``file``.

        Raises:
            NotAWheel: it is something else.
            OutsideError: it cannot be opened.
        """
        try:
            return cls.parse(file.read_bytes(), file.name)
        except OSError as exc:
            raise OutsideError(
                f"{file} cannot be read: {exc.strerror}.", fix=f"ls -l {shlex.quote(str(file))}", file=str(file)
            ) from exc

    @classmethod
    def parse(cls, data: bytes, file_name: str) -> Wheel:
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                (metadata,) = [name for name in archive.namelist() if _is_in_info(name, "METADATA")]
                (record,) = [name for name in archive.namelist() if _is_in_info(name, "RECORD")]
                headers = HeaderParser().parsestr(_read_member(archive, metadata).decode("utf-8"))
                rows = list(csv.reader(_read_member(archive, record).decode("utf-8").splitlines()))
        except (zipfile.BadZipFile, zlib.error, csv.Error, ValueError, KeyError, RuntimeError) as exc:
            # RuntimeError: it wants a password, or a compression that is not there
            raise NotAWheel(f"{file_name} is not a wheel.", fix="--source WHEEL, a folder, or a name") from exc
        if not file_name.endswith(".whl") or not headers["Name"] or not headers["Version"]:
            raise NotAWheel(f"{file_name} is not a wheel.", fix="--source WHEEL, a folder, or a name")
        return cls(
            name=normalised(headers["Name"]),
            version=headers["Version"],
            file_name=file_name,
            data=data,
            requires_python=headers["Requires-Python"],
            digests={row[0]: row[1] for row in rows if len(row) == 3 and row[1]},
        )


def _read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """A file of the archive, read no further than any wheel's own notes are long: a zip may promise anything."""
    with archive.open(name) as member:
        data = member.read(_MOST_NOTES + 1)
    if len(data) > _MOST_NOTES:
        raise ValueError(f"{name} is larger than {_MOST_NOTES:,} bytes")
    return data


def normalised(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def from_installed(info: Path, *, prefix: Path, intact: bool) -> Wheel:
    """The wheel that an installed distribution was made from.

    Args:
        info: its ``.dist-info`` folder.
        prefix: the environment that it is installed in; data files and scripts lie below it.
        intact: refuse when a file is not the one that RECORD names; otherwise it is taken as it is, or left out.

    Raises:
        PackageAltered: RECORD or a file is missing, or another one than was installed.
    """
    site = info.parent
    data_folder = f"{info.name.removesuffix('.dist-info')}.data"
    scripts = _generated_scripts(info)
    contents: dict[str, tuple[bytes, bool]] = {}
    for path, digest, _size in _record(info):
        if _is_the_installers(path, info.name):
            continue
        place = _place(path, site, prefix)
        if place.parts[0] == ".." or place.is_absolute():
            raise PackageAltered(
                f"RECORD of {info.name} names {path}, outside {prefix}.", fix=_OTHER_SOURCE, file=str(info / "RECORD")
            )
        inside_site = not _is_outside_site(path, site, prefix)
        file = (site if inside_site else prefix) / place
        if not inside_site and place.parts[0] == "bin" and place.name in scripts:
            continue
        try:
            data = file.read_bytes()
        except OSError as exc:
            if not intact and isinstance(exc, FileNotFoundError):
                continue
            raise PackageAltered(
                f"{file} of {info.name} cannot be read: {exc.strerror}.", fix="--source WHEEL", file=str(file)
            ) from exc
        if intact and digest and digest != _digest(data):
            raise PackageAltered(
                f"{file} is not the file that was installed; a changed installation is not carried further.",
                fix="--source WHEEL",
                file=str(file),
            )
        executable = os.access(file, os.X_OK)
        if inside_site:
            contents[str(place)] = data, executable
        elif place.parts[0] == "bin":
            contents[f"{data_folder}/scripts/{place.name}"] = _neutral_script(data), True
        else:
            contents[f"{data_folder}/data/{place}"] = data, executable
    tags = _tags(contents.get(f"{info.name}/WHEEL", (b"", False))[0])
    return _written(contents, info.name, tags)


def from_checkout(info: Path, root: Path) -> Wheel:
    """The wheel of a source checkout that is installed in editable form.

    What belongs into it is read from the build's own table in pyproject.toml; the metadata is that of the
    installation, so a change of the dependencies counts after the next ``pip install -e``.

    Args:
        info: the ``.dist-info`` folder of the editable installation.
        root: the checkout.

    Raises:
        PackageAltered: the checkout has no such table, or a folder in it is missing.
    """
    build = _build_table(root)
    contents: dict[str, tuple[bytes, bool]] = {}
    for folder in build.get("packages", ()):
        source = root / folder
        for file in _sources(source):
            contents[f"{source.name}/{file.relative_to(source).as_posix()}"] = file.read_bytes(), False
    data_folder = f"{info.name.removesuffix('.dist-info')}.data/data"
    for origin, target in build.get("shared-data", {}).items():
        source = root / origin
        for file in [source] if source.is_file() else _sources(source):
            inside = PurePosixPath(target, *file.relative_to(source).parts)
            contents[f"{data_folder}/{inside}"] = file.read_bytes(), False
    if not contents:
        raise PackageAltered(
            f"{root} holds none of the packages that its pyproject.toml names.", fix=_OTHER_SOURCE, file=str(root)
        )
    for file in _sources(info):
        name = f"{info.name}/{file.relative_to(info).as_posix()}"
        if not _is_the_installers(name, info.name):
            contents[name] = file.read_bytes(), False
    contents[f"{info.name}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: canon-ops\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        False,
    )
    return _written(contents, info.name, "py3-none-any")


def _build_table(root: Path) -> dict[str, dict[str, str]]:
    file = root / "pyproject.toml"
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        found: dict[str, dict[str, str]] = table["tool"]["hatch"]["build"]["targets"]["wheel"]
    except (OSError, ValueError, KeyError) as exc:
        raise PackageAltered(
            f"{file} does not say what belongs into the wheel.", fix=_OTHER_SOURCE, file=str(file)
        ) from exc
    return found


def _sources(folder: Path) -> list[Path]:
    """The files below a folder that belong to a release: nothing compiled, nothing hidden."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.suffix not in _COMPILED
        and not any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(folder).parts)
    )


def _record(info: Path) -> list[tuple[str, str, str]]:
    try:
        text = (info / "RECORD").read_text(encoding="utf-8")
    except OSError as exc:
        raise PackageAltered(
            f"{info.name} has no list of its files, so it cannot be copied.", fix="--source WHEEL", file=str(info)
        ) from exc
    return [(row[0], row[1], row[2]) for row in csv.reader(text.splitlines()) if len(row) == 3]


def _is_the_installers(path: str, info_name: str) -> bool:
    """Made by the installer, so it is made again by the next one."""
    pure = PurePosixPath(path)
    return pure.suffix in _COMPILED or (pure.parent.name == info_name and pure.name in _INSTALLERS_OWN)


def _is_outside_site(path: str, site: Path, prefix: Path) -> bool:
    """It lies in the environment but not among the modules; where the two are one folder, its first part tells."""
    return path.startswith("..") or (site == prefix and PurePosixPath(path).parts[0] in _SCHEME_FOLDERS)


def _place(path: str, site: Path, prefix: Path) -> PurePosixPath:
    """The path below the folder that :func:`_is_outside_site` chooses."""
    if not path.startswith(".."):
        return PurePosixPath(path)
    if site == prefix:  # pip's --target moves the files and leaves the path that they had before
        return PurePosixPath(*[part for part in PurePosixPath(path).parts if part != ".."])
    return PurePosixPath(os.path.relpath(os.path.normpath(site / path), prefix))


def _generated_scripts(info: Path) -> frozenset[str]:
    parser = ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[method-assign,assignment]  # the documented way to keep case
    if (file := info / "entry_points.txt").exists():
        parser.read(file, encoding="utf-8")
    return frozenset(name for section in _SCRIPT_SECTIONS if parser.has_section(section) for name in parser[section])


def _neutral_script(data: bytes) -> bytes:
    """A script with the first line that an installer replaces by its own interpreter."""
    first, newline, rest = data.partition(b"\n")
    return b"#!python" + newline + rest if first.startswith(b"#!") and b"python" in first else data


def _tags(wheel_file: bytes) -> str:
    """The compressed tag set of a file name from the single tags in WHEEL."""
    tags = HeaderParser().parsestr(wheel_file.decode("utf-8", errors="replace")).get_all("Tag") or ["py3-none-any"]
    parts = zip(*(tag.strip().split("-", 2) for tag in tags), strict=True)
    return "-".join(".".join(dict.fromkeys(part)) for part in parts)


def _written(contents: Mapping[str, tuple[bytes, bool]], info_name: str, tags: str) -> Wheel:
    record = "".join(f"{_quoted(name)},{_digest(data)},{len(data)}\n" for name, (data, _) in sorted(contents.items()))
    record += f"{info_name}/RECORD,,\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, (data, executable) in [*sorted(contents.items()), (f"{info_name}/RECORD", (record.encode(), False))]:
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return Wheel.parse(buffer.getvalue(), f"{info_name.removesuffix('.dist-info')}-{tags}.whl")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in ',"\n') else name


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _is_in_info(name: str, file: str) -> bool:
    parts: Iterable[str] = PurePosixPath(name).parts
    return [*parts][1:] == [file] and name.split("/")[0].endswith(".dist-info")
