"""Whose state something is. A home, and a Canon folder, may have had another agent before, or serve several at once.

Rows and entries of another agent are shown and never touched.

Source: decisions X1, A1.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Owner"]


@dataclass(frozen=True, slots=True)
class Owner:
    """An agent in an environment."""

    environment_id: str
    agent_id: str
