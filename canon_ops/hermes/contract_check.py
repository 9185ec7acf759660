"""Holding a Hermes against what a platform relies on: its interpreter describes, the comparison is made here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from canon_ops.hermes.contract import Described, Difference, Need, compare
from canon_ops.hermes.contract_borgee import BORGEE_NEEDS
from canon_ops.hermes.contract_cache import described_or_kept
from canon_ops.hermes.contract_canon import CANON_NEEDS
from canon_ops.hermes.host_call import describe_symbols

__all__ = ["NEEDS", "contract_differences"]

NEEDS: Mapping[str, tuple[Need, ...]] = MappingProxyType({"canon": CANON_NEEDS, "borgee": BORGEE_NEEDS})
"""The needs of each platform by its name."""


def contract_differences(
    python: Path, *, environ: Mapping[str, str], platform: str = "canon", folder: Path | None = None
) -> tuple[Difference, ...]:
    """What the Hermes of ``python`` does otherwise than ``platform`` relies on; empty where nothing does.

    Args:
        folder: where its packages lie; an answer from before counts while the files there are the same. None asks anew.

    Raises:
        HostUnusable: the interpreter gives no answer.
    """
    needs = NEEDS[platform]
    paths = [path for need in needs for path in need.paths]

    def describe() -> dict[str, Described]:
        return describe_symbols(python, paths, environ=environ)

    if folder is None:
        return compare(needs, describe())
    return compare(needs, described_or_kept(describe, paths, python=python, folder=folder, environ=environ))
