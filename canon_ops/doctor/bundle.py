"""An archive to send to somebody who helps: what the doctor found and what it looked at, without secrets.

What goes in is chosen, not copied: of ``.env`` the names, of the profiles the fields that say where an agent lives, of
the logs only warnings and worse, because other lines may quote what people said. A text that cannot be made safe (a
config.yaml that nobody can parse) stays out, and the archive says so. Everything passes ``mask`` on its way in, and
telephone numbers go.

:func:`collect` reads and decides, :func:`write_bundle` writes one new file for its owner alone.
"""

from __future__ import annotations

import io
import json
import os
import platform
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from canon_ops import __version__
from canon_ops.doctor.run import Diagnosis
from canon_ops.errors import CanonOpsError, RefusedError
from canon_ops.files.disk import explain
from canon_ops.files.history import History
from canon_ops.files.reading import read_optional
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.gateway_log import LogRecord, last_records, log_file
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.keys import KeyFile, find_key
from canon_ops.hermes.platform_health import health_file
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.hermes.surroundings import canon_paths_from_disk
from canon_ops.runtime.ownership import hand_over
from canon_ops.settings.dotenv import read_dotenv

__all__ = ["Bundle", "BundleExists", "BundleItem", "collect", "write_bundle"]

_RECORDS = 300  # of a log
_PHONE = re.compile(r"\+\d[\d ().-]{6,18}\d")
_SHOWN_FIELDS = frozenset({"agentId", "agentName", "clientType", "environmentId", "baseUrl", "streamUrl", "rtdbUrl",
                           "profile", "requestId", "requestedAgentId", "createdAt", "updatedAt", "submittedAt",
                           "credentialAgentId", "apiKeyRef"})  # fmt: skip


class BundleExists(RefusedError):
    """There is a file of that name already."""

    code: ClassVar[str] = "bundle_exists"


@dataclass(frozen=True, slots=True)
class BundleItem:
    """One file of the archive; ``about`` says what is in it."""

    name: str
    about: str
    text: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """What would be sent.

    Attributes:
        left_out: name and reason of what could not be made safe, or could not be read.
    """

    items: tuple[BundleItem, ...]
    left_out: tuple[tuple[str, str], ...]


def collect(
    home: HermesHome,
    environ: Mapping[str, str],
    diagnosis: Diagnosis,
    *,
    mask: Callable[[str], str],
    mask_line: Callable[[str], str],
    now_ms: int,
) -> Bundle:
    """Choose what goes in.

    Args:
        mask: hides every known secret in a text, ``mask_line`` also what stands behind a telling name in a line.
    """
    items: list[BundleItem] = []
    left_out: list[tuple[str, str]] = []

    def add(name: str, about: str, make: Callable[[], str | None]) -> None:
        try:
            text = make()
        except CanonOpsError as error:
            left_out.append((name, mask(error.what)))
            return
        if text is not None:
            items.append(BundleItem(name, about, _PHONE.sub("[phone]", mask(text))))

    def canon(name: str) -> str | None:
        paths = canon_paths_from_disk(home.path, environ)
        return _records_shown(read_optional(paths.agents_file if name == "agents.json" else paths.pending_file))

    add("doctor.json", "what the doctor found", lambda: _json(diagnosis.as_data()))
    add("versions.json", "versions of canon-ops, Python and the system", lambda: _json(_versions(now_ms)))
    add("config.yaml", "config.yaml, secrets masked", lambda: _config(home, mask_line))
    add("env-names.txt", "the names in .env; values only of known settings that are not secret", lambda: _names(home))
    add("agents.json", "the Canon profiles, keys taken out", lambda: canon("agents.json"))
    add("pending-registrations.json", "unfinished registrations, tokens taken out", lambda: canon("pending"))
    add("gateway_state.json", "what the gateway said last", lambda: _as_text(home.path / "gateway_state.json"))
    for names in PLATFORMS.values():
        file = health_file(home.path, names.name)
        add(f"health-{names.name}.json", f"what the {names.label} plugin said last", partial(_as_text, file))
    add("installation.json", "what canon-ops installed", lambda: _installation(home))
    add("history.txt", "which commands changed which files, without the texts", lambda: _history(home))
    for log in ("gateway", "errors"):
        add(f"{log}.log", f"warnings and errors of {log}.log", partial(_warnings, home, log))
    return Bundle(tuple(items), tuple(left_out))


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n"


