"""Edit a document, step by step, until Hermes reads a given value from it; what stays keeps its bytes and comments.

Each step mends the first place that differs, by the smallest edit there is: a value, a key, an item
(:mod:`steer_list`). Where an alias or a merge key stands in the way its value is written out (:mod:`write_out`), and
nowhere else. Where no small edit is possible, the value around the place is set as a whole. The caller proves it.
"""

from __future__ import annotations

from canon_ops.errors import CanonOpsError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.config_refusals import AnchorInUse, ThroughAlias
from canon_ops.files.steer_list import next_item_step
from canon_ops.files.write_out import Stuck, write_out_alias, write_out_anchors, write_out_merge
from canon_ops.files.yaml_difference import MISSING, Difference, at_path, differences
from canon_ops.files.yaml_layout import find_way
from canon_ops.hints import Any

__all__ = ["Stuck", "steer"]

_MOST_STEPS = 5_000  # a bound for a loop that should end by itself; the corpus needs a dozen


def steer(document: ConfigDocument, wanted: Any) -> ConfigDocument:
    """Edit ``document`` until its value is ``wanted``, whatever the order of the keys.

    Raises:
        Stuck: it cannot be done by edits.
    """
    for _ in range(_MOST_STEPS):
        difference = next(differences(document.value, wanted, whole_lists=True), None)
        if difference is None:
            return document
        changed = _mend(document, difference, wanted)
        if changed.data == document.data:
            break
        document = changed
    raise Stuck(f"{document.file} cannot be brought to the wanted values by edits", file=document.file)


def _mend(document: ConfigDocument, difference: Difference, wanted: Any) -> ConfigDocument:
    """One step at the first difference; on a refusal, the same one step further up."""
    path, after = difference.path, difference.after
    while path:
        try:
            return _step(document, Difference(path, difference.before, after))
        except CanonOpsError as error:
            if len(path) == 1:
                raise Stuck(f"{document.file} cannot be brought to the wanted values: {error.what}") from error
        path = path[:-1]
        difference = Difference(path, at_path(document.value, path), at_path(wanted, path))
        after = difference.after
    raise Stuck("the whole document differs")


def _step(document: ConfigDocument, difference: Difference) -> ConfigDocument:
    path = tuple(map(_part, difference.path))
    before, after = difference.before, difference.after
    try:
        if after is MISSING:
            return document.unset(path)
        if isinstance(before, list) and isinstance(after, list):
            return next_item_step(document, path, before, after, step=_step)
        return document.set(path, after)
    except ThroughAlias:
        way = find_way(document.layout, path)
        if way.alias is not None:
            return write_out_alias(document, path)
        if after is MISSING or len(way.rest) > 1:
            return write_out_merge(document, path[: len(way.steps)])
        return document.override(path, after)
    except AnchorInUse:
        return write_out_anchors(document, path)


def _part(name: Any) -> str | int:
    """A key as the editor names it.

    Raises:
        Stuck: a key that is neither text nor a number.
    """
    if isinstance(name, str) or type(name) is int:
        return name
    raise Stuck(f"a key that is no text: {name!r}")
