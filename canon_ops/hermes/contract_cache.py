"""A host's description kept for as long as the host's files stay as they are.

Describing a host means importing its gateway, which takes longer than everything else that the doctor asks together.
The answer depends on the source of the packages it is about, so it is kept with the size and the time of change of each
of their files; one that differs, and the host is asked again. Nothing is lost with the cache, and one that cannot be
read or written is none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from canon_ops import __version__
from canon_ops.errors import CanonOpsError
from canon_ops.files.atomic import replace_file
from canon_ops.hermes.contract import Described, Parameter

__all__ = ["described_or_kept"]

_KEPT = 8  # hosts; a machine with more of them has a tester in front of it


def described_or_kept(
    describe: Callable[[], dict[str, Described]],
    paths: Iterable[str],
    *,
    python: Path,
    folder: Path,
    environ: Mapping[str, str],
) -> dict[str, Described]:
    """What ``describe`` says, or said when the files were as they are now.

    Args:
        paths: what is asked about, ``module:name``.
        folder: where the host's packages lie.
        environ: XDG_CACHE_HOME and HOME say where answers are kept.
    """
    wanted = sorted(paths)
    base = environ.get("XDG_CACHE_HOME") or f"{environ.get('HOME') or '/nonexistent'}/.cache"
    question = hashlib.sha256(json.dumps([str(python), str(folder), wanted, __version__]).encode()).hexdigest()
    file = Path(base, "canon-ops", "contract", f"{question[:16]}.json")
    state = _state(folder, {path.partition(":")[0].partition(".")[0] for path in wanted})
    kept = _read(file, state)
    if kept is not None and kept.keys() == {*wanted}:
        return kept
    described = describe()
    with suppress(OSError, CanonOpsError):
        _write(file, {"state": state, "described": {path: asdict(one) for path, one in described.items()}})
    return described


def _state(folder: Path, packages: Iterable[str]) -> str:
    """A digest that changes when any source file of these packages does, comes or goes."""
    digest = hashlib.sha256()
    for package in sorted(packages):
        for name, size, changed_ns in sorted(_sources(folder / package)):
            digest.update(f"{name}\0{size}\0{changed_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _sources(place: Path) -> Iterator[tuple[str, int, int]]:
    """Every Python file of a package, or the module's one file."""
    pending = [str(place)]
    while pending:
        try:
            entries = list(os.scandir(pending.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns
            elif entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                pending.append(entry.path)
    with suppress(OSError):
        status = place.with_name(f"{place.name}.py").stat()
        yield f"{place}.py", status.st_size, status.st_mtime_ns


def _read(file: Path, state: str) -> dict[str, Described] | None:
    try:
        document = json.loads(file.read_bytes())
        if document["state"] != state:
            return None
        return {path: _described(row) for path, row in document["described"].items()}
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ):  # anything else than what we wrote
        return None


def _described(row: Mapping[str, object]) -> Described:
    listed, entries = row["parameters"], row["entries"]
    parameters = tuple(Parameter(**one) for one in listed) if isinstance(listed, list) else None
    return Described(**{
        **row, "parameters": parameters, "entries": tuple(entries) if isinstance(entries, list) else None,
    })  # type: ignore[arg-type]  # what does not fit is a TypeError, and the cache is not used  # fmt: skip


def _write(file: Path, document: Mapping[str, object]) -> None:
    replace_file(file, json.dumps(document).encode())
    for old in sorted(file.parent.glob("*.json"), key=lambda one: one.stat().st_mtime)[:-_KEPT]:
        old.unlink(missing_ok=True)
