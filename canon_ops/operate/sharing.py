"""Who else uses what a home has: other Hermes profiles share its host's environment, and Canon's profiles.

The package is one for an environment, and the Canon profiles one for a user; config.yaml and ``.env`` are one a home.
So whoever takes something back for one home looks at all the others first, and leaves what one of them still needs.
Looked at are the homes below the same root and those below Hermes' own default root, where a custom home may have its
siblings. A home that cannot be read is taken for one that needs everything: nothing is lost by a package that stays.

Source: hermes-host 2.3 (profiles share one environment).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from canon_ops.errors import CanonOpsError
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.home_list import homes_beside
from canon_ops.hermes.homes import HermesHome, resolve_home
from canon_ops.hermes.platforms import PLATFORMS
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.operate.canon_profiles import profile_in_use
from canon_ops.operate.served import loads
from canon_ops.settings.credentials import chosen_profile

__all__ = ["Neighbour", "neighbours", "users_of_canon_profile"]

_OURS = frozenset(names.plugin for names in PLATFORMS.values())


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another home, and what it needs of our package.

    Attributes:
        plugins: of ours, those that its gateway would load.
        is_readable: its config.yaml could be read; otherwise it counts as needing all.
    """

    home: HermesHome
    plugins: frozenset[str]
    is_readable: bool = True

    def __str__(self) -> str:
        name = self.home.profile_name
        told = f"the Hermes profile {name}" if name != "custom" else f"the Hermes home {self.home.path}"
        return told if self.is_readable else f"{told} (its config.yaml cannot be read)"


def neighbours(home: HermesHome, environ: Mapping[str, str]) -> tuple[Neighbour, ...]:
    """Every other home that is known from here; one that has the very same config.yaml is no other."""
    native = {name: value for name, value in environ.items() if name != "HERMES_HOME"}
    homes = [*homes_beside(home, environ)]
    default = resolve_home(native, profile="default")
    if default.root.resolve() != home.root.resolve():
        homes += homes_beside(default, native)
    own = home.config_file.resolve()
    others = [each for each in homes if each.config_file.resolve() != own]
    return tuple(_neighbour(each) for each in others)


def users_of_canon_profile(home: HermesHome, environ: Mapping[str, str], name: str) -> tuple[Neighbour, ...]:
    """The other homes that use the Canon profile: bound to it, or enabled and left to find it."""
    mine = surroundings_from_disk(home.path, environ).agents_file
    return tuple(one for one in neighbours(home, environ) if _uses(one, environ, mine, name))


def _neighbour(home: HermesHome) -> Neighbour:
    try:
        config = read_config(home.config_file)
    except CanonOpsError:
        return Neighbour(home, _OURS, is_readable=False)
    return Neighbour(home, frozenset(one.plugin for one in PLATFORMS.values() if loads(config, one)))


def _uses(one: Neighbour, environ: Mapping[str, str], agents_file: str, name: str) -> bool:
    is_enabled = PLATFORMS["canon"].plugin in one.plugins
    try:
        surroundings = surroundings_from_disk(one.home.path, environ)
        if surroundings.agents_file != agents_file or profile_in_use(surroundings) != name:
            return False
        return is_enabled or chosen_profile(surroundings) is not None
    except CanonOpsError:
        return is_enabled
