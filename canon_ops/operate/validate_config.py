"""Whether a configuration says what its writer means: the work behind ``config validate`` and ``config edit``.

Only known keys are judged; whatever else is in the file is somebody's own and none of our business, but for a name that
is almost a known one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.config_refusals import wrong_kind
from canon_ops.files.yaml_path import format_path, parse_path
from canon_ops.files.yaml_survey import bare_words, keys_twice
from canon_ops.hermes.config_file import as_switch
from canon_ops.hermes.keys import KNOWN_KEYS, KeyFile, KeyType, KnownKey, dropped, find_key, near_key
from canon_ops.operate.advice import set_words, way_to_mend

__all__ = ["ConfigFault", "Severity", "is_platform_switch", "validate_config"]

Severity = Literal["error", "warning", "info"]
KeyPath = tuple[str | int, ...]

# Where Hermes and the platforms read nothing but a mapping; of the other sections some may hold a plain value.
_MAPPINGS = ("approvals", "borgee", "display", "gateway", "platforms", "plugins", "streaming")
_SECTIONS = frozenset(
    name[:end]
    for key in KNOWN_KEYS
    if key.file is KeyFile.CONFIG
    for name in (key.name, *key.aliases)
    if name.partition(".")[0] in _MAPPINGS
    for end, letter in enumerate(name)
    if letter == "."
)


@dataclass(frozen=True, slots=True)
class ConfigFault:
    """One thing that is not as it should be.

    Attributes:
        severity: ``error`` does not work as written, ``warning`` is lost or hidden, ``info`` may surprise.
        code: stable; those of an unreadable file are the codes of its error.
    """

    severity: Severity
    code: str
    path: str | None
    message: str
    fix: str | None
    line: int | None
    column: int | None


def validate_config(document: ConfigDocument) -> tuple[ConfigFault, ...]:
    """Every fault, in the order of the file."""
    faults = [*_of_keys(document), *_doubled(document)]
    told = {fault.path for fault in faults}
    faults += [fault for fault in _treacherous(document) if fault.path not in told]
    return tuple(sorted(faults, key=lambda fault: (fault.line or 0, fault.column or 0)))


def _of_keys(document: ConfigDocument) -> Iterator[ConfigFault]:
    hidden: set[str] = set()
    for path, value in _places(document.value):
        dotted = format_path(path)
        known = find_key(dotted, KeyFile.CONFIG)
        if known is not None:
            if value is not None and (problem := known.problem(value)):
                fix = f"canon-ops {way_to_mend(known, value)}"
                yield _fault(document, path, _weight(dotted, known, value), "config_value", f"{problem}.", fix)
            continue
        if dotted in _SECTIONS and value is not None and not isinstance(value, dict):
            refusal = wrong_kind(path, value, "a mapping")
            yield _fault(document, path, "error", "config_value", refusal.sentence, refusal.fix)
            continue
        if any(dotted.startswith(f"{above}.") for above in hidden):
            continue
        if (lost := dropped(path)) is not None:
            hidden.add(dotted)
            fix = _moved(document, dotted, lost.instead, value)
            yield _fault(document, path, "warning", "config_dropped_key", lost.why, fix)
        elif (near := near_key(dotted, KeyFile.CONFIG)) is not None:
            hidden.add(dotted)
            message = f"{dotted} is not a known key; {near} is."
            fix = _moved(document, dotted, near, value)
            yield _fault(document, path, "info", "config_near_miss", message, fix)


def is_platform_switch(path: str) -> bool:
    """Whether the value switches a platform of ours on and off."""
    return path.startswith(("platforms.", "gateway.platforms.", "canon.", "borgee.")) and path.endswith(".enabled")


def _weight(path: str, known: KnownKey, value: Any) -> Severity:
    """A value of another kind is an error, unless Hermes takes it all the same for what is meant."""
    is_word = known.type is KeyType.STR and isinstance(value, bool)  # a bare off, in most places (BR-07)
    is_on = is_platform_switch(path) and as_switch(value) is True  # a quoted true (BR-08)
    return "warning" if is_word or is_on else "error"


def _moved(document: ConfigDocument, path: str, to: str | None, value: Any) -> str:
    """The commands that give ``value`` to the key that is read; a key that has a value keeps it."""
    unset = f"canon-ops config unset {shlex.quote(path)}"
    if to is None or value is None or document.find(parse_path(to)) is not None:
        return unset
    return f"canon-ops {set_words(to, value)} && {unset}"


def _doubled(document: ConfigDocument) -> Iterator[ConfigFault]:
    for twice in keys_twice(document):
        lines = ", ".join(map(str, twice.lines))
        message = f"{twice.path} stands in lines {lines}; Hermes reads line {twice.lines[-1]} only."
        fix = f"keep one of them: {document.file}:{twice.lines[0]}"
        yield ConfigFault("warning", "config_duplicate_key", twice.path, message, fix, twice.lines[0], None)


def _treacherous(document: ConfigDocument) -> Iterator[ConfigFault]:
    for word in bare_words(document):
        message = f"{word.path} is {word.word} without quotes; Hermes reads {word.value!r}, other programs do not."
        fix = f'"{word.word}" in quotes, if the text is meant: {document.file}:{word.line}'
        yield ConfigFault("info", "config_bare_word", word.path, message, fix, word.line, word.column)


def _fault(
    document: ConfigDocument, path: KeyPath, severity: Severity, code: str, message: str, fix: str | None
) -> ConfigFault:
    found = document.find(path)
    line, column = (found.line, found.column) if found else (None, None)
    return ConfigFault(severity, code, format_path(path), message, fix, line, column)


def _places(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Every key of every mapping, from the top; what is below a known key that holds a mapping is looked at too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(key, str):
                yield (*path, key), inner
                yield from _places(inner, (*path, key))
