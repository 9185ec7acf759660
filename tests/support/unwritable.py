"""A folder that not even root may write."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["unwritable"]


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """Close ``folder`` inside the block.

    Root needs an attribute for that, which not every file system and not every container has: the test is skipped then.
    """
    if os.geteuid() != 0:
        folder.chmod(0o555)
        try:
            yield
        finally:
            folder.chmod(0o755)
        return
    try:
        subprocess.run(["chattr", "+i", folder], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no immutable folders here")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", folder], check=True)
