"""``python -m canon_ops``: the same program as the ``canon-ops`` script, for when scripts are not on PATH."""

import sys

from canon_ops.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
