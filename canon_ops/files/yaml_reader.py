"""Read config.yaml the way Hermes does, and keep where everything stands.

Hermes reads the file with two loaders of PyYAML: its command line with the C loader where there is one, its gateway
with the pure one. They differ about a few things: the C loader lets a tab follow a colon, a ``?`` stand in a bare word
inside brackets (``[http://h/x?y=1]``), a ``#`` touch a block's mark; a lone ``!`` is an empty text for it and null for
the other. A text that holds such characters must be read alike by both; the pure loader takes ten times as long.

All positions are indexes of characters into ``text``: PyYAML's marks count characters, and the byte-order mark is taken
off first (with it, the C loader's indexes are one too small).

This is the only place that decides whether Hermes can read a configuration: the editor, the doctor and the plugin ask
here. It needs PyYAML alone, since the plugin imports it inside the gateway.
"""

from __future__ import annotations

import operator
import re
from functools import cached_property, lru_cache

import yaml

from canon_ops.errors import RefusedError
from canon_ops.files.yaml_nesting import first_too_deep
from canon_ops.files.yaml_path import MOST_NESTED
from canon_ops.files.yaml_repetition import MOST_REPEATED, written_out
from canon_ops.hints import Any, ClassVar
from canon_ops.lean import dataclass, late_pattern
from canon_ops.settings.encodings import as_utf8

__all__ = ["ConfigSyntaxError", "YamlText", "construct", "read_yaml", "same"]

