"""Is the plugin in the host, seen by it, importable, ours, enabled and not denied?

These are separate questions on purpose: "installed", "enabled" and "loaded" are three different things, and each is
mended differently.
"""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from datetime import UTC, datetime

from canon_ops import __version__
from canon_ops.doctor.check import HOST_LIMIT_S, About, Check, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination, FactMissing
from canon_ops.doctor.repair import AddToList, RemoveFromList, RestorePackage, SetConfig
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.discovery import HostInstallation, HowFound
from canon_ops.hermes.host_call import OUR_DISTRIBUTION, ImportOutcome
from canon_ops.hermes.platforms import PlatformNames
from canon_ops.operate.installation import (
    InstalledPackage,
    RecordDamaged,
    environment_made_ms,
    read_installation,
)
from canon_ops.operate.package import install_by_hand, remove_by_hand
from canon_ops.operate.served import platforms_served

__all__ = ["CHECKS"]


def _installed(examination: Examination) -> Finding:
    host = examination.host()
    ours = host.facts.ours
    if ours is not None and not ours.is_whole:
        message = f"{ours} is in {host.python} by half: whatever put it there was stopped before its list of files."
        data = {"version": ours.version, "is_whole": False}
        return Finding(Status.ERROR, message, _put_there(examination, host, ours.version), data=data)
    if ours is not None:
        return Finding(
            Status.OK,
            f"{ours} is installed beside Hermes{' (editable)' if ours.editable else ''}.",
            data={"version": ours.version, "editable": ours.editable},
        )
    recorded = _recorded(examination)
    data = {"python": str(host.python), "recorded": recorded.saved.version if recorded else None}
    if recorded is None:
        message = f"{OUR_DISTRIBUTION} is not installed in {host.python}, which runs Hermes."
    else:
        then = f"{datetime.fromtimestamp(recorded.at_ms / 1000, UTC):%Y-%m-%d %H:%M} UTC"
        message = f"{recorded} was in {recorded.python} at {then} and is gone: {_reason(recorded, host)}."
    version = recorded.saved.version if recorded else __version__
    return Finding(Status.ERROR, message, _put_there(examination, host, version), data=data)


def _recorded(examination: Examination) -> InstalledPackage | None:
    """What canon-ops recorded about the package; a damaged record is another check's business."""
    with suppress(RecordDamaged):
        return read_installation(examination.home.path).package
    return None


def _reason(recorded: InstalledPackage, host: HostInstallation) -> str:
    """Why a package that was there is not there any more, as far as the two states tell."""
    if recorded.prefix != str(host.facts.prefix):
        return f"Hermes runs from {host.facts.prefix} now"
    if recorded.hermes != host.version:
        return f"Hermes was {recorded.hermes} then and is {host.version} now, and an update drops what it does not know"
    if recorded.environment_made_ms != environment_made_ms(host.facts.prefix):
        return "the environment was rebuilt since"
    return "somebody took it out"


def _put_there(examination: Examination, host: HostInstallation, version: str) -> Fix:
    """Where a platform of ours was ever wanted, the package alone is a repair; else it is somebody's decision."""
    if host.installer is None:
        return Fix(install_by_hand(host))
    aimed = f" --python {shlex.quote(str(host.python))}" if host.how is HowFound.OPTION else ""
    wanted = _served(examination)
    names = " ".join(one.name for one in wanted or (examination.platform,))
    return Fix(examination.command(f"install {names}{aimed}"), RestorePackage(version) if wanted else None)


def _served(examination: Examination) -> tuple[PlatformNames, ...]:
    """For whom the package is here; nobody where neither record nor config.yaml tells."""
    try:
        return platforms_served(examination.home, read_installation(examination.home.path))
    except CanonOpsError:  # the damaged file is the finding of another check
        return ()


def _owner(examination: Examination) -> Finding:
    host = examination.host()
    foreign = host.facts.foreign
    if not foreign:
        return Finding(Status.OK, "No other distribution owns our import packages.")
    names = ", ".join(map(str, foreign))
    both = host.facts.ours is not None
    consequence = "which of the two runs is chance" if both else "ours is not there"
    wanted = RestorePackage(__version__) if _served(examination) else None
    replace = Fix(examination.command(f"install {examination.platform.name} --yes"), wanted)
    return Finding(
        Status.ERROR,
        f"{names} in {host.python} owns import packages of {OUR_DISTRIBUTION}; {consequence}.",
        replace if host.installer else Fix(remove_by_hand(host, [one.name for one in foreign])),
        data={"distributions": [{"name": one.name, "version": one.version} for one in foreign]},
    )


