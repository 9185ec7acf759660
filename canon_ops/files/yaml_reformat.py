"""The second way to make an edit: ruamel.yaml writes the whole document anew.

It is taken only where it was allowed, when the byte-keeping way fails or its engine is not installed, and the caller
shows the difference before anything is written. Indents, line wraps and blanks may change all over the file; what
Hermes reads, and the texts of the comments, may not (:func:`canon_ops.files.yaml_proofs.prove_rewrite`).
"""

from __future__ import annotations

import difflib
import io
from typing import TYPE_CHECKING, Any

from canon_ops.files.yaml_proofs import Added, Change, Dropped, ProofFailed
from canon_ops.files.yaml_quoting import choose_style

if TYPE_CHECKING:
    from canon_ops.files.yaml_reader import YamlText

__all__ = ["rewrite"]

# ruamel's (mapping, sequence, offset) for lists that are flush with their key, and for indented ones.
INDENTS = ((2, 2, 0), (2, 4, 2), (4, 4, 0), (4, 6, 4))
NO_WRAP = 1 << 20


def rewrite(document: YamlText, change: Change) -> str:
    """The text of the changed document as ruamel writes it, in the indent that changes the fewest lines.

    Raises:
        ProofFailed: ruamel cannot read the text, or has no such place in it.
    """
    candidates = [_written(document, change, indents) for indents in INDENTS]
    return min(candidates, key=lambda text: _lines_changed(document.text, text))


def _written(document: YamlText, change: Change, indents: tuple[int, int, int]) -> str:
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap
    from ruamel.yaml.error import YAMLError

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = NO_WRAP
    mapping, sequence, offset = indents
    yaml.indent(mapping=mapping, sequence=sequence, offset=offset)
    try:
        tree = yaml.load(document.text) or CommentedMap()
        _carry_out(tree, change)
        written = io.StringIO()
        yaml.dump(tree, written)
    except (YAMLError, KeyError, IndexError, TypeError, ValueError) as error:
        raise ProofFailed(f"the file cannot be written anew either: {error}", file=document.file) from error
    return written.getvalue().replace("\n", document.newline)


def _carry_out(tree: Any, change: Change) -> None:
    address = change.parent if isinstance(change, Added) else change.at
    ways = address if isinstance(change, Added) else address[:-1]
    for position in ways:
        tree = tree[_key(tree, position)]
    if isinstance(change, Added):
        if change.key is None:
            tree.append(_dress(change.value))
        else:
            tree[change.key] = _dress(change.value)
        return
    key = _key(tree, address[-1])
    if isinstance(change, Dropped):
        del tree[key]
    else:
        tree[key] = _dress(change.value)


def _key(tree: Any, position: int) -> Any:
    return list(tree)[position] if isinstance(tree, dict) else position


def _dress(value: Any) -> Any:
    """Texts in quotes wherever a reader would take the bare word for something else."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString, SingleQuotedScalarString

    if isinstance(value, str):
        style = choose_style(value, room="brackets")
        if style == "plain":
            return value
        return SingleQuotedScalarString(value) if style == "single-quoted" else DoubleQuotedScalarString(value)
    if isinstance(value, dict):
        return {_dress(key): _dress(item) for key, item in value.items()}
    return [_dress(item) for item in value] if isinstance(value, list | tuple) else value


def _lines_changed(old: str, new: str) -> int:
    return sum(line[:1] in "+-" for line in difflib.unified_diff(old.split("\n"), new.split("\n"), n=0))
