"""Holding a Hermes against what a platform relies on: its interpreter describes, the comparison is made here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from canon_ops.hermes.contract import Difference, Need, compare
from canon_ops.hermes.contract_canon import CANON_NEEDS
from canon_ops.hermes.host_call import describe_symbols

__all__ = ["NEEDS", "contract_differences"]

NEEDS: Mapping[str, tuple[Need, ...]] = MappingProxyType({"canon": CANON_NEEDS})
"""The needs of each platform by its name."""


def contract_differences(
    python: Path, *, environ: Mapping[str, str], platform: str = "canon"
) -> tuple[Difference, ...]:
    """What the Hermes of ``python`` does otherwise than ``platform`` relies on; empty where nothing does.

    Raises:
        HostUnusable: the interpreter gives no answer.
    """
    needs = NEEDS[platform]
    return compare(needs, describe_symbols(python, [need.path for need in needs], environ=environ))