def _version(examination: Examination) -> Finding:
    """One environment serves several profiles, so another version than the recorded one is no fault in itself."""
    host = examination.host()
    ours = host.facts.ours
    if ours is None or not ours.is_whole:
        raise FactMissing("plugin.installed")
    try:
        recorded = read_installation(examination.home.path).package
    except RecordDamaged as exc:
        return from_error(Status.WARNING, exc)
    data = {
        "version": ours.version,
        "running": __version__,
        "recorded": recorded.saved.version if recorded else None,
        "sha256": recorded.sha256 or None if recorded else None,
    }
    if _is_older(ours.version, __version__):
        message = f"{ours} in the host is older than this program ({__version__}) and may lack what that sets up."
        return Finding(Status.INFO, message, Fix(examination.command("upgrade")), data=data)
    if _is_older(__version__, ours.version):
        message = f"{ours} is in the host; this program is only {__version__} and may not know all of it."
        return Finding(Status.INFO, message, data=data)
    return Finding(Status.OK, f"The plugin and this program are both {ours.version}.", data=data)


def _is_older(one: str, other: str) -> bool:
    if one == other:
        return False
    from packaging.version import InvalidVersion, Version

    try:
        return Version(one) < Version(other)
    except InvalidVersion:
        return False


def _entry_point(examination: Examination) -> Finding:
    names, host = examination.platform, examination.host()
    point = host.facts.entry_point(names.plugin)
    if host.facts.ours is None:
        raise FactMissing("plugin.installed")
    if point is None:
        return Finding(
            Status.ERROR,
            f"Hermes sees no plugin {names.plugin}: {host.python} has no such entry point.",
            Fix(install_by_hand(examination.host())),
        )
    data = {"name": point.name, "value": point.value, "distribution": point.distribution, "version": point.version}
    if point.value.partition(":")[0] != names.package:
        return Finding(
            Status.ERROR,
            f"The plugin {point.name} leads to {point.value} of {point.distribution}, not to {names.package}.",
            Fix(f"remove {point.distribution} from {host.python}"),
            data=data,
        )
    return Finding(Status.OK, f"Hermes sees {point.name} of {point.distribution} {point.version}.", data=data)


def _imports(examination: Examination) -> Finding:
    """The import is begun first: it takes as long as finding the host, and both go on side by side."""
    names = examination.platform
    try:
        outcome: ImportOutcome | CanonOpsError = examination.imported.examine()
    except CanonOpsError as exc:
        outcome = exc
    host = examination.host()
    if host.facts.ours is None:
        raise FactMissing("plugin.installed")
    if isinstance(outcome, CanonOpsError):
        return from_error(Status.ERROR, outcome)
    anew = _put_there(examination, host, host.facts.ours.version)
    if outcome.error is not None:
        return Finding(
            Status.ERROR,
            f"{names.package} does not import in Hermes' interpreter: {outcome.error}",
            anew,
            Place(*outcome.place) if outcome.place else Place(),
            data={"missing": outcome.missing},
        )
    if not outcome.registers:
        return Finding(
            Status.ERROR,
            f"{names.package} imports but has no register function; Hermes will not load it.",
            anew,
            Place(str(outcome.file)),
        )
    return Finding(Status.OK, f"{names.package} imports in Hermes' interpreter.", data={"file": str(outcome.file)})


def _enabled(examination: Examination) -> Finding:
    names, config = examination.platform, examination.config()
    at = Place(str(config.file), path="plugins.enabled")
    if config.enabled_plugins is not None and names.plugin in config.enabled_plugins:
        return Finding(Status.OK, f"plugins.enabled names {names.plugin}.", at=at)
    section = config.tree.get("plugins")
    written = section.get("enabled") if isinstance(section, dict) else None
    if written is not None and not isinstance(written, list):
        listed = [part.strip() for part in written.split(",") if part.strip()] if isinstance(written, str) else []
        whole = list(dict.fromkeys([*listed, names.plugin]))
        command = f"config set plugins.enabled {shlex.quote(json.dumps(whole))} --type json"
        return Finding(
            Status.ERROR,
            f"plugins.enabled is {written!r}, no list; Hermes ignores it and loads no plugin.",
            Fix(examination.command(command), SetConfig("plugins.enabled", tuple(whole))),
            data={"value": str(written)},
            at=at,
        )
    if section is not None and not isinstance(section, dict):  # config.value shows it; nothing is added to it
        again = [examination.command("config unset plugins"), examination.command(f"install {names.name}")]
        told = "plugins is no mapping; Hermes reads no list of plugins from it and loads none."
        return Finding(Status.ERROR, told, Fix(" && ".join(again)), at=Place(str(config.file), path="plugins"))
    if not config.exists:
        cure = Fix(examination.command(f"install {names.name}"), _listed_before(examination))
    else:
        add = AddToList("plugins.enabled", names.plugin)
        cure = Fix(examination.command(f"config add plugins.enabled {names.plugin}"), add)
    return Finding(
        Status.ERROR,
        f"plugins.enabled does not name {names.plugin}; Hermes will not load it.",
        cure,
        data={"enabled": list(config.enabled_plugins or ())},
        at=at,
    )


