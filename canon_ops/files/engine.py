"""The engine that changes YAML text in place: yaml-edit, behind four verbs.

Nothing else imports it, and nothing trusts it: :mod:`canon_ops.files.yaml_proofs` checks every result. Addresses are
positions, not names (the n-th entry of the m-th entry …), so that both sides mean the same place whatever a key looks
like. Known faults of yaml-edit 0.2, and who avoids them, are in ``docs/decisions/0006-the-editing-engine.md``.
"""

from __future__ import annotations

from collections.abc import Sequence

from canon_ops.errors import RefusedError
from canon_ops.files.yaml_quoting import Room, Style, choose_style
from canon_ops.hints import Any, ClassVar, Protocol

__all__ = ["Address", "Engine", "EngineFault", "EngineMissing", "YamlEdit"]

Address = tuple[int, ...]


class EngineFault(RefusedError):
    """The engine cannot read the text, or finds no such place in it; nothing was changed."""

    code: ClassVar[str] = "config_engine"


class EngineMissing(EngineFault):
    """The engine is not installed here (there are no wheels for this machine)."""

    code: ClassVar[str] = "config_engine_missing"


class Engine(Protocol):
    """Each verb takes a whole text without byte-order mark and returns one; ``room`` is for the texts in a value."""

    def replace(self, text: str, at: Address, value: Any, *, room: Room, like: Style | None = None) -> str:
        """Give the entry ``at`` another value."""
        ...

    def insert(self, text: str, parent: Address, key: str, value: Any, *, room: Room) -> str:
        """Add a key behind the last one of the mapping at ``parent``."""
        ...

    def append(self, text: str, parent: Address, value: Any, *, room: Room, like: Style | None = None) -> str:
        """Add an item behind the last one of the list at ``parent``."""
        ...

    def remove(self, text: str, at: Address) -> str:
        """Take out the entry ``at``."""
        ...

    def render(self, value: Any, *, key: str | None = None, room: Room, like: Style | None = None) -> str:
        """Write ``value`` as text of its own: with a key whole lines, or what stands in brackets; else a bare value."""
        ...


class YamlEdit:
    """The engine on yaml-edit."""

    def replace(self, text: str, at: Address, value: Any, *, room: Room, like: Style | None = None) -> str:
        file, parent = _open(text, at[:-1])
        new = _dress(value, room=room, like=like)
        if (sequence := parent.as_sequence()) is not None:
            sequence.set(at[-1], new)
        else:
            _entry(parent, at[-1]).set_value(new)
        return str(file)

    def insert(self, text: str, parent: Address, key: str, value: Any, *, room: Room) -> str:
        file, node = _open(text, parent)
        mapping = _mapping(node)
        mapping.insert_at_index(len(mapping.entries()), _dress_key(key, room=room), _dress(value, room=room))
        return str(file)

    def append(self, text: str, parent: Address, value: Any, *, room: Room, like: Style | None = None) -> str:
        file, node = _open(text, parent)
        sequence = node.as_sequence()
        if sequence is None:
            raise EngineFault("the engine sees no list there")
        sequence.append(_dress(value, room=room, like=like))
        return str(file)

    def remove(self, text: str, at: Address) -> str:
        file, parent = _open(text, at[:-1])
        if (sequence := parent.as_sequence()) is not None:
            sequence.pop(at[-1])
        else:
            _entry(parent, at[-1]).remove()
        return str(file)

    def render(self, value: Any, *, key: str | None = None, room: Room, like: Style | None = None) -> str:
        if room != "brackets":
            if key is not None:
                return self.insert("_: 0\n", (), key, value, room=room).removeprefix("_: 0\n")
            return self.replace("_: 0\n", (0,), value, room=room, like=like)[3:-1]
        if key is None:
            return self.append("_: []\n", (0,), value, room=room, like=like)[4:-2]
        return self.insert("_: {}\n", (0,), key, value, room=room)[4:-2]


def _library() -> Any:
    try:
        import yaml_edit
    except ImportError as error:
        raise EngineMissing(
            "yaml-edit, which edits config.yaml in place, is not installed for this Python",
            fix="pip install yaml-edit; or add --allow-reformat to let the whole file be written anew",
        ) from error
    return yaml_edit


def _open(text: str, at: Address) -> tuple[Any, Any]:
    """Parse ``text``; return the file and the collection at ``at``."""
    yaml_edit = _library()
    try:
        file = yaml_edit.YamlFile.parse(text)
    except yaml_edit.YamlError as error:
        raise EngineFault(f"the editing engine cannot read the text: {error}") from error
    document = file.document()
    node: Any = document.root() if document is not None else None
    for position in at:
        if node is None:
            break
        sequence = node.as_sequence()
        node = sequence.get(position) if sequence is not None else _entry(node, position).value()
        if node is not None and (tagged := node.as_tagged()) is not None:
            node = tagged
    if node is None:
        raise EngineFault("the editing engine finds no such place")
    return file, node


def _mapping(node: Any) -> Any:
    mapping = node.as_mapping()
    if mapping is None:
        raise EngineFault("the editing engine sees no mapping there")
    return mapping


def _entry(node: Any, position: int) -> Any:
    entries: Sequence[Any] = _mapping(node).entries()
    if position >= len(entries):
        raise EngineFault("the editing engine counts other entries than the reader")
    return entries[position]


def _dress(value: Any, *, room: Room, like: Style | None = None) -> Any:
    """A value as the engine takes it, with every text in the style that reads back."""
    if isinstance(value, str):
        style = choose_style(value, room=room, like=like)
        return value if style == "literal" else _library().ScalarValue(value, style=style)
    if isinstance(value, dict):
        return {_dress_key(key, room=room): _dress(item, room=room) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_dress(item, room=room) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    raise EngineFault(f"the editing engine writes no {type(value).__name__}")  # a date, a set, bytes


def _dress_key(key: Any, *, room: Room) -> Any:
    if not isinstance(key, str):
        return key
    style = choose_style(key, room=room)
    return _library().ScalarValue(key, style="double-quoted" if style == "literal" else style)