def _versions(now_ms: int) -> dict[str, str]:
    return {
        "canon_ops": __version__,
        "python": sys.version.split()[0],
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "made_at": datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(timespec="seconds"),
    }


def _as_text(file: Path) -> str | None:
    data = read_optional(file)
    return None if data is None else data.decode("utf-8", errors="replace")


def _config(home: HermesHome, mask_line: Callable[[str], str]) -> str | None:
    """The text line by line; a file that does not parse says nothing certain about what is a key and what a value."""
    if not read_config(home.config_file).exists:
        return None
    return "\n".join(mask_line(line) for line in (_as_text(home.config_file) or "").split("\n"))


def _names(home: HermesHome) -> str | None:
    data = read_optional(home.env_file)
    if data is None:
        return None
    lines = []
    for entry in read_dotenv(data, file=str(home.env_file)):
        known = find_key(entry.name, KeyFile.DOTENV)
        value = entry.value if known is not None and not known.secret else "[set]" if entry.value else ""
        lines.append(f"{entry.line}: {entry.name}={value}")
    return "\n".join([*lines, ""])


def _records_shown(data: bytes | None) -> str | None:
    """The entries of one of Canon's files: known fields, and of all others only that they are there."""
    if data is None:
        return None
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return "It is no JSON.\n"
    if not isinstance(document, dict):
        return "It holds no object.\n"
    return _json({name: dict(_fields_shown(entry)) for name, entry in document.items()})


def _fields_shown(entry: object) -> Iterator[tuple[str, Any]]:
    for name, value in entry.items() if isinstance(entry, dict) else ():
        yield str(name), value if name in _SHOWN_FIELDS else "[set]" if value else value


def _installation(home: HermesHome) -> str | None:
    """The package in force; the runs hold lines of files."""
    text = _as_text(home.path / ".canon-ops" / "installation.json")
    with suppress(ValueError, AttributeError, RecursionError):
        return None if text is None else _json(json.loads(text).get("package"))
    return "It is no JSON.\n"


def _history(home: HermesHome) -> str | None:
    history = History(home.path)
    rows = [f"{one.id}  {one.label}  {', '.join(file.path for file in one.files)}" for one in history.records()]
    rows += [f"{entry.name}  cannot be read" for entry in history.unreadable()]
    return "\n".join([*rows, ""]) if rows else None


def _warnings(home: HermesHome, name: str) -> str | None:
    def is_wanted(record: LogRecord) -> bool:
        return record.is_at_least("WARNING")

    records, _ = last_records(log_file(home.path, name), _RECORDS, is_wanted)
    lines = [f"{one.at} {one.level} {one.logger}: {one.message}" for one in records]
    return "\n".join([*lines, ""]) if lines else None


def write_bundle(file: Path, bundle: Bundle, *, now_ms: int) -> None:
    """Write the archive: a new file that only its owner may read.

    Raises:
        BundleExists: something of that name is there.
        DiskError: it cannot be written.
    """
    made = datetime.fromtimestamp(now_ms / 1000, UTC).timetuple()[:6]
    paper = io.BytesIO()
    with zipfile.ZipFile(paper, "w", zipfile.ZIP_DEFLATED) as archive:
        contents = [f"{item.name}: {item.about}" for item in bundle.items]
        contents += [f"{name} was left out: {why}" for name, why in bundle.left_out]
        for name, text in [
            ("CONTENTS.txt", "\n".join([*contents, ""])),
            *((one.name, one.text) for one in bundle.items),
        ]:
            entry = zipfile.ZipInfo(name, made)
            entry.external_attr, entry.compress_type = 0o600 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise BundleExists(
            f"{file} exists already.", fix="choose another name, or remove it", file=str(file)
        ) from error
    except OSError as error:
        raise explain(error, file) from error
    with os.fdopen(descriptor, "wb") as stream:
        hand_over(stream.fileno(), file.parent)
        stream.write(paper.getvalue())