def _listed_before(examination: Examination) -> AddToList | None:
    """Where config.yaml is gone, its list is written again only for a platform that is recorded as installed."""
    try:
        record = read_installation(examination.home.path)
    except RecordDamaged:
        return None
    names = examination.platform
    return AddToList("plugins.enabled", names.plugin) if record.has(names.name) else None


def _denied(examination: Examination) -> Finding:
    names, config = examination.platform, examination.config()
    at = Place(str(config.file), path="plugins.disabled")
    if names.plugin not in config.disabled_plugins:
        return Finding(Status.OK, f"plugins.disabled does not name {names.plugin}.", at=at)
    return Finding(
        Status.ERROR,
        f"plugins.disabled names {names.plugin}, which beats plugins.enabled: it never loads.",
        Fix(
            examination.command(f"install {names.name} --yes"),
            RemoveFromList("plugins.disabled", names.plugin),
        ),
        at=at,
    )


CHECKS = (
    Check(
        "plugin.installed",
        "Package",
        "Is canon-ops installed in the interpreter that runs Hermes?",
        _installed,
        about=About(
            "The package was never put beside Hermes, or an update of Hermes rebuilt its environment without it.",
            "Hermes starts as ever, says nothing, and answers nobody on the platform.",
            "Install the package with the pip or uv of the environment that runs Hermes; no other environment helps.",
            ("installation.json",),
        ),
    ),
    Check(
        "plugin.version",
        "Version",
        "Are the plugin in the host and this program of the same version?",
        _version,
        about=About(
            "One of the two was upgraded, or several Hermes profiles share the environment.",
            "An older plugin lacks what this program sets up for it; a newer one may read files that this "
            "program does not know.",
            "Upgrade the older one.",
        ),
    ),
    Check(
        "plugin.owner",
        "Owner",
        "Do our import packages belong to us alone?",
        _owner,
        about=About(
            "The plugin was first installed under its published name, and that package is still there.",
            "Both bring a package of the same name, and which of the two runs is chance.",
            "Uninstall the other distribution, then install ours again: the files that they share are gone with it.",
        ),
    ),
    Check(
        "plugin.entry_point",
        "Entry point",
        "Does Hermes see the plugin?",
        _entry_point,
        about=About(
            "The installation was interrupted, or another distribution claims the plugin's name.",
            "Hermes finds plugins by their entry points only, so it never loads this one.",
            "Install the package again in the environment that runs Hermes.",
        ),
    ),
    Check(
        "plugin.import",
        "Import",
        "Does the plugin import in Hermes' interpreter?",
        _imports,
        limit_s=HOST_LIMIT_S,
        about=About(
            "A dependency is missing or too old in the environment of Hermes, or a file of the package is damaged.",
            "Hermes logs one warning and goes on without the platform.",
            "Import the package by hand with the interpreter of Hermes, and install what it says is missing.",
        ),
    ),
    Check(
        "plugin.enabled",
        "Enabled",
        "Is the plugin in plugins.enabled?",
        _enabled,
        about=About(
            "Hermes loads a plugin only when plugins.enabled names it, and that list is one for each profile.",
            "The plugin is there and is never loaded.",
            "Add canon-hermes to the list plugins.enabled in config.yaml, or say `hermes plugins enable canon-hermes`.",
            ("plugins.enabled",),
        ),
    ),
    Check(
        "plugin.denied",
        "Not denied",
        "Is the plugin absent from plugins.disabled?",
        _denied,
        about=About(
            "`hermes plugins disable` put it there. Enabling it in the other list does not take it off this one.",
            "The deny list wins: the plugin is never loaded.",
            "Take canon-hermes out of plugins.disabled in config.yaml.",
            ("plugins.disabled",),
        ),
    ),
)
