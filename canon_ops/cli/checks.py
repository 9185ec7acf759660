"""The doctor's checks as the command line has them: its own, and those that the platforms bring.

A platform's files are known to the platform; the room of the doctor stands below it and knows none.
"""

from __future__ import annotations

from typing import Final

from borgee_hermes import doctor_checks as borgee
from canon_hermes_plugin import doctor_checks as canon
from canon_ops.doctor.check import Check
from canon_ops.doctor.registry import CHECKS as COMMON
from canon_ops.doctor.registry import LIVE_CHECKS, PROBE_CHECKS

__all__ = ["CHECKS", "EVERY_CHECK", "NAMEABLE_CHECKS"]

CHECKS: Final[tuple[Check, ...]] = (*COMMON, *canon.CHECKS, *borgee.CHECKS)

NAMEABLE_CHECKS: Final[tuple[Check, ...]] = (*CHECKS, *PROBE_CHECKS)
"""What --only can name: those of a plain call, and those that a supervisor asks."""

EVERY_CHECK: Final[tuple[Check, ...]] = (*NAMEABLE_CHECKS, *LIVE_CHECKS)
