"""The help texts that Hermes appends to config.yaml whenever it saves: comments that no person wrote.

Two blocks, each under a heading of its own and without a blank line inside. The endings are those of every release
looked at (0.18.2 to 0.22.2). A block whose ending was changed has been taken over by a person and is theirs; so is what
follows the ending.

Source: hermes-host 3.2 (``save_config``, the appended text).
"""

from __future__ import annotations

__all__ = ["find_boilerplate"]

_HEADINGS = ("# ── Security ──", "# ── Fallback Model ──")
_ENDINGS = frozenset(
    {
        "#   tirith_fail_open: true",
        "#   redact_secrets: true",
        "#   model: anthropic/claude-sonnet-4",
    }
)


def find_boilerplate(text: str) -> tuple[tuple[int, int], ...]:
    """The ranges of ``text`` that Hermes wrote, from the heading's first character to the ending's last line end."""
    found: list[tuple[int, int]] = []
    start: int | None = None
    end: int | None = None
    position = 0
    for line in [*text.splitlines(keepends=True), ""]:
        is_comment = line.startswith("#")
        if start is not None and (not is_comment or line.startswith(_HEADINGS)):
            if end is not None:
                found.append((start, end))
            start = end = None
        if is_comment and line.startswith(_HEADINGS):
            start = position
        if start is not None and line.rstrip() in _ENDINGS:
            end = position + len(line)
        position += len(line)
    return tuple(found)
