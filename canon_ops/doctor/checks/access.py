"""Who may start turns, and does the home say so in words that count?"""

from __future__ import annotations

from canon_ops.doctor.check import Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.files.reading import read_optional
from canon_ops.settings.options import user_access
from canon_ops.settings.provenance import Source
from canon_ops.settings.surroundings import Surroundings

__all__ = ["CHECKS"]


def _open_access(examination: Examination) -> Finding:
    names, home = examination.platform, examination.home
    examination.dotenv()
    access = user_access(
        Surroundings(examination.environ, dotenv=read_optional(home.env_file), dotenv_file=str(home.env_file))
    )
    at = Place(path=names.allow_all_variable)
    if access.misread is not None:
        origin = access.misread.origin
        by_install = f"install {names.name} --allow-all-users   # or --no-allow-all-users"
        return Finding(
            Status.WARNING,
            f"{origin.describe()} is {str(access.misread.value)!r}, neither yes nor no; it counts as no.",
            Fix(examination.command(by_install) if origin.source is Source.DOTENV else origin.to_change("true")),
            Place(origin.file, origin.line, path=origin.name),
        )
    if access.allow_all and access.allowed is not None:
        return Finding(
            Status.WARNING,
            f"{names.allow_all_variable} is on, so the list {names.allowlist_variable} counts for nothing.",
            Fix(examination.command(f"install {names.name} --no-allow-all-users")),
            at=at,
        )
    if access.allow_all:
        return Finding(Status.OK, f"Everybody whom {names.label} itself lets through may start turns.", at=at)
    if access.allowed is not None:
        count = len(access.allowed)
        return Finding(Status.OK, f"{count} {'person' if count == 1 else 'people'} on the list may start turns.", at=at)
    return Finding(Status.OK, f"There is no switch and no list: {names.label}'s own rules alone decide.", at=at)


CHECKS = (Check("env.open_access", "Access", "Does the home say clearly who may start turns?", _open_access),)
