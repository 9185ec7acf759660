"""Fold the fragments of ``changelog.d/`` into ``CHANGELOG.md``: ``python -m scripts.changelog 0.2.0 2026-12-01``.

A fragment is ``<short-name>.<kind>.md`` with one sentence for users. What cannot be folded is refused before anything
is written, so that nothing gets lost. Source: decisions L8.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["KINDS", "BadFragment", "folded", "section"]

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("added", "changed", "fixed", "removed", "security")
_NAME = re.compile(rf"^[a-z0-9][a-z0-9.-]*\.(?P<kind>{'|'.join(KINDS)})\.md$")


class BadFragment(Exception):
    """A file whose name has no kind, or that says nothing."""


def section(version: str, date: str, fragments: Mapping[str, str]) -> str:
    """The section of one release: kinds in the order of ``KINDS``, sentences by the name of their file.

    Args:
        fragments: text by file name.

    Raises:
        BadFragment: one of them cannot be folded.
    """
    by_kind: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for name, text in sorted(fragments.items()):
        match = _NAME.match(name)
        sentence = " ".join(text.split())
        if match is None or not sentence:
            raise BadFragment(f"changelog.d/{name}: {'says nothing' if match else 'its name has no kind'}")
        by_kind[match["kind"]].append(f"- {sentence}")
    parts = [f"### {kind.capitalize()}\n\n" + "\n".join(rows) for kind, rows in by_kind.items() if rows]
    return "\n\n".join([f"## {version} ({date})", *parts]) + "\n"


def folded(changelog: str, new: str) -> str:
    """The changelog with a section in front of the earlier ones, behind what stands before them.

    Raises:
        BadFragment: that version has a section already.
    """
    heading = new.partition(" (")[0]
    if re.search(rf"^{re.escape(heading)} ", changelog, re.MULTILINE):
        raise BadFragment(f"CHANGELOG.md has {heading.removeprefix('## ')} already")
    before, mark, earlier = changelog.partition("\n## ")
    return f"{before.rstrip()}\n\n{new}" + (f"\n## {earlier}" if mark else "")


def main(words: Sequence[str]) -> int:
    """Write the section and remove the fragments."""
    version, date = words
    files = [file for file in sorted(ROOT.joinpath("changelog.d").iterdir()) if file.name != "README.md"]
    changelog = ROOT / "CHANGELOG.md"
    try:
        new = section(version, date, {file.name: file.read_text(encoding="utf-8") for file in files})
        text = folded(changelog.read_text(encoding="utf-8"), new)
    except BadFragment as error:
        print(error, file=sys.stderr)
        return 1
    changelog.write_text(text, encoding="utf-8")
    for file in files:
        file.unlink()
    print(f"{len(files)} fragments folded into CHANGELOG.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
