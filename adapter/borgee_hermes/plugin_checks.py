"""Is Borgee's plugin there, wanted, and at home in this host? Loaded only where Borgee is used.

Source: Borgee 2.6, 8.7; decisions H1.
"""

from __future__ import annotations

from canon_ops.doctor.check import Answer, Finding, Fix, Place, Status
from canon_ops.doctor.examination import Examination, FactMissing
from canon_ops.doctor.repair import AddToList, RemoveFromList, SetConfig
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.contract import Effect, worst
from canon_ops.hermes.contract_check import NEEDS, contract_differences
from canon_ops.hermes.host_call import try_imports
from canon_ops.hermes.platforms import PLATFORMS

__all__ = ["look_at_contract", "look_at_plugin"]

_BORGEE = PLATFORMS["borgee"]


def look_at_plugin(examination: Examination) -> Answer:
    """``borgee.plugin``: the lists and the switch of config.yaml, and the import in the host."""
    config = examination.config()
    file, install = str(config.file), examination.command("install borgee")
    found: list[Finding] = []
    if _BORGEE.plugin in config.disabled_plugins:
        told = "plugins.disabled names borgee, which beats plugins.enabled: it never loads."
        fix = Fix(f"{install} --yes", RemoveFromList("plugins.disabled", _BORGEE.plugin))
        found.append(Finding(Status.ERROR, told, fix, Place(file, path="plugins.disabled")))
    if _BORGEE.plugin not in (config.enabled_plugins or ()):
        told = "plugins.enabled does not name borgee: Hermes does not load it."
        fix = Fix(install, AddToList("plugins.enabled", _BORGEE.plugin))
        found.append(Finding(Status.ERROR, told, fix, Place(file, path="plugins.enabled")))
    if config.platform_switch(_BORGEE.name) is not True:
        path = _switch_path(examination)
        told = f"{path} is not true: the gateway connects no Borgee."
        found.append(Finding(Status.ERROR, told, Fix(install, SetConfig(path, True)), Place(file, path=path)))
    return tuple(found) or _imported(examination)


def _switch_path(examination: Examination) -> str:
    config = examination.config()
    below = config.platform(_BORGEE.name)
    return config.switch_path(_BORGEE.name) if below else f"{_BORGEE.name}.enabled"


def _imported(examination: Examination) -> Finding:
    host = examination.host()
    try:
        outcome = try_imports(host.python, [_BORGEE.package], environ=examination.home.environ(examination.environ))
    except CanonOpsError as error:
        raise FactMissing("host.found") from error
    one = outcome[_BORGEE.package]
    if one.ok and one.registers:
        return Finding(Status.OK, f"Borgee's plugin is enabled and loads in {host.python}.")
    why = one.error or "it has no register function"
    return Finding(
        Status.ERROR,
        f"{_BORGEE.package} does not work in {host.python}: {why}",
        Fix(examination.command("install borgee")),
        Place(one.place[0], one.place[1]) if one.place else Place(),
    )


def look_at_contract(examination: Examination) -> Answer:
    """``borgee.contract``: every symbol of the host that the adapter uses."""
    host = examination.host()
    folder = host.facts.hermes.folder if host.facts.hermes else None
    environ = examination.home.environ(examination.environ)
    differences = contract_differences(host.python, environ=environ, platform=_BORGEE.name, folder=folder)
    count, gravest = len(NEEDS[_BORGEE.name]), worst(differences)
    if gravest in (None, Effect.DEGRADES):
        return Finding(Status.OK, f"All {count} things that Borgee relies on are there.")
    grave = [one for one in differences if one.effect is gravest]
    more = f" And {len(grave) - 1} more." if len(grave) > 1 else ""
    status = Status.ERROR if gravest is Effect.BREAKS else Status.WARNING
    data = {"differences": [{"path": one.path, "what": one.what, "effect": one.effect.value} for one in differences]}
    return Finding(status, f"{grave[0].sentence}{more}", Fix(examination.command("host show")), data=data)
