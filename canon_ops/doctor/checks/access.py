"""Who may start turns, and does the home say so in words that count?"""

from __future__ import annotations

from canon_ops.doctor.check import About, Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.repair import SetVariable
from canon_ops.settings.options import user_access
from canon_ops.settings.provenance import Origin, Source

__all__ = ["CHECKS"]


def _open_access(examination: Examination) -> Finding:
    names, around = examination.platform, examination.variables()
    access = user_access(around)
    at = Place(path=names.allow_all_variable)
    if access.misread is not None:
        origin = access.misread.origin
        return Finding(
            Status.WARNING,
            f"{origin.describe()} is {str(access.misread.value)!r}, neither yes nor no; it counts as no.",
            _closed(examination, origin),
            Place(origin.file, origin.line, path=origin.name),
        )
    if access.allow_all and access.allowed is not None:
        switch = around.find(names.allow_all_variable or "")
        return Finding(
            Status.WARNING,
            f"{names.allow_all_variable} is on, so the list {names.allowlist_variable} counts for nothing.",
            _closed(examination, switch.origin) if switch else None,
            at=at,
        )
    if access.allow_all:
        return Finding(Status.OK, f"Everybody whom {names.label} itself lets through may start turns.", at=at)
    if access.allowed is not None:
        count = len(access.allowed)
        return Finding(Status.OK, f"{count} {'person' if count == 1 else 'people'} on the list may start turns.", at=at)
    return Finding(Status.OK, f"There is no switch and no list: {names.label}'s own rules alone decide.", at=at)


def _closed(examination: Examination, origin: Origin) -> Fix:
    """Writing down the no: the switch as it counts already, or the one that lets the list count."""
    names = examination.platform
    if origin.source is not Source.DOTENV or names.allow_all_variable is None:
        return Fix(origin.to_change("false"))
    command = f"install {names.name} --no-allow-all-users   # or --allow-all-users"
    return Fix(examination.command(command), SetVariable(names.allow_all_variable, "false"))


CHECKS = (
    Check(
        "env.open_access",
        "Access",
        "Does the home say clearly who may start turns?",
        _open_access,
        about=About(
            "Two settings contradict each other, or the switch holds a word that is neither yes nor no.",
            "Other people may start turns than the operator believes.",
            "Set CANON_ALLOW_ALL_USERS to true or false in .env; the list in CANON_ALLOWED_USERS counts only "
            "under false.",
            ("CANON_ALLOW_ALL_USERS", "CANON_ALLOWED_USERS"),
        ),
    ),
)
