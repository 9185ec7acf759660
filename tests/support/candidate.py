"""A host that is not audited yet, under the end-to-end set all the same.

Our plugins refuse such a host and have no switch around that, so the tests bring two of their own: folder plugins in
the temporary home that register ours with the facts of an audited host. On an audited host they do not exist, and ours
are enabled by the names that operators use.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from canon_hermes_plugin.host import read_host_facts
from canon_ops.hermes.audited import Audited, audit

__all__ = ["host_is_audited", "loaded_as", "name_of"]

_OURS: Final = {"canon-hermes": "canon_hermes_plugin", "borgee": "borgee_hermes"}
_MANIFEST = "name: {name}\nversion: 1.0.0\ndescription: {ours} on a host under examination\nkind: platform\n"
_PLUGIN = """\
def register(ctx):
    from {package}.host import HostFacts
    from {package}.registration import register as register_ours
    from canon_ops.hermes.audited import AUDITED_HOSTS

    row = AUDITED_HOSTS[-1]
    register_ours(ctx, facts=HostFacts(row.hermes, row.python, row.platform))
"""


def host_is_audited() -> bool:
    """Whether our plugins answer on the host of this environment."""
    facts = read_host_facts()
    return isinstance(audit(facts.version, facts.python, facts.platform), Audited)


def loaded_as(plugins: Iterable[str], hermes_home: Path) -> list[str]:
    """The names under which these plugins load in this home.

    Ours are replaced on a host that is not audited, by folder plugins that are written into the home.
    """
    if host_is_audited():
        return list(plugins)
    return [_stand_in(name, hermes_home) if name in _OURS else name for name in plugins]


def name_of(ours: str) -> str:
    """The name under which a plugin of ours loads here, for what a host says of it."""
    return ours if host_is_audited() else f"{ours}-candidate"


def _stand_in(ours: str, hermes_home: Path) -> str:
    name = name_of(ours)
    folder = hermes_home / "plugins" / name
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath("plugin.yaml").write_text(_MANIFEST.format(name=name, ours=ours), encoding="utf-8")
    folder.joinpath("__init__.py").write_text(_PLUGIN.format(package=_OURS[ours]), encoding="utf-8")
    return name
