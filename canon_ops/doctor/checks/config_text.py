"""What stands in config.yaml and is read otherwise than its writer meant: lost keys, doubled ones, treacherous words.

The faults are those of ``config validate``; here each kind has its check, its severity and its repair. What another
check judges with more knowledge (whether a plugin is enabled, whether a platform is switched on) is left to it.
"""

from __future__ import annotations

from collections.abc import Sequence

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.repair import MoveConfig, Repair, SetConfig, TextToList, UnsetConfig
from canon_ops.files.yaml_path import parse_path
from canon_ops.hermes.keys import KNOWN_KEYS, KeyFile, KeyType, dropped, find_key
from canon_ops.operate.validate_config import ConfigFault, is_platform_switch

__all__ = ["CHECKS"]

# Judged by checks of their own.
_ELSEWHERE = frozenset({"plugins.enabled", "plugins.disabled", "gateway.multiplex_profiles", "multiplex_profiles"})
_SECTIONS = frozenset(key.name.partition(".")[0] for key in KNOWN_KEYS if key.file is KeyFile.CONFIG)


def _faults(examination: Examination, code: str) -> list[ConfigFault]:
    return [fault for fault in examination.config_faults() if fault.code == code]


def _values(examination: Examination) -> list[ConfigFault]:
    """Known keys with a value of the wrong kind, less those that another check is about."""
    return [fault for fault in _faults(examination, "config_value") if not _is_judged_elsewhere(fault.path or "")]


def _is_judged_elsewhere(path: str) -> bool:
    return is_platform_switch(path) or path in _ELSEWHERE or path.startswith(("approvals.", "display.", "streaming."))


def _duplicate_key(examination: Examination) -> Answer:
    found = _faults(examination, "config_duplicate_key")
    return _told(examination, Status.WARNING, found) or _ok("No key of config.yaml is there twice.")


def _dropped_key(examination: Examination) -> Answer:
    found = []
    for fault in _faults(examination, "config_dropped_key"):
        lost = dropped(parse_path(fault.path or ""))
        if lost is None or lost.instead is None:
            found.append(_finding(examination, Status.WARNING, fault))
            continue
        taken = examination.document().find(parse_path(lost.instead)) is not None
        repair = None if taken else MoveConfig(lost.path, lost.instead)
        found.append(_finding(examination, Status.WARNING, fault, repair))
    return tuple(found) or _ok("Hermes hands on every key of the platforms.")


def _text_list(examination: Examination) -> Answer:
    faults = [fault for fault in _values(examination) if _is_text_list(examination, fault)]
    found = [_finding(examination, Status.ERROR, fault, TextToList(str(fault.path))) for fault in faults]
    return tuple(found) or _ok("Every list of the known keys is a list.")


def _value(examination: Examination) -> Answer:
    faults = [fault for fault in _values(examination) if not _is_text_list(examination, fault)]
    found = []
    for fault in faults:
        status = Status.ERROR if fault.severity == "error" else Status.WARNING
        found.append(_finding(examination, status, fault, _quoted_bool(examination, fault)))
    return tuple(found) or _ok("The known keys have values of their kind.")


def _bare_word(examination: Examination) -> Answer:
    found = [
        fault
        for fault in _faults(examination, "config_bare_word")
        if not _is_judged_elsewhere(fault.path or "") and not _is_known_switch(fault.path or "")
    ]
    return _told(examination, Status.INFO, found) or _ok("No bare word means something else to other programs.")


def _null_section(examination: Examination) -> Answer:
    document = examination.document()
    found = []
    for name in sorted(_SECTIONS & set(document.value)):
        place = document.find((name,))
        if document.value[name] is None and place is not None:
            found.append(
                Finding(
                    Status.INFO,
                    f"The section {name} has nothing in it; Hermes before 0.19 loses its defaults by that.",
                    Fix(examination.command(f"config unset {name}"), UnsetConfig(name)),
                    Place(document.file, place.line, place.column, name),
                )
            )
    return tuple(found) or _ok("No section is empty.")


def _is_known_switch(path: str) -> bool:
    """A bare yes is what is meant there, for Hermes; others have no business with it."""
    known = find_key(path, KeyFile.CONFIG)
    return known is not None and known.type is KeyType.BOOL


