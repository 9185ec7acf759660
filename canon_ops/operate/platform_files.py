"""The edits that switch a platform on in a Hermes home, each with the note from which it can be taken back.

Pure: documents in, documents and notes out. What the host makes of the files is its own rules (Hermes host, 4.2, 6.1);
here is only which lines say it. Source: decisions C2, C3; product page of Canon, "Install".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.hermes.config_file import HermesConfig
from canon_ops.hermes.platforms import PlatformNames
from canon_ops.operate.taking_back import Edit, EditKind, KeyPath
from canon_ops.settings.surroundings import Surroundings

__all__ = ["Access", "AccessWish", "is_denied", "platform_edits", "with_access", "with_platform"]

_DENY_LIST = ("plugins", "disabled")
_ALLOW_LIST = ("plugins", "enabled")
_TRUE = frozenset({"true", "1", "yes"})  # what the host takes for true in an access variable
_FALSE = frozenset({"false", "0", "no", "off"})  # what people mean by false; any other word is neither


class Access(Enum):
    """What happens to the question of who may start turns."""

    KEPT = "kept"  # a switch or a list is there already, and no option speaks against it
    EVERYBODY = "everybody"  # the switch is set: everybody whom Canon lets through
    LISTED = "listed"  # a list of people is set
    OPEN = "open"  # neither is set: the platform's own rules are the only ones


@dataclass(frozen=True, slots=True)
class AccessWish:
    """What the caller said about access.

    Attributes:
        allow_all: the switch; None leaves it to the first-run rule.
        people: ids of those who may start turns, instead of everybody.
        is_first: nobody was asked before; only then does the first-run rule speak.
    """

    allow_all: bool | None = None
    people: tuple[str, ...] = ()
    is_first: bool = True


@dataclass(frozen=True, slots=True)
class AccessPlan:
    """What becomes of access.

    Attributes:
        is_open_question: nobody decided it yet, and the first-run rule did.
        document: the new ``.env``; None leaves it as it is.
    """

    access: Access
    is_open_question: bool = False
    document: DotenvDocument | None = None
    edits: tuple[Edit, ...] = ()


def is_denied(document: ConfigDocument, plugin: str) -> bool:
    """Whether ``plugins.disabled`` names the plugin; it beats the other list."""
    found = document.find(_DENY_LIST)
    return found is not None and isinstance(found.value, list) and plugin in found.value


def with_platform(document: ConfigDocument, names: PlatformNames) -> tuple[ConfigDocument, tuple[Edit, ...]]:
    """The document with the plugin enabled, not denied, and the platform switched on where the host looks for it."""
    edits: list[Edit] = []
    after = document.add(_ALLOW_LIST, names.plugin)
    if after.data != document.data:
        edits.append(Edit(EditKind.ADDED, _ALLOW_LIST, names.plugin, made=_depth(document, _ALLOW_LIST)))
    if is_denied(after, names.plugin):
        after = after.remove(_DENY_LIST, names.plugin)
        edits.append(Edit(EditKind.REMOVED, _DENY_LIST, names.plugin))
    switch = _switch_of(after, names)
    if HermesConfig(Path(after.file), after.value).platform_switch(names.name) is not True:
        found = after.find(switch)
        before = found.value if found else None
        edits.append(Edit(EditKind.SET, switch, True, before, found is not None, _depth(after, switch)))
        after = after.set(switch, True)
    return after, tuple(edits)


def platform_edits(document: ConfigDocument, names: PlatformNames) -> tuple[Edit, ...]:
    """The edits that somebody must have made for the platform to be on: for a home of which there is no record."""
    edits: list[Edit] = []
    listed = document.find(_ALLOW_LIST)
    if listed is not None and isinstance(listed.value, list) and names.plugin in listed.value:
        edits.append(Edit(EditKind.ADDED, _ALLOW_LIST, names.plugin, made=len(_ALLOW_LIST)))
    switch = _switch_of(document, names)
    found = document.find(switch)
    if found is not None and found.value is True:
        edits.append(Edit(EditKind.SET, switch, True, None, False, len(switch) - 1))
    return tuple(edits)


def with_access(document: DotenvDocument, around: Surroundings, names: PlatformNames, wish: AccessWish) -> AccessPlan:
    """What becomes of access, and the new ``.env``.

    An allowlist counts only while the switch is off, so a list that is asked for turns the switch off.
    """
    switch, people = names.allow_all_variable, names.allowlist_variable
    if switch is None or people is None:
        return AccessPlan(Access.KEPT)
    everyone, listed = around.find(switch), around.find(people)
    word = str(everyone.value).lower() if everyone is not None else ""
    is_open, is_misread = word in _TRUE, bool(word) and word not in _TRUE | _FALSE
    is_decided = bool(everyone and everyone.value) or bool(listed and listed.value)
    if wish.people:
        wanted = {people: ",".join(wish.people), **({switch: "false"} if is_open or is_misread else {})}
        return AccessPlan(Access.LISTED, False, *_with_variables(document, wanted))
    if wish.allow_all is False:
        state = Access.LISTED if listed and listed.value else Access.OPEN
        if not (is_open or is_misread):
            return AccessPlan(state)
        return AccessPlan(state, False, *_with_variables(document, {switch: "false"}))
    if wish.allow_all is None and is_decided:
        return AccessPlan(Access.KEPT)
    if wish.allow_all is None and not wish.is_first:
        return AccessPlan(Access.OPEN)
    return AccessPlan(Access.EVERYBODY, wish.allow_all is None, *_with_variables(document, {switch: "true"}))


def _with_variables(document: DotenvDocument, wanted: dict[str, str]) -> tuple[DotenvDocument, tuple[Edit, ...]]:
    edits = []
    for name, value in wanted.items():
        before = document.get(name)
        if before != value:
            edits.append(Edit(EditKind.VARIABLE, (name,), value, before, before is not None))
        document = document.set(name, value)
    return document, tuple(edits)


def _switch_of(document: ConfigDocument, names: PlatformNames) -> KeyPath:
    """Where the platform's switch stands, or belongs: its own top-level block decides where it has one."""
    top = document.find((names.name,))
    beats_platforms = top is not None and isinstance(top.value, dict) and "enabled" in top.value
    below = document.find(("platforms", names.name))  # a top-level block would hide what that one says
    if beats_platforms or (names.has_block and below is None):
        return (names.name, "enabled")
    return ("platforms", names.name, "enabled")


def _depth(document: ConfigDocument, path: KeyPath) -> int:
    """How many leading parts of ``path`` are there."""
    return next((depth for depth in range(len(path), 0, -1) if document.find(path[:depth]) is not None), 0)
