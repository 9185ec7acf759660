"""What a killed installer left in a host: found by what is there, and removed without an installer.

pip and uv write a distribution's list of files (RECORD) last, and need it to take anything out. What they left without
one they neither remove nor put there anew, for both believe that it is installed. So it is removed here: its metadata,
its scripts, and the folders of its modules that no other distribution lists. The same goes for modules without any
metadata, metadata without a name, and the folders (``~anon_ops``) that pip sets aside while it takes something out.

Only distributions are looked at that the caller names: ours, and those that an interrupted command was about.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable
from configparser import ConfigParser, Error
from contextlib import suppress
from pathlib import Path

from canon_ops.files.disk import explain
from canon_ops.hermes.discovery import HostInstallation
from canon_ops.hermes.host_call import OUR_DISTRIBUTION, OUR_PACKAGES, InstalledDistribution
from canon_ops.operate.package.resolution import Installed
from canon_ops.operate.package.wheel import normalised

__all__ = ["find_remains", "halves", "remove_remains"]

_SET_ASIDE = "~-.=%0123456789"  # what pip puts in place of the first letters of a folder's name
_LEAST_LETTERS = 3


def halves(installed: Installed, names: Iterable[str]) -> tuple[InstalledDistribution, ...]:
    """Those of the named distributions that are there by half."""
    there = [installed[name] for name in dict.fromkeys(names) if name in installed]
    return tuple(one for one in there if not one.is_whole)


def find_remains(host: HostInstallation, installed: Installed, names: Collection[str]) -> tuple[Path, ...]:
    """What is left of the named distributions; the folders of their metadata come last, for they tell of the rest."""
    site = host.facts.site
    folders: list[Path] = []
    infos: list[Path] = []
    for name in dict.fromkeys(names):
        one = installed.get(name)
        if one is not None and one.is_whole:
            continue
        info = one.info if one is not None else None
        folders += [site / top for top in _modules(name, info)]
        if info is not None:
            folders += _scripts(info, host.facts.prefix / "bin")
            infos.append(info)
    infos += [info for info in _nameless(site) if normalised(_name_in(info)) in names]
    folders = [path for path in folders if path.exists()]
    if folders:
        lists = [_list_of(one) for one in installed.values() if one.is_whole]
        folders = [path for path in folders if not any(_names(text, path) for text in lists)]
    return (*folders, *_set_aside(site, names), *infos)


def remove_remains(paths: Iterable[Path]) -> None:
    """Remove them; a second call finds what the first one did not come to.

    Raises:
        DiskError: one of them cannot be removed.
    """
    for path in paths:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise explain(error, path, verb="removed") from error


def _modules(name: str, info: Path | None) -> list[str]:
    """Its modules, as folders and files, as far as they can be known without its list of files."""
    if name == OUR_DISTRIBUTION:
        return [*OUR_PACKAGES]
    if info is None:
        return []
    tops = [name.replace("-", "_")]
    with suppress(OSError):
        tops = (info / "top_level.txt").read_text(encoding="utf-8").split()
    return [top + end for top in tops for end in ("", ".py")]


def _names(list_of_files: str, path: Path) -> bool:
    return f"\n{path.name}{',' if path.suffix == '.py' else '/'}" in list_of_files


def _scripts(info: Path, folder: Path) -> list[Path]:
    """The commands of its entry points that were made already, each recognised by the module that it starts."""
    parser = ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[method-assign,assignment]  # the documented way to keep case
    found = []
    with suppress(OSError, Error, UnicodeDecodeError):
        parser.read(info / "entry_points.txt", encoding="utf-8")
        for name, target in parser["console_scripts"].items() if parser.has_section("console_scripts") else ():
            with suppress(OSError):
                if target.partition(":")[0].strip().encode() in (folder / name).read_bytes():
                    found.append(folder / name)
    return found


def _nameless(site: Path) -> list[Path]:
    """Folders of metadata that nothing was written to yet, or was left in."""
    return [info for info in site.glob("*.dist-info") if not (info / "METADATA").exists() and info.name[0] != "~"]


def _name_in(info: Path) -> str:
    return info.name.removesuffix(".dist-info").rpartition("-")[0]


def _set_aside(site: Path, names: Collection[str]) -> list[Path]:
    """The folders of the named distributions that pip moved out of its way."""
    known = [name.replace("-", "_") for name in names]
    known += OUR_PACKAGES if OUR_DISTRIBUTION in names else ()
    found = []
    for path in site.glob("~*"):
        rest = _name_in(path) if path.suffix == ".dist-info" else path.name
        letters = rest.lstrip(_SET_ASIDE)
        if len(letters) >= _LEAST_LETTERS and any(name.endswith(letters) for name in known):
            found.append(path)
    return found


def _list_of(one: InstalledDistribution) -> str:
    if one.info is None:
        return ""
    with suppress(OSError, UnicodeDecodeError):
        return "\n" + (one.info / "RECORD").read_text(encoding="utf-8")
    return ""
