"""Change config.yaml without touching a byte that nobody asked about.

A :class:`ConfigDocument` is an immutable text that Hermes can read. Each edit returns a new document, or the same one
when there is nothing to do. The way of an edit:

1. PyYAML's tree tells where the path leads (:mod:`yaml_layout`); aliases, merge keys and duplicates are refused here.
2. :mod:`yaml_plans` plans the edit: what changes, the range of text in which it may change, and the new text, which
   the engine (:mod:`engine`) writes, or for a few shapes a splice of our own.
3. Three proofs (:mod:`yaml_proofs`) hold the new text against the plan, whoever wrote it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import yaml

from canon_ops.errors import NotFoundError, RefusedError
from canon_ops.files.engine import Engine, YamlEdit
from canon_ops.files.yaml_layout import Layout, Way, comments, find_way, lay_out
from canon_ops.files.yaml_path import Path, format_path
from canon_ops.files.yaml_plans import Plan, Planner
from canon_ops.files.yaml_proofs import prove
from canon_ops.files.yaml_reader import ConfigSyntaxError, YamlText, construct, read_yaml, same

__all__ = ["ConfigDocument", "ConfigRefused", "ConfigSyntaxError", "Found", "NoSuchKey"]


_ANCHOR = re.compile(r"&([^\s,\[\]{}]+)")


class ConfigRefused(RefusedError):
    """The edit is clear, but this place must not be edited like that; the message says what to do instead."""

    code: ClassVar[str] = "config_refused"


class DuplicateKey(ConfigRefused):
    """The key is there more than once; Hermes reads the last."""

    code: ClassVar[str] = "config_duplicate_key"


class ThroughAlias(ConfigRefused):
    """The place is reached only through an alias or a merge key."""

    code: ClassVar[str] = "config_alias"


class AnchorInUse(ConfigRefused):
    """The value is repeated by aliases elsewhere."""

    code: ClassVar[str] = "config_anchor"


class WrongKind(ConfigRefused):
    """There is a value of another kind than the edit needs."""

    code: ClassVar[str] = "config_kind"


class NoSuchKey(NotFoundError):
    """The path leads nowhere."""

    code: ClassVar[str] = "config_not_found"


class NoSuchIndex(NoSuchKey):
    """The list is shorter."""

    code: ClassVar[str] = "config_index"


@dataclass(frozen=True, slots=True)
class Found:
    """A value of the document and where it stands (1-based); the place is that of its key or item."""

    value: Any
    line: int
    column: int


class ConfigDocument:
    """One text of config.yaml and the edits that can be made to it.

    Build it with :meth:`parse`.
    """

    def __init__(self, document: YamlText, engine: Engine) -> None:
        self._document = document
        self._engine = engine

    @classmethod
    def parse(cls, data: bytes, file: str = "config.yaml", *, engine: Engine | None = None) -> Self:
        """Read a text.

        Args:
            file: for messages.

        Raises:
            ConfigSyntaxError: Hermes cannot read it; with line and column.
        """
        return cls(read_yaml(data, file), engine or YamlEdit())

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self._document.encode()

    @property
    def file(self) -> str:
        return self._document.file

    @property
    def value(self) -> Any:
        """What Hermes reads: the whole document as Python values; {} for an empty one. Do not change it."""
        return self._document.value

    @cached_property
    def _layout(self) -> Layout:
        return lay_out(self._document)

    @cached_property
    def _planner(self) -> Planner:
        return Planner(self._document, self._layout, comments(self._document, self._layout), self._engine)

    # -- reading --------------------------------------------------------------------------------------------------

    def find(self, path: Path) -> Found | None:
        """What Hermes reads at ``path``, also through aliases and merge keys; None when there is nothing."""
        value = self.value
        for name in path:
            if isinstance(value, dict):
                if name not in value and isinstance(name, str) and name.isdigit():
                    name = int(name)  # a key 404: is a number for Hermes
                if name not in value:
                    return None
                value = value[name]
            elif isinstance(value, list) and str(name).isdigit() and int(name) < len(value):
                value = value[int(name)]
            else:
                return None
        return Found(value, *self._document.line_column(self._start_of(path)))

    def _start_of(self, path: Path) -> int:
        if self._document.root is None or not path:
            return 0
        way = find_way(self._document, self._layout, path)
        return self._entry_start(way) if way.steps else 0

    def _entry_start(self, way: Way) -> int:
        step = way.steps[-1]
        if isinstance(step.parent, yaml.MappingNode):
            return int(step.parent.value[step.position][0].start_mark.index)
        alias = self._layout.aliases.get((id(step.parent), 2 * step.position + 1))
        return alias[0] if alias else int(step.parent.value[step.position].start_mark.index)

    # -- edits ----------------------------------------------------------------------------------------------------

    def set(self, path: Path, value: Any) -> ConfigDocument:
        """Give ``path`` a value; missing mappings on the way are made.

        Args:
            value: text, number, boolean, None, or lists and mappings of them.

        Raises:
            ConfigRefused: the place is behind an alias, a merge key or a duplicate, or a part of the way is no
                mapping; with line and column.
            ProofFailed, EngineFault: the edit cannot be made without touching more; nothing changed.
        """
        found = self.find(path)
        way = self._way(path)
        if way is not None and not way.rest:
            if found is not None and same(found.value, value):
                return self
            return self._apply(self._replace(way, value))
        return self._apply(self._grow(way, path, value))

    def ensure_mapping(self, path: Path) -> ConfigDocument:
        """Make sure that ``path`` is a mapping: a missing or null one becomes empty, an existing one stays.

        Raises:
            ConfigRefused: something else is there.
        """
        found = self.find(path)
        if found is not None and isinstance(found.value, dict):
            return self
        if found is not None and found.value is not None:
            raise self._wrong_kind(path, found, "a mapping")
        return self.set(path, {})

    def add(self, path: Path, item: Any) -> ConfigDocument:
        """Append ``item`` to the list at ``path``, once; a missing or null list is made.

        Raises:
            ConfigRefused: as ``set``; also when a text stands where a list belongs.
        """
        found = self.find(path)
        if found is None or found.value is None:
            return self.set(path, [item])
        if not isinstance(found.value, list):
            raise self._wrong_kind(path, found, "a list")
        if any(same(existing, item) for existing in found.value):
            return self
        return self._apply(self._planner.append(cast("Way", self._way(path)), item))

    def unset(self, path: Path) -> ConfigDocument:
        """Remove the entry at ``path`` with the comment block directly above it; nothing happens when it is absent.

        Raises:
            ConfigRefused: as ``set``; also when an alias repeats something inside.
        """
        if self.find(path) is None:
            return self
        way = cast("Way", self._way(path))
        self._refuse_shared(way.node)
        return self._apply(self._planner.drop(way))

    def remove(self, path: Path, item: Any) -> ConfigDocument:
        """Remove every item equal to ``item`` from the list at ``path``; nothing happens when there is none.

        Raises:
            ConfigRefused: as ``unset``; also when something else than a list is there.
        """
        found = self.find(path)
        if found is None or found.value is None:
            return self
        if not isinstance(found.value, list):
            raise self._wrong_kind(path, found, "a list")
        document: ConfigDocument = self
        for index in reversed(range(len(found.value))):
            if same(found.value[index], item):
                document = document.unset((*path, index))
        return document

    # -- plans ----------------------------------------------------------------------------------------------------

    def _way(self, path: Path) -> Way | None:
        """The way to ``path``, checked for everything that forbids an edit; None in an empty document."""
        if not path:
            raise ConfigRefused("the whole document is not one value", fix="name a key")
        document = self._document
        if document.root is None:
            return None
        way = find_way(document, self._layout, path)
        if way.duplicate:
            lines = [document.line_column(start)[0] for start in way.duplicate]
            raise DuplicateKey(
                f"{format_path(path[: len(way.steps)])} stands in lines {', '.join(map(str, lines))}; "
                f"Hermes reads line {lines[-1]} only",
                fix=f"keep one of them: {document.file}:{lines[0]}",
                **self._at(way.duplicate[0]),
            )
        if way.alias is not None:
            anchor = document.text[way.alias[0] + 1 : way.alias[1]]
            raise ThroughAlias(
                f"{format_path(path)} is reached through the alias *{anchor}",
                fix=f"edit the value at the anchor &{anchor}{self._anchor_line(anchor)}",
                **self._at(way.alias[0]),
            )
        if way.rest and (merged := self._merged_from(way)) is not None:
            raise merged
        if way.unlike is not None:
            word = way.rest[0]
            raise ConfigRefused(
                f"the key {word} is there, but Hermes reads the bare word as something else than text",
                fix=f'write it in quotes in the file: "{word}":',
                **self._at(way.unlike),
            )
        return way

    def _merged_from(self, way: Way) -> ThroughAlias | None:
        node, name = way.node, way.rest[0]
        if not isinstance(node, yaml.MappingNode):
            return None
        for position, (key, _) in enumerate(node.value):
            if key.tag == "tag:yaml.org,2002:merge" and name in construct(node):
                span = self._layout.aliases.get((id(node), 2 * position + 1))
                anchor = self._document.text[span[0] + 1 : span[1]] if span else ""
                where = f"the anchor &{anchor}{self._anchor_line(anchor)}" if anchor else "what the merge key << names"
                return ThroughAlias(
                    f"{format_path((*[step.name for step in way.steps], name))} comes from a merge key (<<)",
                    fix=f"edit {where}",
                    **self._at(int(key.start_mark.index)),
                )
        return None

    def _anchor_line(self, anchor: str) -> str:
        place = self._document.text.find(f"&{anchor}")
        return f", line {self._document.line_column(place)[0]}" if place >= 0 else ""

    def _at(self, index: int) -> dict[str, Any]:
        line, column = self._document.line_column(index)
        return {"file": self._document.file, "line": line, "column": column}

    def _wrong_kind(self, path: Path, found: Found, wanted: str) -> WrongKind:
        kind = "a mapping" if isinstance(found.value, dict) else "a list" if isinstance(found.value, list) else None
        if kind is None:
            kind = "the text" if isinstance(found.value, str) else "the value"
            kind += f" {found.value!r}" if len(repr(found.value)) < 60 else ""
        return WrongKind(
            f"{format_path(path)} holds {kind}, where Hermes wants {wanted}",
            file=self._document.file,
            line=found.line,
            column=found.column,
        )

    def _grow(self, way: Way | None, path: Path, value: Any) -> Plan:
        """Add what is missing of ``path`` below the deepest mapping that exists."""
        if way is None:
            return self._planner.begin(str(path[0]), _nest(path[1:], value, path))
        rest, node = way.rest, way.node
        here = tuple(step.name for step in way.steps)
        start = int(node.start_mark.index)
        if isinstance(node, yaml.SequenceNode):
            raise NoSuchIndex(
                f"{format_path(here)} has {len(node.value)} items; {format_path((*here, rest[0]))} is none of them",
                fix=f"canon-ops config add {format_path(here)} ITEM",
                **self._at(start),
            )
        if isinstance(node, yaml.ScalarNode):
            if node.tag != "tag:yaml.org,2002:null":
                raise self._wrong_kind(here, Found(construct(node), *self._document.line_column(start)), "a mapping")
            return self._replace(way, _nest(rest, value, path))
        if isinstance(rest[0], int):
            name = format_path(here) or "the document"
            raise WrongKind(f"{name} is a mapping; it has no index [{rest[0]}]", **self._at(start))
        return self._planner.insert(way, rest[0], _nest(rest[1:], value, path))

    def _replace(self, way: Way, value: Any) -> Plan:
        inline = isinstance(way.node, yaml.ScalarNode) and not isinstance(value, dict | list)
        self._refuse_shared(way.node, but_itself=inline)
        return self._planner.replace(way, value)

    def _refuse_shared(self, node: yaml.Node, *, but_itself: bool = False) -> None:
        """Refuse to remove an anchor that an alias elsewhere needs."""
        text = self._document.text
        for inner in _nodes(node):
            if id(inner) in self._layout.shared and not (but_itself and inner is node):
                start = int(inner.start_mark.index)
                match = _ANCHOR.search(text, start)
                anchor = match[1] if match else "?"
                raise AnchorInUse(
                    f"the anchor &{anchor} stands inside this value and is used elsewhere (*{anchor})",
                    fix=f"write the value out where *{anchor} stands, then try again",
                    **self._at(start),
                )

    def _apply(self, plan: Plan) -> ConfigDocument:
        old = self._document
        new = read_yaml((old.bom + plan.text).encode("utf-8"), old.file)
        document = ConfigDocument(new, self._engine)
        prove(old, self._layout, new, document._layout, span=plan.span, gone=plan.gone, change=plan.change)
        return document


def _nest(rest: Path, value: Any, path: Path) -> Any:
    """``value`` below one mapping for each part of ``rest``."""
    for name in reversed(rest):
        if isinstance(name, int):
            raise NoSuchIndex(f"{format_path(path)} asks for an item of a list that does not exist")
        value = {name: value}
    return value


def _nodes(node: yaml.Node) -> list[yaml.Node]:
    found: list[yaml.Node] = []
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        found.append(one)
        if isinstance(one, yaml.MappingNode):
            waiting += [part for pair in one.value for part in pair]
        elif isinstance(one, yaml.SequenceNode):
            waiting += one.value
    return found
