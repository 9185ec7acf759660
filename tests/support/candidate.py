"""A host that is not audited yet, under the end-to-end set all the same.

The plugin refuses such a host and has no switch around that, so the tests bring one of their own: a folder plugin in
the temporary home that registers ours with the facts of an audited host. On an audited host it does not exist, and the
plugin is enabled by the name that operators use.
"""

from __future__ import annotations

from pathlib import Path

from canon_hermes_plugin.host import read_host_facts
from canon_ops.hermes.audited import Audited, audit

__all__ = ["host_is_audited", "plugin_for", "plugin_name"]

_NAME = "canon-candidate"
_MANIFEST = f"name: {_NAME}\nversion: 1.0.0\ndescription: Canon on a host under examination\nkind: platform\n"
_PLUGIN = """\
def register(ctx):
    from canon_hermes_plugin.host import HostFacts
    from canon_hermes_plugin.registration import register as register_canon
    from canon_ops.hermes.audited import AUDITED_HOSTS

    row = AUDITED_HOSTS[-1]
    register_canon(ctx, facts=HostFacts(row.hermes, row.python, row.platform))
"""


def host_is_audited() -> bool:
    """Whether the plugin answers on the host of this environment."""
    facts = read_host_facts()
    return isinstance(audit(facts.version, facts.python, facts.platform), Audited)


def plugin_name() -> str:
    """The plugin that makes Canon load on this host, as a configuration names it."""
    return "canon-hermes" if host_is_audited() else _NAME


def plugin_for(hermes_home: Path) -> str:
    """The plugin name that makes Canon load in this home; a candidate's folder plugin is written into it first."""
    if host_is_audited():
        return plugin_name()
    folder = hermes_home / "plugins" / _NAME
    folder.mkdir(parents=True)
    folder.joinpath("plugin.yaml").write_text(_MANIFEST, encoding="utf-8")
    folder.joinpath("__init__.py").write_text(_PLUGIN, encoding="utf-8")
    return _NAME
