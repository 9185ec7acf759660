"""Taking out what our last edit put in gives the very text from before it.

An edit that makes the mappings on its way (``set x.y.z 1``) cannot be told from one by hand once it is made: taking
``z`` out leaves ``x: {y: {}}``, which a person may have meant. The history can tell, as long as nobody wrote since.
"""

from __future__ import annotations

from typing import Any

from canon_ops.errors import CanonOpsError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.yaml_difference import MISSING, differences
from canon_ops.files.yaml_path import Path
from canon_ops.hermes.homes import HermesHome
from canon_ops.operate.kept_config import kept_configs

__all__ = ["earlier_text"]


def earlier_text(home: HermesHome, old: ConfigDocument, new: ConfigDocument, path: Path) -> ConfigDocument:
    """The text from before our last edit, when that edit left ``old`` and its text reads as ``new`` does; else ``new``.

    Args:
        new: ``old`` without what was at ``path``. On the way there it may have empty collections where the earlier text
            has nothing, or null.

    Raises:
        DiskError: the history cannot be read.
    """
    kept = next(kept_configs(home), None)
    if kept is None or kept.record.outcome != "done" or kept.after != old.data:
        return new
    try:
        earlier = ConfigDocument.parse(kept.before or b"", old.file)
    except CanonOpsError:
        return new
    found = list(differences(earlier.value, new.value))
    names = [str(name) for name in path]
    made = all(
        each.before in (MISSING, None)
        and _is_hollow(each.after)
        and [str(name) for name in each.path] == names[: len(each.path)]
        for each in found
    )
    return earlier if made and len(found) <= 1 else new


def _is_hollow(value: Any) -> bool:
    """Nothing but empty collections."""
    return value == [] or (isinstance(value, dict) and all(map(_is_hollow, value.values())))
