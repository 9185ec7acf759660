"""``python -m canon_hermes_plugin.cli``: the command line under the module name that Canon's documentation uses.

The command line is imported inside :func:`main` only, so that a gateway that loads the plugin never loads it: the one
exception to the floors.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> int:
    """Run the program as ``canon-hermes`` would."""
    from canon_ops.cli.main import canon_hermes

    return canon_hermes()


if __name__ == "__main__":
    sys.exit(main())
