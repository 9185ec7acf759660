"""Change config.yaml without touching a byte that nobody asked about.

A :class:`ConfigDocument` is an immutable text that Hermes can read. Each edit returns a new document, or the same one
when there is nothing to do. The way of an edit:

1. PyYAML's tree tells where the path leads (:mod:`yaml_layout`); aliases, merge keys and duplicates are refused
   (:mod:`config_refusals`).
2. :mod:`yaml_plans` plans the edit: the range of text in which it may change, and the new text, which the engine
   (:mod:`engine`) writes, or for some shapes a splice of our own.
3. Three proofs (:mod:`yaml_proofs`) hold the new text against the announced change, whoever wrote it.
4. Where a proof fails and the caller allowed it, the whole document is written anew (:mod:`yaml_reformat`).
"""

from __future__ import annotations

import shlex
from functools import cached_property

import yaml

from canon_ops.files.config_refusals import (
    ConfigRefused,
    NestedTooDeeply,
    NoSuchIndex,
    NoSuchKey,
    WrongKind,
    place,
    refuse_anchors,
    way_to_edit,
    wrong_kind,
)
from canon_ops.files.engine import Engine, EngineFault, YamlEdit
from canon_ops.files.yaml_layout import Layout, Way, find_way, lay_out
from canon_ops.files.yaml_nesting import levels
from canon_ops.files.yaml_path import MOST_NESTED, Path, format_path
from canon_ops.files.yaml_plans import Planner
from canon_ops.files.yaml_proofs import Added, Change, Dropped, ProofFailed, Replaced, prove, prove_rewrite
from canon_ops.files.yaml_reader import ConfigSyntaxError, YamlText, construct, read_yaml, same
from canon_ops.hints import Any, Self, cast
from canon_ops.lean import dataclass, late_pattern
from canon_ops.settings.encodings import plain_line_ends

_LONE_CR = late_pattern(r"\r(?!\n)")

__all__ = ["ConfigDocument", "ConfigRefused", "ConfigSyntaxError", "Found", "NoSuchKey"]


@dataclass(frozen=True, slots=True)
class Found:
    """A value of the document and where it stands (1-based); the place is that of its key or item."""

    value: Any
    line: int
    column: int


