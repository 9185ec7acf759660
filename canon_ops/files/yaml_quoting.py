"""How a text is written so that every reader of the file reads that text.

Hermes reads YAML 1.1 (``off`` is false, ``12:30`` is 750), other tools read YAML 1.2 (``1e3`` is a number). A text is
written bare only when both read the bare word as that very text; the proof is to read it.
"""

from __future__ import annotations

import yaml

from canon_ops.hints import Literal
from canon_ops.lean import late_pattern

__all__ = ["Room", "Style", "choose_style"]

Style = Literal["plain", "single-quoted", "double-quoted", "literal"]
# The room for a text: inside brackets, on one line outside of them, or over as many lines as it likes.
Room = Literal["brackets", "line", "block"]

# What YAML 1.2 reads as something else than text, where 1.1 does not.
_WORDS_1_2 = frozenset({"true", "false", "null"})  # in any case
_CORE_1_2 = late_pattern(
    r"~|[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_WORD = late_pattern(r"[A-Za-z][A-Za-z0-9_-]*")
# Written as what is left out: a class of nearly everything costs eight times as much to compile.
_PRINTABLE = late_pattern(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]*")
_LITERAL = late_pattern(r"[^\s#](?:[^\n]*[^\s])?(?:\n+(?:[^\n]*[^\s]))*\n?")


def choose_style(text: str, *, room: Room, like: Style | None = None) -> Style:
    """The style in which ``text`` is to be written.

    Args:
        room: where it will stand.
        like: the style of its neighbours or of the value it replaces; quotes are kept where they can be.
    """
    if not text.isprintable() and not _PRINTABLE.fullmatch(text):  # the first is enough for most, and needs no pattern
        lines = text.split("\n")
        if room == "block" and len(lines) > 1 and all(map(_PRINTABLE.fullmatch, lines)) and _LITERAL.fullmatch(text):
            return "literal"
        return "double-quoted"
    if like == "double-quoted" and text.isascii():
        return like
    if like != "single-quoted" and _is_bare(text, room):
        return "plain"
    return "single-quoted"


def _is_bare(text: str, room: Room) -> bool:
    if _WORD.fullmatch(text):  # no parser sees anything but a word here; only its meaning is open
        return text.lower() not in _WORDS_1_2 and _is_text(text)
    if _CORE_1_2.fullmatch(text) or "\t" in text:
        return False
    frames = ["[{}, x]", "[x, {}]", "{{k: {} }}"] if room == "brackets" else ["k: {} # x", "- {}"]
    try:
        return all(_reads_back(frame.format(text), text) for frame in frames)
    except yaml.YAMLError:
        return False


def _reads_back(line: str, text: str) -> bool:
    for loader in (yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        events = [event for event in yaml.parse(line, loader) if isinstance(event, yaml.ScalarEvent)]
        if not any(event.value == text and not event.style for event in events):
            return False
    return _is_text(text)


def _is_text(text: str) -> bool:
    """Whether PyYAML takes the bare word for that text, and not for a number, a date, a boolean."""
    loader = yaml.SafeLoader.__new__(yaml.SafeLoader)  # without a text to read: its reader compiles a large pattern
    yaml.resolver.Resolver.__init__(loader)
    tag: str = loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]  # untyped
    return tag == "tag:yaml.org,2002:str"
