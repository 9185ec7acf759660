"""The documented settings of a platform, as edits that a person can pick from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.yaml_path import parse_path
from canon_ops.hermes.keys import KNOWN_KEYS, KeyFile
from canon_ops.hermes.managed_scope import ManagedScope
from canon_ops.operate.prompts import Prompts, Question

__all__ = ["Recommendation", "apply_recommendations", "pick", "recommendations"]


@dataclass(frozen=True, slots=True)
class Recommendation:
    """One setting.

    Attributes:
        path: the key that is set; another spelling of the known key where the file uses that.
        before: what Hermes reads now; null also when it is not set.
        why: one line.
    """

    path: str
    before: Any
    after: str | bool | int
    why: str


def recommendations(
    document: ConfigDocument, platforms: Sequence[str], scope: ManagedScope | None = None
) -> tuple[Recommendation, ...]:
    """What the documentation of these platforms, and of Hermes for them, recommends and the file does not say.

    Args:
        scope: what the administrator decides is proposed to nobody: Hermes would not read it from the user's file.
    """
    found = []
    for known in KNOWN_KEYS:
        if (
            known.file is not KeyFile.CONFIG
            or known.recommended is None
            or known.platform not in {*platforms, "hermes"}
        ):
            continue
        spellings = [(name, document.find(parse_path(name))) for name in (known.name, *known.aliases)]
        name, present = next(((name, one) for name, one in spellings if one is not None), (known.name, None))
        if scope is not None and scope.pinned_at(parse_path(name)) is not None:
            continue
        value = present.value if present else known.default
        if value != known.recommended or type(value) is not type(known.recommended):
            before = present.value if present else None
            found.append(Recommendation(name, before, known.recommended, known.help))
    return tuple(found)


def pick(prompts: Prompts, proposed: Sequence[Recommendation]) -> tuple[Recommendation, ...]:
    """Ask about each; without anybody to ask, all when consent was given and none otherwise."""
    return tuple(
        each
        for each in proposed
        if prompts.confirm(Question(f"Set {each.path} to {_word(each.after)}?", "--yes", each.why), default=False)
    )


def apply_recommendations(document: ConfigDocument, chosen: Sequence[Recommendation]) -> ConfigDocument:
    """The document with these settings.

    Raises:
        ConfigRefused, ProofFailed: one of them cannot be set there.
    """
    for each in chosen:
        document = document.set(parse_path(each.path), each.after)
    return document


def _word(value: str | bool | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