BOM = "\ufeff"
_MAP, _SEQ, _STR, _INT, _BOOL, _MERGE = (
    f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "bool", "merge")
)
_SURE = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "null"))
# About texts with one of these, outside of comments, the two loaders have been seen to differ.
_DISPUTED = late_pattern(r"[?!]|[|>][-+0-9]*#")
_COMMENT = late_pattern(r"(?:^|(?<=\s))#.*$", re.MULTILINE)
_ODD = late_pattern(r"[\t\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
# Nesting that needs a look: brackets are counted, an indent or a row of dashes as long as this is seen at once.
_CONFLICT = late_pattern(r"(?:<{7}|>{7}|\|{7})(?: |$)")  # seven of =, on its own, may belong to a text
_DEEP = 100
_BRACKET = late_pattern(r"[\[\]{}]")
_DEEP_ROW = late_pattern(rf"[-?:][ \t]+(?:[-?:][ \t]+){{{_DEEP // 2 - 1},}}")
_NUMBER_BITS = 4_096  # beyond some thousand digits Python writes none, and `1:59:59…` and `0xfff…` read as more
_RESOLVED = 20_000  # texts whose tag is remembered at most
_PLAIN_NUMBER = late_pattern(r"0|[1-9][0-9]{0,17}")


def _quick(loader: Any) -> Any:
    """``loader`` that asks once what a word is read as, and never about path resolvers, of which there are none.

    An edit reads a text twice, and the same words are there many times.
    """
    if loader is None:
        return None

    @lru_cache(maxsize=_RESOLVED)
    def resolve(kind: Any, text: Any, implicit: Any) -> Any:
        """The tag of a node of this kind, with this text, written so or so: the class knows all that decides it."""
        return loader.resolve(loader, kind, text, implicit)

    # Called three times for each node; these two do nothing, and do it in C.
    quick = {"descend_resolver": operator.is_, "ascend_resolver": bool, "resolve": staticmethod(resolve)}
    return type("Loader", (loader,), quick)


_C_LOADER: Any = _quick(getattr(yaml, "CSafeLoader", None))


class ConfigSyntaxError(RefusedError):
    """Hermes cannot read the file, or would read less than it says; it is left as it is.

    ``code`` tells the kinds apart: ``config_syntax``, ``config_tabs``, ``config_documents``, ``config_root``,
    ``config_encoding``, ``config_aliases``.
    """

    code: ClassVar[str] = "config_syntax"


class _Tabs(ConfigSyntaxError):
    """A tab stands where only blanks may indent."""

    code: ClassVar[str] = "config_tabs"


class _Repetition(ConfigSyntaxError):
    """Its aliases repeat so much, or in a circle, that nobody comes to its end."""

    code: ClassVar[str] = "config_aliases"


class _Documents(ConfigSyntaxError):
    """The file holds several documents; Hermes reads one."""

    code: ClassVar[str] = "config_documents"


class _Root(ConfigSyntaxError):
    """The whole file is something else than a mapping."""

    code: ClassVar[str] = "config_root"


class _Encoding(ConfigSyntaxError):
    """The file is in an encoding that YAML does not have, or its bytes are no text."""

    code: ClassVar[str] = "config_encoding"


@dataclass(frozen=True)
class YamlText:
    """A text that Hermes can read, and its tree.

    Attributes:
        text: without the byte-order mark, line ends as they are.
        bom: the byte-order mark or "".
        root: None for an empty or comments-only text.
        file: for messages.
    """

    text: str
    bom: str
    root: yaml.MappingNode | None
    file: str

    @cached_property
    def value(self) -> Any:
        """What Hermes reads; an empty document is an empty mapping."""
        if self.root is None:
            return {}
        if "*" not in self.text and not self.may_merge:
            return _plain_value(self.root, _Builder())
        return construct(self.root, merges=self.may_merge)

    @property
    def may_merge(self) -> bool:
        """Whether a merge key can be in the text."""
        return "<<" in self.text

    @property
    def newline(self) -> str:
        first = self.text.find("\n")
        return "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"

    def line_column(self, index: int) -> tuple[int, int]:
        """The 1-based line and column of a character."""
        start = self.text.rfind("\n", 0, index) + 1
        return self.text.count("\n", 0, index) + 1, index - start + 1

    def encode(self) -> bytes:
        return (self.bom + self.text).encode("utf-8")


def read_yaml(data: bytes, file: str, *, new: str | None = None) -> YamlText:
    """Parse ``data`` or say where it is wrong.

    Args:
        new: the part of the text that was not in one that was read before; None for all of it. Only that part is looked
            through for what the loaders dispute, and what it means is for the caller to build.

    Raises:
        ConfigSyntaxError: not UTF-8, not YAML, tabs, several documents, not a mapping, or a value that PyYAML's safe
            loader does not build.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _Encoding(
            f"{file} is not UTF-8 at line {line}: Hermes cannot read it",
            fix=as_utf8(data, file),
            file=file,
            line=line,
            column=error.start - data.rfind(b"\n", 0, error.start),
        ) from error
    bom = BOM if text.startswith(BOM) else ""
    text = text[len(bom) :]
    unseen = text if new is None else new
    may_be_deep = _may_be_deep(unseen)
    if may_be_deep:
        _compose(text, yaml.SafeLoader, file)  # refuses what would make the C loader end the process
    root = _compose(text, _C_LOADER or yaml.SafeLoader, file)
    if _C_LOADER and _may_be_disputed(unseen):
        _refuse_dispute(root, _compose_for_gateway(text, file), file)
    if root is None or (isinstance(root, yaml.ScalarNode) and root.tag.endswith(":null") and not root.value):
        return YamlText(text, bom, None, file)
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "a single value"
        raise _Root(
            f"{file} holds {kind} at its top, where Hermes wants keys",
            fix=f"give it a key of its own: {file}:{root.start_mark.line + 1}",
            file=file,
            line=root.start_mark.line + 1,
            column=root.start_mark.column + 1,
        )
    if "*" in text:
        _refuse_repetition(root, file)
    if may_be_deep or "*" in text:
        _refuse_nesting(root, file)
    found = YamlText(text, bom, root, file)
    if new is None:
        _build_once(found)
    return found


def _may_be_deep(text: str) -> bool:
    """Whether values may be nested so deeply that the C loader, which counts nothing, runs out of stack."""
    depth = 0
    for bracket in _BRACKET.finditer(text):
        depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
        if depth >= _DEEP:
            return True
    return " " * _DEEP in text or _DEEP_ROW.search(text) is not None


def _may_be_disputed(text: str) -> bool:
    is_odd = not text.replace("\n", "").isprintable() and _ODD.search(text)
    if not is_odd and not any(map(text.__contains__, "?!|>")):
        return False
    return bool(is_odd or (_DISPUTED.search(text) and _DISPUTED.search(_COMMENT.sub("", text))))


def _refuse_nesting(root: yaml.Node, file: str) -> None:
    deep = first_too_deep(root)
    if deep is not None:
        line, column = int(deep.start_mark.line) + 1, int(deep.start_mark.column) + 1
        raise _too_deep(file, f"{file} is nested more than {MOST_NESTED} deep at line {line}", line, column)


def _too_deep(file: str, what: str, line: int | None = None, column: int | None = None) -> ConfigSyntaxError:
    where = f"{file}:{line}" if line else file
    return ConfigSyntaxError(what, fix=f"give it fewer levels: {where}", file=file, line=line, column=column)


def _compose_for_gateway(text: str, file: str) -> yaml.Node | None:
    try:
        return _compose(text, yaml.SafeLoader, file)
    except ConfigSyntaxError as error:
        error.what += " (for the gateway; the hermes command reads it)"
        error.args = (error.what,)
        raise


def _refuse_repetition(root: yaml.Node, file: str) -> None:
    """Refuse what Hermes, and everybody else who looks at each value, would never come to the end of."""
    more, circle = written_out(root)
    if circle is None and more <= MOST_REPEATED:
        return
    line = int((circle or root).start_mark.line) + 1
    what = (
        f"{file} holds at line {line} a value that contains itself by an alias, and has no end"
        if circle is not None
        else f"the aliases of {file} repeat so much that it would hold {MOST_REPEATED:,} values more and beyond"
    )
    raise _Repetition(what, fix=f"write out what the aliases (*) repeat, once: {file}:{line}", file=file, line=line)


def _refuse_dispute(one: yaml.Node | None, other: yaml.Node | None, file: str) -> None:
    """Refuse a text whose two trees differ, at the first node that does."""
    waiting, seen = [(one, other)], set()
    while waiting:
        mine, theirs = waiting.pop()
        if mine is None or theirs is None or id(mine) in seen:
            continue
        seen.add(id(mine))
        if isinstance(mine, yaml.ScalarNode) or mine.tag != theirs.tag or len(mine.value) != len(theirs.value):
            if (mine.tag, mine.value) == (theirs.tag, theirs.value):
                continue
            line, column = int(mine.start_mark.line) + 1, int(mine.start_mark.column) + 1
            raise ConfigSyntaxError(
                f"{file} is read in two ways at line {line}, column {column}: "
                "the hermes command and the gateway take different values there",
                fix=f"put the value in quotes: {file}:{line}",
                file=file,
                line=line,
                column=column,
            )
        if isinstance(mine, yaml.MappingNode):
            pairs = zip(mine.value, theirs.value, strict=True)
            waiting += [(a, b) for pair, twin in pairs for a, b in zip(pair, twin, strict=True)]
        else:
            waiting += zip(mine.value, theirs.value, strict=True)


def construct(node: yaml.Node, *, merges: bool = True) -> Any:
    """The Python value that PyYAML's safe loader builds from ``node``, which stays as it is.

    Args:
        merges: False when there is surely no merge key in it.
    """
    if merges and _merges(node):
        node = _copied(node)  # the constructor writes merged pairs into the nodes themselves
    return yaml.constructor.SafeConstructor().construct_document(node)


def _copied(node: yaml.Node) -> yaml.Node:
    from copy import deepcopy  # here: few files have merge keys

    return deepcopy(node)


class _Builder(yaml.constructor.SafeConstructor):
    """PyYAML's safe constructor, which remembers the node that it could not build."""

    failed: yaml.Node | None = None

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            value = super().construct_object(node, deep=deep)
            if isinstance(value, int) and value.bit_length() > _NUMBER_BITS:
                raise ValueError("it is a number of thousands of digits")
            return value
        except Exception:
            self.failed = self.failed or node  # the innermost comes first
            raise


def _merges(node: yaml.Node) -> bool:
    waiting, seen = [node], set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, yaml.ScalarNode) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, yaml.MappingNode):
            if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in one.value):
                return True
            waiting += [part for pair in one.value for part in pair]
        else:
            waiting += one.value
    return False


