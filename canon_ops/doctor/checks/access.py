"""Who may start turns, and does the home say so in words that count?

Hermes' own switch and list for all platforms do not reach a platform whose service decides itself, as Canon does: the
host asks neither of them there. Beside it they may do more, or less, than whoever wrote them meant.

Source: decision C2; Hermes host, 4.3; the host's order: a platform's switch, the lists, then the switch for all.
"""

from __future__ import annotations

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.repair import SetVariable
from canon_ops.settings.options import UserAccess, user_access
from canon_ops.settings.provenance import Origin, Setting, Source

__all__ = ["CHECKS"]

_EVERYBODY, _LISTED = "GATEWAY_ALLOW_ALL_USERS", "GATEWAY_ALLOWED_USERS"
_YES = frozenset({"1", "true", "yes"})  # what the host takes for a yes here


def _open_access(examination: Examination) -> Answer:
    access = user_access(examination.variables())
    own = _about_platform(examination, access)
    found = [*([own] if own.status is not Status.OK else []), *_about_gateway(examination, access)]
    return tuple(found) or own


def _about_gateway(examination: Examination, access: UserAccess) -> list[Finding]:
    """What is set for all platforms at once."""
    names, around = examination.platform, examination.variables()
    everybody, listed = around.find(_EVERYBODY), around.find(_LISTED)
    found = []
    if everybody is not None and str(everybody.value).lower() in _YES:
        reach = (
            f"{_LISTED} keeps it from counting"
            if listed is not None and listed.value
            else "anybody on any platform of this gateway that has no list of its own may start turns"
        )
        told = f"{everybody.origin.describe()} is on: {reach}. {names.label} does not go by it."
        found.append(_about(everybody, told, everybody.origin.to_drop()))
    if listed is not None and listed.value and access.allowed is None:
        told = (
            f"{listed.origin.describe()} does not count for {names.label}: "
            f"everybody whom {names.label} lets through may start turns."
        )
        own = examination.command(f"install {names.name} --allowed-users IDS   # a list for {names.label}")
        found.append(_about(listed, told, own))
    return found


def _about(setting: Setting, told: str, cure: str) -> Finding:
    origin = setting.origin
    return Finding(Status.WARNING, told, Fix(cure), Place(origin.file, origin.line, path=origin.name))


def _about_platform(examination: Examination, access: UserAccess) -> Finding:
    names, around = examination.platform, examination.variables()
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
            "Two settings contradict each other, the switch holds a word that is neither yes nor no, or a switch or a "
            "list for all of Hermes' platforms is set, which Canon does not go by.",
            "Other people may start turns than the operator believes.",
            "Set CANON_ALLOW_ALL_USERS to true or false in .env; the list in CANON_ALLOWED_USERS counts only "
            "under false. Remove GATEWAY_ALLOW_ALL_USERS, and give each platform its own list.",
            ("CANON_ALLOW_ALL_USERS", "CANON_ALLOWED_USERS", _EVERYBODY, _LISTED),
        ),
    ),
)
