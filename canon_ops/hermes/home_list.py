"""Every Hermes home of one root: the root itself and the profiles below it, as ``hermes profile list`` shows them."""

from __future__ import annotations

from collections.abc import Mapping

from canon_ops.errors import CanonOpsError
from canon_ops.hermes.homes import HermesHome, resolve_home

__all__ = ["homes_beside"]


def homes_beside(home: HermesHome, environ: Mapping[str, str]) -> tuple[HermesHome, ...]:
    """``home`` and its siblings by profile name, the root first; a folder that is no profile is left out.

    A custom home that is neither the root nor a profile comes last.
    """
    found = [resolve_home(environ, profile="default", hermes_home=home.root)]
    profiles = home.root / "profiles"
    names = sorted(path.name for path in profiles.iterdir()) if profiles.is_dir() else []
    for name in names:
        try:
            found.append(resolve_home(environ, profile=name, hermes_home=home.root))
        except CanonOpsError:  # a stray file, a reserved name, a profile that was deleted
            continue
    paths = [each.path.resolve() for each in found]
    same = [home if each.path.resolve() == home.path.resolve() else each for each in found]
    return tuple(same) if home.path.resolve() in paths else (*same, home)
