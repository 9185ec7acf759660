"""What some tests need besides their own Python: missing ones are a counted skip, and a failure where CI is set."""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest

__all__ = ["is_missing", "needs"]


def needs(*programs: str) -> pytest.MarkDecorator:
    """Mark tests that cannot run without ``programs``; `make test-tools` installs them.

    Where CI is set nothing is skipped, so that a machine that lost a program does not go on looking green.
    """
    missing = [program for program in programs if shutil.which(program) is None]
    is_skipped = bool(missing) and not os.environ.get("CI")
    return pytest.mark.skipif(is_skipped, reason=f"{', '.join(missing)}: not installed (make test-tools)")


def is_missing(what: str) -> NoReturn:
    """End a test that cannot run without ``what``: a skip, and a failure where CI is set (T9)."""
    sentence = f"{what}, which is not on this machine"
    if os.environ.get("CI"):
        pytest.fail(sentence)
    pytest.skip(sentence)
