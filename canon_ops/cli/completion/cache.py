"""Answers that stay right as long as the files stay as they are: a small text file for each question.

::

    canon-ops 0.1.0              who wrote it
    config-key …                 the question, so that two with one file name are told apart
    1700000000000000000 812 42 /home/a/.hermes/config.yaml
    - - - /home/a/.canon/agents.json        a file that was not there
                                 an empty line
    plugins.enabled<TAB>sentence

Reading one costs the look at each file and nothing else: no YAML, no JSON, not even the way to the Hermes home, whose
deciding files are among those that are looked at. A cache that cannot be read or written is no failure.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence

__all__ = ["Cache", "fingerprint"]


class Cache:
    """The cached answer to one question.

    Args:
        environ: XDG_CACHE_HOME and HOME say where.
        writer: the version of the program; another one's answers do not count.
        question: everything that the answer depends on beside the files.
    """

    def __init__(self, environ: Mapping[str, str], writer: str, question: str) -> None:
        base = environ.get("XDG_CACHE_HOME") or f"{environ.get('HOME') or '/nonexistent'}/.cache"
        self.folder = f"{base}/canon-ops/complete"
        self.file = f"{self.folder}/{zlib.crc32(question.encode('utf-8', 'surrogateescape')):08x}"
        self._head = [writer, question]

    def read(self) -> list[str] | None:
        """The answer's lines; None when there is none, or a file has changed."""
        try:
            with open(self.file, encoding="utf-8", errors="surrogateescape") as opened:
                head, found, body = opened.read().partition("\n\n")
        except OSError:
            return None
        lines = head.split("\n")
        if not found or lines[:2] != self._head:
            return None
        if any(fingerprint(line.split(" ", 3)[-1]) != line for line in lines[2:]):
            return None
        return body.splitlines()

    def write(self, seen: Sequence[str], lines: Sequence[str]) -> None:
        """Keep an answer.

        Args:
            seen: the fingerprints of the files that it was made from, taken before they were read.
        """
        text = "\n".join([*self._head, *seen, "", *lines, ""])
        if any("\n" in part for part in (*self._head, *seen, *lines)):
            return
        temporary = f"{self.file}.{os.getpid()}"
        try:
            if _is_for_another(self.folder):
                return
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                os.write(descriptor, text.encode("utf-8", "surrogateescape"))
            finally:
                os.close(descriptor)
            os.replace(temporary, self.file)
        except OSError:
            return


def _is_for_another(folder: str) -> bool:
    """Root in somebody's cache: what it left there, that user could neither read nor replace (decision 0041)."""
    if os.geteuid() != 0:
        return False
    from pathlib import Path  # reading needs neither

    from canon_ops.runtime.ownership import heir

    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return heir(Path(folder)) is not None


def fingerprint(path: str) -> str:
    """One line that changes when the file does."""
    try:
        found = os.stat(path)
    except OSError:
        return f"- - - {path}"
    return f"{found.st_mtime_ns} {found.st_size} {found.st_ino} {path}"
