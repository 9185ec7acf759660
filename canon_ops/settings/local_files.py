"""Canon's two local files together: who this user's agents are, and which requests for agents are under way."""

from __future__ import annotations

from canon_ops.lean import dataclass
from canon_ops.settings.pending import PendingFile
from canon_ops.settings.profiles import AgentsFile

__all__ = ["LocalFiles"]


@dataclass(frozen=True, slots=True)
class LocalFiles:
    """Both files as one run sees them; an edit gives a new pair, the untouched file stays the same object."""

    agents: AgentsFile
    pending: PendingFile