def same(one: Any, other: Any) -> bool:
    """Equal in value *and* type, all the way down: true is not 1, 1 is not 1.0, and the order of keys counts."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(
            same(a, c) and same(b, d) for (a, b), (c, d) in zip(one.items(), other.items(), strict=True)
        )
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and one != one:
        return bool(other != other)
    return bool(one == other)


def _compose(text: str, loader: Any, file: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, loader)
    except yaml.composer.ComposerError as error:
        if "single document" in str(error):
            mark = error.problem_mark
            raise _Documents(
                f"{file} holds several documents; a second one starts at line {_line(mark)}, and Hermes reads none",
                fix="keep one document: remove the line --- and what must not be read",
                file=file,
                line=_line(mark),
                column=1,
            ) from error
        raise _syntax(error, text, file) from error
    except yaml.MarkedYAMLError as error:
        raise _syntax(error, text, file) from error
    except yaml.reader.ReaderError as error:
        position = error.position if isinstance(error.position, int) else 0
        line = text.count("\n", 0, position) + 1
        raise ConfigSyntaxError(
            f"{file} holds a character that YAML forbids (U+{ord(str(error.character)[:1] or ' '):04X}) in line {line}"
            if isinstance(error.character, str)
            else f"{file} holds a character that YAML forbids (U+{error.character:04X}) in line {line}",
            fix=f"remove the character: {file}:{line}",
            file=file,
            line=line,
            column=position - (text.rfind("\n", 0, position) + 1) + 1,
        ) from error
    except RecursionError as error:
        raise _too_deep(file, f"{file} is nested too deeply to be read") from error


def _line(mark: Any) -> int:
    return int(mark.line) + 1 if mark is not None else 1


def _syntax(error: yaml.MarkedYAMLError, text: str, file: str) -> ConfigSyntaxError:
    mark = error.problem_mark or error.context_mark
    line, column = (_line(mark), int(mark.column) + 1) if mark is not None else (1, 1)
    lines = text.split("\n")
    at = lines[line - 1] if line <= len(lines) else ""
    before = at[: max(column, 1)]
    if "\t" in before or at[: len(at) - len(at.lstrip())].count("\t"):
        column = at.index("\t") + 1
        return _Tabs(
            f"{file} has a tab at line {line}, column {column}, where YAML allows only spaces",
            fix=f"replace the tab by spaces: {file}:{line}",
            file=file,
            line=line,
            column=column,
        )
    if (conflict := _conflict(lines)) is not None:
        return ConfigSyntaxError(
            f"{file} has the mark of a merge that was not finished at line {conflict}",
            fix=f"keep one of the two texts, and delete the lines of <<<<<<<, ======= and >>>>>>>: {file}:{conflict}",
            file=file,
            line=conflict,
            column=1,
        )
    problem = " ".join(str(part) for part in (error.context, error.problem) if part) or "it is not YAML"
    return ConfigSyntaxError(
        f"{file} cannot be read at line {line}, column {column}: {problem}",
        fix=f"repair {file}:{line}",
        file=file,
        line=line,
        column=column,
    )


def _conflict(lines: list[str]) -> int | None:
    """The first line that a merge left, as git, diff3 and Mercurial write it; None where no such mark stands."""
    return next((number for number, line in enumerate(lines, 1) if _CONFLICT.match(line)), None)


def _build_once(found: YamlText) -> None:
    """Build what is not surely buildable; texts, nulls, plain numbers and words of truth are."""
    builder = _Builder()
    try:
        # A tree with aliases may repeat itself without end; PyYAML builds each node once.
        if found.root is not None and ("*" in found.text or not _is_plain_tree(found.root, builder)):
            builder.construct_document(_copied(found.root) if found.may_merge else found.root)
    except yaml.MarkedYAMLError as error:
        raise _syntax(error, found.text, found.file) from error
    except Exception as error:  # an index, an attribute, a number: PyYAML lets through whatever Python says
        raise _not_built(builder.failed, error, found.file) from error


def _not_built(node: yaml.Node | None, error: Exception, file: str) -> ConfigSyntaxError:
    why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
    if node is None:
        return ConfigSyntaxError(
            f"{file} holds a value that Hermes cannot build: {why}", fix=f"repair {file} by hand", file=file
        )
    line, column = int(node.start_mark.line) + 1, int(node.start_mark.column) + 1
    return ConfigSyntaxError(
        f"{file} holds a value at line {line}, column {column} that Hermes cannot build: {why}",
        fix=f"put it in quotes, if it is meant as text: {file}:{line}",
        file=file,
        line=line,
        column=column,
    )


def _plain_value(node: yaml.Node, builder: _Builder) -> Any:
    """The value of a tree without aliases and merge keys: what is surely one is built here, PyYAML builds the rest."""
    tag = node.tag
    if isinstance(node, yaml.ScalarNode):
        if tag == _STR:
            return node.value
        if tag == _INT and _PLAIN_NUMBER.fullmatch(node.value):
            return int(node.value)
    elif isinstance(node, yaml.SequenceNode) and tag == _SEQ:
        return [_plain_value(item, builder) for item in node.value]
    elif tag == _MAP and all(isinstance(key, yaml.ScalarNode) for key, _ in node.value):
        return {
            key.value if key.tag == _STR else _plain_value(key, builder): _plain_value(value, builder)
            for key, value in node.value
        }
    return builder.construct_document(node)


def _is_plain_tree(node: yaml.Node, constructor: _Builder) -> bool:
    """Build every scalar that may not be buildable; False when there is more to it than scalars."""
    if isinstance(node, yaml.MappingNode) and node.tag == _MAP:
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                return False
            if key.tag != _STR and not _is_plain_tree(key, constructor):
                return False
            if not (isinstance(value, yaml.ScalarNode) and value.tag == _STR) and not _is_plain_tree(
                value, constructor
            ):
                return False
        return True
    if isinstance(node, yaml.SequenceNode) and node.tag == _SEQ:
        return all(_is_plain_tree(item, constructor) for item in node.value)
    if not isinstance(node, yaml.ScalarNode):
        return False
    sure = (
        node.tag in _SURE
        or (node.tag == _INT and _PLAIN_NUMBER.fullmatch(node.value))
        or (node.tag == _BOOL and node.value.lower() in constructor.bool_values)
    )
    if not sure:
        constructor.construct_object(node, deep=True)  # a generator (!!set) says only at its end that it cannot
    return True