def _is_text_list(examination: Examination, fault: ConfigFault) -> bool:
    path = fault.path or ""
    known, place = find_key(path, KeyFile.CONFIG), examination.document().find(parse_path(path))
    return known is not None and known.type is KeyType.LIST and place is not None and isinstance(place.value, str)


def _quoted_bool(examination: Examination, fault: ConfigFault) -> Repair | None:
    """A switch in quotes means the word in them (BR-08); what any other wrong value means, nobody can tell."""
    path = fault.path or ""
    known, place = find_key(path, KeyFile.CONFIG), examination.document().find(parse_path(path))
    if known is None or known.type is not KeyType.BOOL or place is None:
        return None
    word = str(place.value).strip().lower()
    return SetConfig(path, word == "true") if word in ("true", "false") else None


def _told(examination: Examination, status: Status, faults: Sequence[ConfigFault]) -> Answer:
    return tuple(_finding(examination, status, fault) for fault in faults)


def _finding(examination: Examination, status: Status, fault: ConfigFault, repair: Repair | None = None) -> Finding:
    place = Place(str(examination.home.config_file), fault.line, fault.column, fault.path)
    fix = fault.fix
    if fix is not None and fix.startswith("canon-ops "):  # two commands, where one moves what the other removes
        fix = " && ".join(map(examination.command, fix.removeprefix("canon-ops ").split(" && canon-ops ")))
    return Finding(status, fault.message, Fix(fix, repair) if fix else None, place, {"code": fault.code})


def _ok(message: str) -> Finding:
    return Finding(Status.OK, message)


CHECKS = (
    Check(
        "config.duplicate_key",
        "Keys twice",
        "Is each key of config.yaml there once?",
        _duplicate_key,
        about=About(
            "A block was pasted below one of the same name, often far away from it.",
            "Hermes reads the last of them without a word; what stands in the others counts for nothing.",
            "Go to the lines that the finding names, and join the blocks by hand.",
            ("config.yaml",),
        ),
    ),
    Check(
        "config.dropped_key",
        "Lost keys",
        "Does Hermes hand on every key of the platforms?",
        _dropped_key,
        about=About(
            "Hermes takes a fixed set of names from platforms.<name>; a platform's own keys belong below extra.",
            "The key looks set, nobody reads it, and no log says so.",
            "Move the key below platforms.<name>.extra, or to the path that the finding names.",
            ("platforms.canon", "platforms.canon.extra", "borgee"),
        ),
    ),
    Check(
        "config.text_list",
        "Lists",
        "Are the lists of config.yaml lists?",
        _text_list,
        about=About(
            "Words with commas between them were written where Hermes wants a list.",
            "Hermes ignores the text, and some of its commands replace it by a list without your words.",
            "Write [a, b], or one word a line behind a dash.",
            ("config.yaml",),
        ),
    ),
    Check(
        "config.value",
        "Values",
        "Have the known keys values of their kind?",
        _value,
        about=About(
            "A switch in quotes, a word for a number, or a word that the key does not know.",
            "Hermes or the platform takes a default instead, or the text for a yes.",
            "Set the key again with one of the values that the finding names.",
            ("config.yaml",),
        ),
    ),
    Check(
        "config.bare_word",
        "Bare words",
        "Do all programs read the words of config.yaml alike?",
        _bare_word,
        about=About(
            "Hermes reads YAML 1.1, where off, no, 0600, 12:30 and 1_000 without quotes are no texts. Others read 1.2.",
            "An editor or a script may read another value than Hermes, and write it back.",
            "Put the word into quotes where the text is meant; write true, false or a plain number where it is not.",
            ("config.yaml",),
        ),
    ),
    Check(
        "config.null_section",
        "Empty sections",
        "Has every section something in it?",
        _null_section,
        about=About(
            "A section's last key was removed, and its name stayed.",
            "Hermes 0.18 takes nothing in the place of its defaults and may fail; later versions ignore it.",
            "Remove the line, or write {} behind the colon.",
            ("config.yaml",),
        ),
    ),
)
