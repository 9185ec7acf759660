"""What the tests ask of the process they run in."""

from __future__ import annotations

import logging


def test_a_logger_that_is_made_meanwhile_disturbs_nobody() -> None:
    """A host's thread may make one while pytest walks over all of them."""
    table = logging.root.manager.loggerDict
    name = "canon_ops.made.meanwhile"
    try:
        walk = iter(table.values())
        next(walk)
        logging.getLogger(name)

        assert logging.getLogger(name) not in list(walk)
        assert name in table
    finally:
        table.pop(name, None)
