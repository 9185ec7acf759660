"""Which of our platforms the package serves in a home: what a command that is about the package alone acts for.

The record of the installation says it. A home that was set up by hand has none; there it is what ``plugins.enabled``
names. A platform that is in neither is nobody's wish here, and no command that repairs or renews the package may take
it for one. Source: decision record 0038.
"""

from __future__ import annotations

from canon_ops.hermes.config_file import HermesConfig, read_config
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.platforms import PLATFORMS, PlatformNames
from canon_ops.operate.installation import Installation

__all__ = ["loads", "platforms_served", "served_by"]


def platforms_served(home: HermesHome, record: Installation) -> tuple[PlatformNames, ...]:
    """See the module; empty where nothing of ours was ever wanted.

    Raises:
        ConfigSyntaxError: there is no record to go by, and config.yaml cannot be read.
    """
    if recorded := served_by(record):
        return recorded
    config = read_config(home.config_file)
    return tuple(names for names in PLATFORMS.values() if loads(config, names))


def served_by(record: Installation) -> tuple[PlatformNames, ...]:
    """The platforms that the record names, in the order of our table."""
    return tuple(names for names in PLATFORMS.values() if record.has(names.name))


def loads(config: HermesConfig, names: PlatformNames) -> bool:
    """Whether Hermes would load the plugin at all: it is on the one list and not on the other."""
    return names.plugin in (config.enabled_plugins or ()) and names.plugin not in config.disabled_plugins
