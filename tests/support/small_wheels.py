"""Wheels of a few lines, for real installers to put into environments in no time and without an index."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import sys
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

__all__ = ["UV", "offline_environ", "our_wheel", "served_index", "small_wheel"]

UV = Path(sys.executable).parent / "uv"
REGISTERS = "def register(ctx): ...\n"


def offline_environ(home: Path, *, links: Path | None = None, **more: str) -> dict[str, str]:
    """An environment in which uv is found and asks nobody; ``links`` is a folder of further wheels."""
    bin_folder = home / "tools"
    bin_folder.mkdir(exist_ok=True)
    if not (bin_folder / "uv").exists():
        (bin_folder / "uv").symlink_to(UV)
    told = {"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_CACHE_DIR": str(home / "uv-cache"), "HOME": str(home)}
    if links is not None:
        told["UV_FIND_LINKS"] = str(links)
    return {"PATH": f"{bin_folder}{os.pathsep}{os.defpath}", **told, **more}


def small_wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str],
    *,
    requires: Sequence[str] = (),
    requires_python: str | None = None,
    entry_points: str = "",
) -> Path:
    """Write a wheel into ``folder``; its file."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    metadata = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {text}" for text in requires)]
    if requires_python:
        metadata.append(f"Requires-Python: {requires_python}")
    contents = {
        **files,
        f"{info}/METADATA": "\n".join(["Metadata-Version: 2.1", *metadata, ""]),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if entry_points:
        contents[f"{info}/entry_points.txt"] = entry_points
    record = "".join(f"{path},{_digest(text)},{len(text.encode())}\n" for path, text in contents.items())
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in {**contents, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            archive.writestr(path, text)
    return file


@contextmanager
def served_index(folder: Path, wheels: Mapping[Path, str]) -> Iterator[str]:
    """A package index on this machine, below its address.

    Args:
        folder: an empty folder of the test's.
        wheels: versions of canon-ops, and for each the Python versions that it names.
    """
    page = folder / "canon-ops"
    page.mkdir(parents=True)
    rows = []
    for wheel, python in wheels.items():
        shutil.copy(wheel, page)
        rows.append(f'<a href="{wheel.name}" data-requires-python="{escape(python)}">{wheel.name}</a>')
    (page / "index.html").write_text("\n".join(rows))

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_arguments: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def our_wheel(
    folder: Path, version: str, *, plugin: str = REGISTERS, requires: Sequence[str] = (), requires_python: str = ">=3.8"
) -> Path:
    """A canon-ops of three empty packages; ``plugin`` is the text of the Canon plugin's module."""
    files = {
        "canon_ops/__init__.py": f'__version__ = "{version}"\n',
        "canon_hermes_plugin/__init__.py": plugin,
        "borgee_hermes/__init__.py": REGISTERS,
    }
    points = (
        "[console_scripts]\ncanon-ops = canon_ops:main\n\n"
        "[hermes_agent.plugins]\ncanon-hermes = canon_hermes_plugin\nborgee = borgee_hermes\n"
    )
    return small_wheel(
        folder, "canon-ops", version, files, requires=requires, requires_python=requires_python, entry_points=points
    )


def _digest(text: str) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