class ConfigDocument:
    """One text of config.yaml and the edits that can be made to it. Build it with :meth:`parse`.

    Attributes:
        reformatted: an edit has written the whole document anew.
    """

    def __init__(
        self, document: YamlText, engine: Engine, *, allow_reformat: bool = False, reformatted: bool = False
    ) -> None:
        self._document = document
        self._engine = engine
        self._allow_reformat = allow_reformat
        self.reformatted = reformatted

    @classmethod
    def parse(
        cls,
        data: bytes,
        file: str = "config.yaml",
        *,
        engine: Engine | None = None,
        allow_reformat: bool = False,
    ) -> Self:
        """Read a text.

        Args:
            file: for messages.
            allow_reformat: where an edit cannot keep every other byte, write the whole document anew; ``reformatted``
                tells afterwards, and the caller shows the difference before it commits.

        Raises:
            ConfigSyntaxError: Hermes cannot read it; with line and column.
        """
        return cls(read_yaml(data, file), engine or YamlEdit(), allow_reformat=allow_reformat)

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

    # -- reading --------------------------------------------------------------------------------------------------

    def find(self, path: Path) -> Found | None:
        """What Hermes reads at ``path``, also through aliases and merge keys; None when there is nothing."""
        if self._document.root is None:
            return None
        way = find_way(self.layout, path)
        line, column = self._document.line_column(self._start_of(way))
        if not self._document.may_merge:
            return None if way.rest else Found(construct(way.node, merges=False), line, column)
        value = self.value
        for name in path:
            if isinstance(value, dict):
                key = int(name) if name not in value and str(name).isdecimal() else name  # 404: is a number for Hermes
                if key not in value:
                    return None
                value = value[key]
            elif isinstance(value, list) and str(name).isdecimal() and int(name) < len(value):
                value = value[int(name)]
            else:
                return None
        return Found(value, line, column)

    def _start_of(self, way: Way) -> int:
        if not way.steps:
            return 0
        step = way.steps[-1]
        if isinstance(step.parent, yaml.MappingNode):
            return int(step.parent.value[step.position][0].start_mark.index)
        alias = self.layout.aliases.get((id(step.parent), 2 * step.position + 1))
        return alias[0] if alias else int(step.parent.value[step.position].start_mark.index)

    # -- edits ----------------------------------------------------------------------------------------------------

    def set(self, path: Path, value: Any) -> ConfigDocument:
        """Give ``path`` a value; missing mappings on the way are made.

        Args:
            value: text, number, boolean, None, or lists and mappings of them.

        Raises:
            ConfigRefused: the place is behind an alias, a merge key or a duplicate, or a part of the way is no
                mapping; with line and column.
            NoSuchIndex: a part of the way is a list without such an item.
            ProofFailed, EngineFault: the edit cannot be made without touching more; nothing changed.
        """
        found = self.find(path)
        way = way_to_edit(self.layout, path)
        if way is None or way.rest:
            return self._grow(way, path, value)
        return self if found is not None and same(found.value, value) else self._replace(way, value)

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

    def text_to_list(self, path: Path) -> ConfigDocument:
        """Turn a text at ``path`` into the list of its comma-separated words; anything else stays.

        Raises:
            ConfigRefused: as ``set``.
        """
        found = self.find(path)
        if found is None or not isinstance(found.value, str):
            return self
        return self.set(path, [word.strip() for word in found.value.split(",") if word.strip()])

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
        return self.append(path, item)

    def append(self, path: Path, item: Any) -> ConfigDocument:
        """Append ``item`` to the list at ``path``, which is there, also when it has an equal one.

        Raises:
            ConfigRefused: as ``set``.
        """
        way = self._way(path)
        return self._apply(Added(way.address, None, item), way)

    def override(self, path: Path, value: Any) -> ConfigDocument:
        """Give a key that only a merge key (``<<``) brings in a value of its own in that mapping.

        Raises:
            ConfigRefused: the mapping itself is behind an alias or a duplicate.
        """
        way = self._way(path[:-1])
        return self._apply(Added(way.address, str(path[-1]), value), way)

    def unset(self, path: Path) -> ConfigDocument:
        """Remove the entry at ``path`` with the comment block directly above it; nothing happens when it is absent.

        Raises:
            ConfigRefused: as ``set``; also when an alias elsewhere repeats something inside.
        """
        if self.find(path) is None:
            return self
        way = self._way(path)
        refuse_anchors(self.layout, way.node)
        return self._apply(Dropped(way.address), way)

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

    # -- carrying out ---------------------------------------------------------------------------------------------

    @cached_property
    def layout(self) -> Layout:
        """Where everything stands; do not change it."""
        return lay_out(self._document)

    def _way(self, path: Path) -> Way:
        """The way to a place that was found."""
        return cast("Way", way_to_edit(self.layout, path))

    def _wrong_kind(self, path: Path, found: Found, wanted: str) -> WrongKind:
        return wrong_kind(path, found.value, wanted, file=self.file, line=found.line, column=found.column)

    def _grow(self, way: Way | None, path: Path, value: Any) -> ConfigDocument:
        """Add what is missing of ``path`` below the deepest mapping that exists."""
        if way is None:
            return self._apply(Added((), str(path[0]), _nest(path[1:], value, path)), None)
        rest, node = way.rest, way.node
        here = tuple(step.name for step in way.steps)
        where = place(self.layout, int(node.start_mark.index))
        if isinstance(node, yaml.SequenceNode):
            raise NoSuchIndex(
                f"{format_path(here)} has {len(node.value)} item{'' if len(node.value) == 1 else 's'}; "
                f"{format_path((*here, rest[0]))} is none of them",
                fix=f"canon-ops config add {shlex.quote(format_path(here))} ITEM",
                **where,
            )
        if isinstance(node, yaml.ScalarNode):
            if node.tag != "tag:yaml.org,2002:null":
                raise wrong_kind(here, construct(node), "a mapping", **where)
            return self._replace(way, _nest(rest, value, path))
        if isinstance(rest[0], int):
            raise WrongKind(
                f"{format_path(here) or 'the document'} is a mapping; it has no index [{rest[0]}]",
                fix=f"name a key: {format_path((*here, 'KEY'))}",
                **where,
            )
        return self._apply(Added(way.address, rest[0], _nest(rest[1:], value, path)), way)

    def _replace(self, way: Way, value: Any) -> ConfigDocument:
        keeps_anchor = isinstance(way.node, yaml.ScalarNode) and not isinstance(value, dict | list)
        refuse_anchors(self.layout, way.node, but_itself=keeps_anchor)
        return self._apply(Replaced(way.address, value), way)

    def _apply(self, change: Change, way: Way | None) -> ConfigDocument:
        """Carry out one change: byte for byte as planned, or, where that was allowed, by writing the document anew."""
        if not isinstance(change, Dropped):
            self._refuse_nesting(
                len(change.at) if isinstance(change, Replaced) else len(change.parent) + 1, change.value
            )
        planner = Planner(self.layout, self._engine)
        try:
            plan = planner.plan(change, way)
            document = self._with(plan.text, plan.new_part(len(self._document.text)), reformatted=self.reformatted)
            prove(self.layout, document.layout, span=plan.span, gone=plan.gone, change=change)
        except (ProofFailed, EngineFault) as error:
            if not self._allow_reformat:
                if _LONE_CR.search(self._document.text):
                    error.what += "; its lines end with a lone carriage return, which this edit cannot keep"
                    error.args = (error.what,)
                    error.fix = plain_line_ends(self._document.text, self.file)
                error.fix = (
                    error.fix or "--allow-reformat has the whole file written anew, and shows the difference first"
                )
                raise
            from canon_ops.files.yaml_reformat import rewrite

            text = rewrite(self._document, change)
            document = self._with(text, text, reformatted=True)
            gone = planner.inside(way) if way is not None and isinstance(change, Replaced) else (0, 0)
            prove_rewrite(self.layout, document.layout, gone=gone, change=change)
        return document

    def _refuse_nesting(self, above: int, value: Any) -> None:
        """Refuse ``value`` where ``above`` levels and its own are more than there may be."""
        if (total := above + levels(value)) > MOST_NESTED:
            raise NestedTooDeeply(
                f"{self.file} would be nested {total} deep by this value, and {MOST_NESTED} is the most",
                fix="give it fewer levels, or keep it as a text: --type str",
                file=self.file,
            )

    def with_text(self, text: str) -> ConfigDocument:
        """Another text (without byte-order mark) of the same file, to be edited in the same way.

        Raises:
            ConfigSyntaxError: Hermes cannot read it.
        """
        new = read_yaml((self._document.bom + text).encode("utf-8"), self.file)
        return ConfigDocument(new, self._engine, allow_reformat=self._allow_reformat, reformatted=self.reformatted)

    def _with(self, text: str, new_part: str, *, reformatted: bool) -> ConfigDocument:
        try:
            # What is built from the new text is what was built from the old one and the change: the proof of values.
            new = read_yaml((self._document.bom + text).encode("utf-8"), self.file, new=new_part)
        except ConfigSyntaxError as error:
            raise ProofFailed(f"Hermes could not read the file after this edit (proof of values): {error}") from error
        return ConfigDocument(new, self._engine, allow_reformat=self._allow_reformat, reformatted=reformatted)


def _nest(rest: Path, value: Any, path: Path) -> Any:
    """``value`` below one mapping for each part of ``rest``."""
    for name in reversed(rest):
        if isinstance(name, int):
            raise NoSuchIndex(
                f"{format_path(path)} asks for an item of a list that does not exist",
                fix="give the whole list as the value, with --type json",
            )
        value = {name: value}
    return value
