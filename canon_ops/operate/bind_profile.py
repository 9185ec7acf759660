"""Which Canon profile a Hermes profile uses: naming one, and naming none.

Binding writes ``CANON_AGENT`` into the home's ``.env`` and removes what would beat it, from ``.env`` and from
config.yaml, in one transaction. The process environment of a gateway is out of reach; what still wins there is told.

Source: command-line contract, profile; Canon wire 3.5 step 11, 3.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.transaction import FileChange, Transaction, edit_files
from canon_ops.hermes.surroundings import canon_paths_from_disk, surroundings_from_disk
from canon_ops.operate.canon_profiles import named_profile
from canon_ops.operate.dotenv_diff import change_diff
from canon_ops.operate.edit_config import refuse_managed
from canon_ops.operate.home_identity import Lines, overriding, profile_lines
from canon_ops.operate.prompts import Prompts
from canon_ops.operate.writing import Writing, Written, require_consent
from canon_ops.settings.credentials import Profiles, direct_key, load_profiles
from canon_ops.settings.dotenv import read_dotenv
from canon_ops.settings.profiles import BOOTSTRAP_VARIABLE, AgentsFile, merge_bootstrap
from canon_ops.settings.provenance import Found, Origin, Source
from canon_ops.settings.secret import Secret
from canon_ops.settings.surroundings import Surroundings

__all__ = ["Bound", "bind_profile", "unbind_profile"]

_BLOCKS = (("platforms", "canon"), ("gateway", "platforms", "canon"))  # the host merges both
_KEY_NAMES = (("api_key",), ("token",), *(("extra", name) for name in ("api_key", "canon_api_key", "CANON_API_KEY")))
_AGENT_NAMES = tuple(("extra", name) for name in ("agent", "profile", "canon_agent", "CANON_AGENT"))
_KEY = "CANON_API_KEY"


@dataclass(frozen=True, slots=True)
class Bound:
    """What binding did, or would do.

    Attributes:
        canon_profile: the profile that the home names now; None after unbinding.
        removed: what stood in the way, by its name in its file.
        overridden_by: places that still beat it.
    """

    canon_profile: str | None
    removed: tuple[str, ...]
    written: Written
    overridden_by: tuple[Origin, ...]


def bind_profile(writing: Writing, name: str, prompts: Prompts) -> Bound:
    """Make the home use a Canon profile.

    Raises:
        NoSuchProfile, ForeignProfile, UnboundProfile: the profile cannot be used.
        ConsentMissing: a key would be removed that is nowhere else.
        ManagedHome, ConfigSyntaxError, ConfigRefused, LockTimeout, ChangedUnderUs, DiskError: nothing was written.
    """
    surroundings = surroundings_from_disk(writing.home.path, writing.environ)
    profiles = load_profiles(surroundings)
    named_profile(profiles, name).require_usable(profiles.agents.file)
    _agree(surroundings, profiles, prompts)
    bootstrap = None
    if profiles.source_of(name) is Source.BOOTSTRAP:  # the profile is written down together with its use
        bootstrap = surroundings.gateway_environ.get(BOOTSTRAP_VARIABLE)
    bound = _edit(writing, name, profile_lines(name), _KEY_NAMES, bootstrap=bootstrap)
    still = overriding(writing.home.path, writing.environ, lambda found: found.profile == name)
    return replace(bound, overridden_by=() if writing.dry_run else still)


def unbind_profile(writing: Writing) -> Bound:
    """Make the home name no Canon profile; a single one is then used without being named.

    Raises:
        ManagedHome, ConfigSyntaxError, ConfigRefused, LockTimeout, ChangedUnderUs, DiskError: nothing was written.
    """
    bound = _edit(writing, None, {"CANON_AGENT": None}, _AGENT_NAMES)
    exported = writing.environ.get("CANON_AGENT", "").strip()
    still = (Origin(Source.PROCESS, "CANON_AGENT"),) if exported else ()
    return Bound(None, bound.removed, bound.written, still)


def _edit(
    writing: Writing,
    name: str | None,
    lines: Lines,
    config_names: Iterable[tuple[str, ...]],
    *,
    bootstrap: str | None = None,
) -> Bound:
    """All files in one transaction.

    Args:
        bootstrap: profiles that agents.json gets as well; None leaves that file alone.
    """
    home, paths = writing.home, canon_paths_from_disk(writing.home.path, writing.environ)
    config_paths = [(*block, *below) for block, below in product(_BLOCKS, config_names)]

    def once(transaction: Transaction) -> Bound:
        writing.expect(transaction, home.env_file, home.config_file)
        if bootstrap is not None:
            _adopt(transaction, paths.agents_file, bootstrap)
        removed = [
            *_edit_dotenv(transaction, home.env_file, lines),
            *_edit_config(transaction, home.config_file, config_paths),
        ]
        changes = transaction.changes()
        written = Written(
            tuple(each.path for each in changes), _diff(writing, changes, paths.agents_file), transaction.commit()
        )
        return Bound(name, tuple(removed), written, ())

    also = () if bootstrap is None else (paths.home,)
    return edit_files(
        once, lambda: writing.transaction(home.path, refuse=lambda _path: refuse_managed(home), also=also)
    )


def _adopt(transaction: Transaction, file: Path, bootstrap: str) -> None:
    """Write down the profiles that only the bootstrap variable has."""
    agents, added = merge_bootstrap(AgentsFile.parse(transaction.read(file), file=str(file)), bootstrap)
    if added:
        transaction.stage(file, agents.data, private=True)


def _edit_dotenv(transaction: Transaction, file: Path, lines: Lines) -> list[str]:
    before = transaction.read(file)
    document = DotenvDocument.parse(before or b"", str(file))
    removed = [name for name, value in lines.items() if value is None and document.get(name) is not None]
    for name, value in lines.items():
        document = document.remove(name) if value is None else document.set(name, value)
    if document.data != (before or b""):
        transaction.stage(file, document.data, private=True)
    return removed


def _edit_config(transaction: Transaction, file: Path, paths: Iterable[tuple[str, ...]]) -> list[str]:
    before = transaction.read(file)
    if before is None:
        return []
    document = ConfigDocument.parse(before, str(file))
    removed = [path for path in paths if document.find(path) is not None]
    for path in removed:
        document = document.unset(path)
    if document.data != before:
        transaction.stage(file, document.data)
    return [".".join(path) for path in removed]


def _diff(writing: Writing, changes: Iterable[FileChange], agents_file: Path) -> str:
    """agents.json is left out: what is new in it is a profile with its key."""
    return "".join(change_diff(change, writing.mask) for change in changes if change.path != agents_file)


def _agree(surroundings: Surroundings, profiles: Profiles, prompts: Prompts) -> None:
    """Ask before a key goes that no profile has."""
    kept = {each.api_key for name in profiles.agents.names if (each := profiles.agents.profile(name))}
    lost = [origin for key, origin in _keys_of_home(surroundings) if key not in kept]
    if lost:
        require_consent(prompts, f"{lost[0].describe()} is removed, and its key is in no Canon profile. Go on?")


def _keys_of_home(surroundings: Surroundings) -> Iterator[tuple[Secret, Origin]]:
    """Every direct key in the home's files, also on a line that another one overrides."""
    key = direct_key(surroundings)
    found = () if key is None else (Found(key.value, key.origin), *key.shadows)
    for each in found:
        if each.origin.source is Source.CONFIG and isinstance(each.value, Secret):
            yield each.value, each.origin
    for entry in read_dotenv(surroundings.dotenv or b"", file=surroundings.dotenv_file):
        if entry.name == _KEY and entry.value:
            yield Secret(entry.value.strip()), Origin(Source.DOTENV, _KEY, surroundings.dotenv_file, entry.line)
