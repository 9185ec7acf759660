"""Moving a key between its file and the keyring, so that at every moment at least one of them has it.

To the keyring: the key is put there and read back; then the file gets a reference in its place; then the history
forgets it. To the file: the key is written there; then the keyring's entry goes. A crash between two steps leaves the
key in both places, and the same command again finishes the work.

Canon's keys are moved by profile (agents.json), Borgee's by home (``.env``).

Source: command-line contract, creds; decisions C1.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

from canon_ops.errors import CanonOpsError, CredentialError, RefusedError
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.transaction import ChangedUnderUs, Transaction, edit_files
from canon_ops.hermes.surroundings import canon_paths_from_disk, surroundings_from_disk
from canon_ops.keyring.access import Keyring, KeyringProblem
from canon_ops.operate.canon_profiles import named_profile, profile_in_use
from canon_ops.operate.edit_config import refuse_managed
from canon_ops.operate.forget_key import forget_key
from canon_ops.operate.home_identity import masked_diff
from canon_ops.operate.profile_key import KeyMissing, new_reference
from canon_ops.operate.writing import Writing, Written, edit_agents
from canon_ops.settings.borgee_key import BORGEE_KEY, BORGEE_REFERENCE, borgee_key
from canon_ops.settings.credentials import load_profiles
from canon_ops.settings.problems import ForeignProfile, reconnect_command
from canon_ops.settings.profiles import AgentProfile, AgentsFile, KeyReference
from canon_ops.settings.provenance import Source
from canon_ops.settings.secret import Secret

__all__ = ["KeyMoved", "Store", "move_borgee_key", "move_canon_key", "profile_meant"]

Store = Literal["file", "keyring"]


class NotAProfilesKey(CredentialError):
    """The key in force belongs to no profile, so there is no place for a reference to it."""

    code: ClassVar[str] = "key_not_in_profile"


class KeyOutOfReach(RefusedError):
    """The key stands where we do not write."""

    code: ClassVar[str] = "key_out_of_reach"


@dataclass(frozen=True, slots=True)
class KeyMoved:
    """What a move did, or would do.

    Attributes:
        canon_profile: whose key; None for Borgee's.
        reference: service and account in the keyring.
        forgotten: history entries that held the key and are gone.
        left_behind: why the old place still has the key; None when it has not.
    """

    platform: Literal["canon", "borgee"]
    canon_profile: str | None
    to: Store
    reference: str
    changed: bool
    written: Written
    forgotten: tuple[str, ...] = ()
    left_behind: str | None = None


def profile_meant(writing: Writing, name: str | None) -> AgentProfile:
    """The profile that was named, or the one in use.

    Raises:
        NoSuchProfile, ForeignProfile.
        NotAProfilesKey: nobody named one, and the home uses a key of its own, or several could be meant.
    """
    surroundings = surroundings_from_disk(writing.home.path, writing.environ)
    profiles = load_profiles(surroundings)
    chosen = name or profile_in_use(surroundings)
    if chosen is None:
        raise NotAProfilesKey(
            "No Canon profile is in use here, and none was named", fix="name one: --canon-profile NAME"
        )
    profile = named_profile(profiles, chosen)
    if not profile.is_for_hermes:
        raise ForeignProfile(chosen, str(profile.client_type), profiles.agents.file)
    if profiles.source_of(chosen) is Source.BOOTSTRAP:
        raise KeyOutOfReach(
            f"The Canon profile {chosen} is only in CANON_AGENTS_JSON_BOOTSTRAP, which is not edited here",
            fix=f"canon-ops profile bind {chosen}",
        )
    return profile


def move_canon_key(writing: Writing, name: str | None, to: Store, keyring: Keyring) -> KeyMoved:
    """Move the key of a Canon profile; where it is already, only what a crash left behind is cleared.

    Raises:
        NoSuchProfile, ForeignProfile, NotAProfilesKey, KeyMissing, KeyringEntryMissing: there is no key to move.
        KeyringProblem: the keyring cannot be used; the key is where it was.
        DamagedFile, LockTimeout, ChangedUnderUs, DiskError: nothing was written.
    """
    profile = profile_meant(writing, name)
    paths = canon_paths_from_disk(writing.home.path, writing.environ)
    again = reconnect_command(profile.name, profile.agent_id)
    if profile.api_key is None and profile.api_key_ref is None:
        raise KeyMissing(f"The Canon profile {profile.name} has no key", fix=again)
    reference = profile.api_key_ref or new_reference(profile.name, paths.agents_file)

    def write(key: Secret | None) -> Written:
        place = {"service": reference.service, "account": reference.account} if key is None else None

        def edit(agents: AgentsFile) -> AgentsFile:
            if dict(agents.entries.get(profile.name, {})) != dict(profile.fields):
                raise ChangedUnderUs(
                    f"The Canon profile {profile.name} was changed meanwhile", fix="run it again", file=agents.file
                )
            return agents.with_fields(profile.name, {"apiKey": key.reveal() if key else None, "apiKeyRef": place})

        return edit_agents(writing, edit)

    shared = any(
        other.api_key_ref == reference for other in _profiles(writing).for_hermes() if other.name != profile.name
    )
    side = _FileSide("canon", profile.name, reference, profile.api_key, write, paths.home, again, shared)
    return _move(writing, side, to, keyring)


def move_borgee_key(writing: Writing, to: Store, keyring: Keyring) -> KeyMoved:
    """Move the key of this home's Borgee agent.

    Raises:
        BorgeeKeyMissing, KeyringEntryMissing: there is no key to move.
        KeyOutOfReach: the key is in the process environment.
        KeyringProblem: the keyring cannot be used; the key is where it was.
        ManagedHome, LockTimeout, ChangedUnderUs, DiskError: nothing was written.
    """
    home = writing.home
    found = borgee_key(surroundings_from_disk(home.path, writing.environ))
    if found.setting.origin.source is not Source.DOTENV:
        origin = found.setting.origin
        raise KeyOutOfReach(f"{origin.describe()} is not edited here", fix=origin.to_drop())
    reference = found.api_key_ref or new_reference(f"borgee.{home.profile_name}", home.env_file)

    def write(key: Secret | None) -> Written:
        def once(transaction: Transaction) -> Written:
            writing.expect(transaction, home.env_file)
            document = DotenvDocument.parse(transaction.read(home.env_file) or b"", str(home.env_file))
            if key is None:
                document = document.remove(BORGEE_KEY).set(BORGEE_REFERENCE, reference.text)
            else:
                document = document.remove(BORGEE_REFERENCE).set(BORGEE_KEY, key.reveal())
            transaction.stage(home.env_file, document.data, private=True)
            changes = transaction.changes()
            return Written(tuple(each.path for each in changes), masked_diff(changes), transaction.commit())

        return edit_files(once, lambda: writing.transaction(home.path, refuse=lambda _path: refuse_managed(home)))

    side = _FileSide("borgee", None, reference, found.api_key, write, home.path, "canon-ops env set BORGEE_API_KEY")
    return _move(writing, side, to, keyring)


@dataclass(frozen=True, slots=True)
class _FileSide:
    """The file's end of a move.

    Attributes:
        key: what the file holds; None when it holds the reference.
        write: puts a key into the file, or the reference in its place (None).
        folder: whose history may hold the key.
        again: what helps when the key is nowhere.
        shared: somebody else refers to the same entry of the keyring.
    """

    platform: Literal["canon", "borgee"]
    canon_profile: str | None
    reference: KeyReference
    key: Secret | None = field(repr=False)
    write: Callable[[Secret | None], Written]
    folder: Path
    again: str
    shared: bool = False


def _move(writing: Writing, side: _FileSide, to: Store, keyring: Keyring) -> KeyMoved:
    if to == "keyring":
        return _to_keyring(writing, side, keyring)
    return _to_file(writing, side, keyring)


def _to_keyring(writing: Writing, side: _FileSide, keyring: Keyring) -> KeyMoved:
    reference, written = side.reference, Written()
    changed = side.key is not None
    if side.key is None:
        key = keyring.get(reference, fix=side.again)
    elif writing.dry_run:
        keyring.probe()
        key, written = side.key, side.write(None)
    else:
        key, before = side.key, keyring.find(reference)
        keyring.put(reference, key)
        try:
            written = side.write(None)
        except BaseException:
            _restore(keyring, reference, before)
            raise
    if writing.dry_run:
        return KeyMoved(side.platform, side.canon_profile, "keyring", reference.text, changed, written)
    forgotten, left = _forgotten(writing, side.folder, key)
    if written.history_id in forgotten:
        written = replace(written, history_id=None)
    return KeyMoved(side.platform, side.canon_profile, "keyring", reference.text, changed, written, forgotten, left)


def _to_file(writing: Writing, side: _FileSide, keyring: Keyring) -> KeyMoved:
    written, left = Written(), None
    if side.key is None:
        written = side.write(keyring.get(side.reference, fix=side.again))
        left = _left_in_keyring(keyring, side) if not writing.dry_run else None
    elif not writing.dry_run:
        with suppress(KeyringProblem):  # what a crash after the writing left there
            keyring.delete(side.reference)
    return KeyMoved(side.platform, side.canon_profile, "file", side.reference.text, side.key is None, written, (), left)


def _restore(keyring: Keyring, reference: KeyReference, before: Secret | None) -> None:
    """Take back what was put; should that fail, the file still has the key, and the keyring a second copy."""
    with suppress(KeyringProblem):
        if before is None:
            keyring.delete(reference)
        else:
            keyring.put(reference, before)


def _forgotten(writing: Writing, folder: Path, key: Secret) -> tuple[tuple[str, ...], str | None]:
    try:
        return forget_key(writing, folder, key), None
    except (CanonOpsError, OSError) as exc:
        return (), f"The history below {folder} still has the key: {exc}"


def _left_in_keyring(keyring: Keyring, side: _FileSide) -> str | None:
    if side.shared:
        return f"The keyring keeps {side.reference.text}: another Canon profile refers to it."
    try:
        keyring.delete(side.reference)
    except KeyringProblem as exc:
        return f"The keyring still has {side.reference.text}: {exc.what}"
    return None


def _profiles(writing: Writing) -> AgentsFile:
    return load_profiles(surroundings_from_disk(writing.home.path, writing.environ)).agents
