"""Do Hermes' own settings suit the platform: growing answers, people who decide, a quiet chat?

Hermes' defaults are worth knowing and no fault. What somebody wrote down and what works against the platform is a
warning. Who decides on sensitive commands is the operator's choice: a change is offered, ``--fix`` never makes it.
Source: product page of Canon, "Turn streaming & activity trail"; Hermes host, 4.1 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.repair import SetConfig
from canon_ops.hermes.config_file import HermesConfig

__all__ = ["CHECKS"]

_SMART_SINCE = "0.19"  # an unset approvals.mode meant manual before; Hermes host, 4.1
_TRUE = frozenset({"1", "true", "yes", "on"})
# What would stand in the chat beside the answers: key, Hermes' default, what suits, how grave it is, what it does.
_CHATTER: tuple[tuple[str, bool | str, bool | str, Status, str], ...] = (
    ("show_reasoning", False, False, Status.WARNING, "The model's reasoning stands in its answers on {label}"),
    ("interim_assistant_messages", True, False, Status.INFO, "Hermes sends remarks in the middle of a {label} turn"),
    ("tool_progress", "all", "off", Status.INFO, "Hermes sends progress of tools, which {label} shows by itself"),
)


def _streaming(examination: Examination) -> Finding:
    """The platform's own switch beats the one for all; the one for all needs a transport."""
    config, label = examination.config(), examination.platform.label
    own = f"display.platforms.{examination.platform.name}.streaming"
    match _truth(_value(config, own)):
        case True:
            return Finding(Status.OK, f"Answers on {label} grow while they are written.")
        case False:
            return _advice(examination, own, True, f"{own} is off: answers on {label} appear when they are finished.")
    if _value(config, "streaming.transport") in ("off", False):
        told = f"streaming.transport is off: answers on {label} appear when they are finished."
        return _advice(examination, "streaming.transport", "auto", told)
    if _truth(_value(config, "streaming.enabled")) is not True:
        told = f"streaming.enabled is not on: answers on {label} appear when they are finished."
        return _advice(examination, "streaming.enabled", True, told)
    return Finding(Status.OK, f"Answers on {label} grow while they are written.")


def _approvals_mode(examination: Examination) -> Finding:
    path, config = "approvals.mode", examination.config()
    yolo = examination.variables().find("HERMES_YOLO_MODE")
    if yolo is not None and str(yolo.value).lower() in _TRUE:
        origin = yolo.origin
        return Finding(
            Status.WARNING,
            f"{origin.describe()} lets the agent run every command without asking anybody.",
            Fix(origin.to_drop()),
            Place(origin.file, origin.line, path=yolo.name),
        )
    written = _value(config, path)
    word = "off" if written is False else "manual" if written is True else str(written or "").strip().lower()
    if not word:
        version = examination.host().version
        if _asks_people_by_default(version):
            return Finding(Status.OK, f"People decide on sensitive commands: that is the default of Hermes {version}.")
        told = f"{path} is not set: in Hermes {version} an auxiliary model decides on sensitive commands."
        return _offer(examination, path, "manual", told)
    match word:
        case "manual":
            return Finding(Status.OK, "People decide on sensitive commands.")
        case "smart":
            told = f"{path} is smart: an auxiliary model decides on sensitive commands."
            return _offer(examination, path, "manual", told)
        case "off":
            told = f"{path} is off: nobody is asked about sensitive commands."
        case _:
            told = f"{path} is {written!r}, which Hermes does not know; it takes manual and warns at each command."
    return _offer(examination, path, "manual", told, Status.WARNING)


def _asks_people_by_default(version: str | None) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return version is not None and Version(version) < Version(_SMART_SINCE)
    except InvalidVersion:
        return False


def _display(examination: Examination) -> Answer:
    """What would stand in the chat beside the answers; the platform's own setting beats the one for all."""
    config, name, label = examination.config(), examination.platform.name, examination.platform.label
    found = []
    for key, default, wanted, status, told in _CHATTER:
        own, common = f"display.platforms.{name}.{key}", f"display.{key}"
        path = own if _value(config, own) is not None else common
        written = _value(config, path)
        value = default if written is None else written
        if _as_word(value) not in (_as_word(wanted), "false"):
            where = "that is Hermes' default" if written is None else f"{path} is {_as_word(written)}"
            found.append(_advice(examination, own, wanted, f"{told.format(label=label)}: {where}.", status))
    return tuple(found) or Finding(Status.OK, f"Nothing but answers stands in {label}'s chats.")


def _advice(
    examination: Examination, path: str, value: str | bool, message: str, status: Status = Status.INFO
) -> Finding:
    """A finding that ``--fix`` mends."""
    return _setting(examination, path, value, message, status, SetConfig(path, value))


def _offer(
    examination: Examination, path: str, value: str | bool, message: str, status: Status = Status.INFO
) -> Finding:
    """A finding with the command to paste, which only a person gives."""
    return _setting(examination, path, value, message, status, None)


def _setting(
    examination: Examination, path: str, value: str | bool, message: str, status: Status, repair: SetConfig | None
) -> Finding:
    examination.expect_room(path)
    command = examination.command(f"config set {path} {_as_word(value)}")
    return Finding(status, message, Fix(command, repair), Place(str(examination.config().file), path=path))


def _value(config: HermesConfig, path: str) -> Any:
    value: Any = config.tree
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _truth(value: object) -> bool | None:
    """What Hermes takes a switch for; None when it is not set."""
    if value is None:
        return None
    return value.strip().lower() in _TRUE if isinstance(value, str) else bool(value)


def _as_word(value: object) -> str:
    """A value as somebody would type it; a bare ``off`` is false for Hermes, and means off where words are expected."""
    return str(value).strip().lower() if isinstance(value, bool | str) else str(value)


CHECKS = (
    Check(
        "settings.streaming",
        "Growing answers",
        "Do answers grow while they are written?",
        _streaming,
        about=About(
            "Hermes streams on no platform unless it is told to.",
            "The final answer arrives all the same; people only see nothing but typing dots until then.",
            "Set streaming.enabled to true in config.yaml, and leave streaming.transport at auto.",
            ("streaming.enabled", "streaming.transport", "display.platforms.canon.streaming"),
        ),
    ),
    Check(
        "settings.approvals_mode",
        "Approvals",
        "Do people decide on sensitive commands?",
        _approvals_mode,
        about=About(
            "Since 0.19 Hermes lets an auxiliary model decide unless approvals.mode says manual.",
            "A command that should have been asked about may run without anybody having seen it.",
            "Set approvals.mode to manual in config.yaml, and unset HERMES_YOLO_MODE where the gateway is started.",
            ("approvals.mode", "HERMES_YOLO_MODE"),
        ),
    ),
    Check(
        "settings.display",
        "Chat",
        "Does the chat hold answers only?",
        _display,
        about=About(
            "Hermes shows remarks and progress on platforms that do not show activity themselves. Canon does.",
            "Canon keeps such lines out of its messages where it can tell them; reasoning stands inside the answer.",
            "Below display.platforms.canon set interim_assistant_messages and show_reasoning to false, and "
            'tool_progress to "off" with its quotes.',
            (
                "display.platforms.canon.interim_assistant_messages",
                "display.platforms.canon.tool_progress",
                "display.platforms.canon.show_reasoning",
            ),
        ),
    ),
)
