"""Our distribution in the host's interpreter: what to put there, what that would move, doing it, taking it back.

Entered by the commands of ``operate`` and by the doctor's fixes; nothing here edits a Hermes home's configuration.
Read ``plan.py`` first: it names the others in the order in which they are called.
"""

from canon_ops.operate.package.by_hand import install_by_hand, remove_by_hand

__all__ = ["install_by_hand", "remove_by_hand"]
