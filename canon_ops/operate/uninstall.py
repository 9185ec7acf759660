"""Taking an installation back: what ``install`` wrote leaves the files, what it brought leaves the host.

The package goes first and the files follow in one transaction with the record: as long as something is left to do, the
record knows it, and the command can be given again. A file that nobody wrote since is byte for byte what it was; in any
other our own edits are undone (``taking_back``). Credentials stay unless ``--purge`` is given.

The package stays where somebody still needs it: another Hermes profile that enables one of its plugins, another
platform of this home, or canon-ops itself, when it runs from there and was put there by hand.

Source: command-line contract 2, 7; hermes-host 2.3 (profiles share one environment).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from canon_ops.errors import CanonOpsError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.transaction import FileChange, Transaction, digest
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.discovery import HostInstallation, HostNotFound, find_host
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.host_call import OUR_DISTRIBUTION, HostUnusable, installed_distributions
from canon_ops.hermes.keys import KNOWN_KEYS, KeyFile, KnownKey
from canon_ops.hermes.platforms import PLATFORMS, PlatformNames
from canon_ops.hermes.surroundings import canon_paths_from_disk, read_optional, surroundings_from_disk
from canon_ops.keyring.access import Keyring, KeyringProblem
from canon_ops.operate.edit_config import expect_unchanged, refuse_managed
from canon_ops.operate.forget_key import forget_key
from canon_ops.operate.installation import Installation, InterruptedNote, read_installation, record_file
from canon_ops.operate.interrupted import finish_pending
from canon_ops.operate.package.action import clear, preload, take_out
from canon_ops.operate.package.alone import alone_in
from canon_ops.operate.package.by_hand import remove_by_hand
from canon_ops.operate.package.remains import find_remains
from canon_ops.operate.package.resolution import unneeded
from canon_ops.operate.package.store import PackageStore
from canon_ops.operate.platform_files import platform_edits
from canon_ops.operate.prompts import Prompts, Unattended
from canon_ops.operate.remove_key import KeyRemoved, remove_canon_key
from canon_ops.operate.served import loads
from canon_ops.operate.sharing import neighbours, users_of_canon_profile
from canon_ops.operate.taking_back import taken_back, undone
from canon_ops.operate.unseen import restart_step
from canon_ops.operate.writing import Writing, require_consent
from canon_ops.settings.borgee_key import BORGEE_REFERENCE
from canon_ops.settings.credentials import resolve
from canon_ops.settings.dotenv import read_dotenv
from canon_ops.settings.profiles import AgentsFile, KeyReference
from canon_ops.settings.secret import Secret

__all__ = ["UninstallOptions", "UninstallOutcome", "UninstallPlan", "plan_uninstall", "uninstall"]


@dataclass(frozen=True, slots=True)
class UninstallOptions:
    """What the caller decided beforehand.

    Attributes:
        purge: take the credentials too: the platform's variables in ``.env``, the Canon profile that is in force with
            its key in the keyring, and what the history remembers of the keys.
        skip_package: leave the host's packages alone.
        expected: (file, SHA-256) pairs that must still hold.
    """

    platform: PlatformNames = PLATFORMS["canon"]
    python: Path | None = None
    purge: bool = False
    skip_package: bool = False
    expected: Sequence[tuple[Path | None, str]] = ()


@dataclass(frozen=True, slots=True)
class UninstallPlan:
    """What will be done.

    Attributes:
        host: None when there is none any more; the files are taken back all the same.
        removes: distributions that leave the host, ours first.
        keeps_package: why ours stays there; empty when it goes, or is not there.
        changes: files of the home.
        purged: the Canon profile that goes, and its file's change; None without ``--purge`` or when there is none.
        keeps_profile: why the Canon profile in force stays although ``--purge`` was given; empty when it does not.
        unfinished: the distributions that an interrupted command was about; what it left of them by half goes, too.
            None when there is no such command, or when what it left stays as it is.
    """

    home: HermesHome
    options: UninstallOptions
    host: HostInstallation | None
    removes: tuple[str, ...]
    keeps_package: str
    changes: tuple[FileChange, ...]
    purged: tuple[str, FileChange] | None
    keeps_profile: str = ""
    unfinished: tuple[str, ...] | None = None

    @property
    def changed(self) -> bool:
        return bool(self.changes or self.removes or self.purged or self.unfinished is not None)

    @property
    def files(self) -> tuple[FileChange, ...]:
        """Every file that changes, the home's first."""
        return (*self.changes, *((self.purged[1],) if self.purged else ()))

    def sentences(self) -> list[str]:
        said = [f"Hermes profile {self.home.profile_name} ({self.home.path}), chosen by {self.home.how.value}."]
        if self.host is None:
            said.append("Package: no Hermes host is found, so there is nothing to take out of one.")
        elif self.removes:
            said.append(f"Package: {', '.join(self.removes)} leave {self.host.python}.")
        else:
            said.append(f"Package: {self.keeps_package or f'{OUR_DISTRIBUTION} is not there'}.")
        said.append(f"Files: {', '.join(str(one.path) for one in self.changes) or 'nothing to change'}.")
        if self.purged:
            said.append(
                f"Credentials: the Canon profile {self.purged[0]} leaves {self.purged[1].path}, keyring and history."
            )
        elif self.keeps_profile:
            said.append(f"Credentials: {self.keeps_profile}.")
        elif not self.options.purge:
            said.append("Credentials: they stay; --purge takes them too.")
        return said


@dataclass(frozen=True, slots=True)
class UninstallOutcome:
    """What was done; see :class:`~canon_ops.operate.install.InstallOutcome`.

    Attributes:
        left_behind: why a purged key is still somewhere; empty when none is.
    """

    plan: UninstallPlan
    dry_run: bool
    history_id: str | None
    next_steps: tuple[str, ...]
    left_behind: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        return self.plan.changed


def uninstall(
    home: HermesHome,
    environ: Mapping[str, str],
    options: UninstallOptions,
    prompts: Prompts,
    *,
    keyring: Keyring | None = None,
    dry_run: bool = False,
) -> UninstallOutcome:
    """Plan, show, ask, carry out.

    Args:
        keyring: where a purged profile's key may be; None for the one of this environment.

    Raises:
        ConsentMissing: nobody agreed; nothing was changed.
        ManagedHome, RecordDamaged: nothing was changed.
        ConfigSyntaxError, ConfigRefused: a file cannot be edited safely; nothing was changed.
        ChangedUnderUs, LockTimeout: somebody else was at it.
        InstallerFailed: the package could not be taken out; no file has changed.
    """
    if not dry_run:
        finish_pending(home)
    with prompts.progress("Looking at what was installed"):
        plan = plan_uninstall(home, environ, options)
    for sentence in plan.sentences():
        prompts.note(sentence)
    if dry_run or not plan.changed:
        return UninstallOutcome(plan, dry_run, None, () if dry_run else _by_hand(plan))
    require_consent(prompts, f"Take all of this back{', credentials included' if options.purge else ''}?")
    return _carry_out(plan, environ, prompts, keyring or Keyring(environ))


def plan_uninstall(home: HermesHome, environ: Mapping[str, str], options: UninstallOptions) -> UninstallPlan:
    """Everything but doing it; see :func:`uninstall` for the errors."""
    if (managed := refuse_managed(home)) is not None:
        raise managed
    names = options.platform
    record = read_installation(home.path)
    config, env = home.config_file, home.env_file
    with Transaction(home.path, dry_run=True) as files:
        expect_unchanged(files, options.expected, home=home, changing=[config, env])
        files.stage(config, _config_without(files.read(config), record, home, names))
        files.stage(env, _env_without(files.read(env), record, home, options))
        changes = files.changes()
    note = InterruptedNote.read(home.path, record)
    host = _host_if_any(home, environ, options.python, record, note)
    is_about_it = note is not None and host is not None and note.python == str(host.python)
    about = note if is_about_it else None
    removes, reason = _packages_that_go(host, home, environ, record, options, about) if host else ((), "")
    is_settled = note is not None and not reason and (is_about_it or not Path(note.python).exists())
    unfinished = note.names if note is not None and is_settled else None
    purged = _profile_that_goes(home, environ) if options.purge and names.name == "canon" else None
    kept = _why_the_profile_stays(home, environ, purged[0]) if purged else ""
    return UninstallPlan(home, options, host, removes, reason, changes, None if kept else purged, kept, unfinished)


def _config_without(data: bytes | None, record: Installation, home: HermesHome, names: PlatformNames) -> bytes | None:
    steps = record.steps(names.name, home.config_file.name)
    name = str(home.config_file)
    if steps or data is None:
        return taken_back(data, steps, name=name)
    return undone(data, platform_edits(ConfigDocument.parse(data, name), names), name=name)


def _env_without(data: bytes | None, record: Installation, home: HermesHome, options: UninstallOptions) -> bytes | None:
    data = taken_back(data, record.steps(options.platform.name, home.env_file.name), name=str(home.env_file))
    if data is None or not options.purge:
        return data
    document = DotenvDocument.parse(data, str(home.env_file))
    for key in KNOWN_KEYS:
        if key.file is KeyFile.DOTENV and _is_of(key, options):
            document = document.remove(key.name)
    return document.data


def _host_if_any(
    home: HermesHome,
    environ: Mapping[str, str],
    python: Path | None,
    record: Installation,
    note: InterruptedNote | None,
) -> HostInstallation | None:
    """The host that was told, else the one that was changed last, else the one that is found."""
    known = [
        Path(text) for text in (note.python if note else "", record.package.python if record.package else "") if text
    ]
    try:
        return find_host(home.environ(environ), python=python or next((one for one in known if one.exists()), None))
    except (HostNotFound, HostUnusable):
        if python is not None:
            raise
        return None


def _packages_that_go(
    host: HostInstallation,
    home: HermesHome,
    environ: Mapping[str, str],
    record: Installation,
    options: UninstallOptions,
    note: InterruptedNote | None,
) -> tuple[tuple[str, ...], str]:
    """The distributions to take out, or why ours stays.

    Args:
        note: of a killed command that changed this host: what it brought goes as if it had come to its end.
    """
    ours = host.facts.ours
    if ours is None and note is None:
        return (), ""
    by_us = record.package is not None and record.package.by_us and record.package.prefix == str(host.facts.prefix)
    by_us = by_us or (note is not None and OUR_DISTRIBUTION in note.names)
    if options.skip_package:
        return (), f"{ours or OUR_DISTRIBUTION} stays, as asked"
    if ours is None or not ours.is_whole:
        return _what_is_left(host, home, environ, record, note), ""
    if needing := _others_that_enable(home, environ, options.platform):
        return (), f"{ours} stays, because {' and '.join(needing)} still enable a plugin of it"
    if ours.editable:
        return (), f"{ours} stays: it is an editable installation"
    if host.is_running_interpreter and not by_us:
        return (), f"{ours} stays: canon-ops runs from it, and it was put there by hand"
    if host.installer is None:
        return (), f"{ours} stays: nothing here can take it out"
    if host.is_running_interpreter or not by_us:
        return (OUR_DISTRIBUTION,), ""
    return _what_is_left(host, home, environ, record, note), ""


def _what_is_left(
    host: HostInstallation,
    home: HermesHome,
    environ: Mapping[str, str],
    record: Installation,
    note: InterruptedNote | None,
) -> tuple[str, ...]:
    """Ours, if anything of it is there, and what came with it and nobody else needs."""
    installed = installed_distributions(host.python, environ=home.environ(environ))
    is_there = OUR_DISTRIBUTION in installed or bool(find_remains(host, installed, [OUR_DISTRIBUTION]))
    brought = dict.fromkeys([*record.brought, *(note.brought if note else ())])
    others = unneeded(brought.keys() - {OUR_DISTRIBUTION}, installed, host.facts.python, leaving=[OUR_DISTRIBUTION])
    return (*((OUR_DISTRIBUTION,) if is_there else ()), *others)


def _others_that_enable(home: HermesHome, environ: Mapping[str, str], platform: PlatformNames) -> list[str]:
    """Who besides this platform of this home enables a plugin of ours, in words."""
    others = [names for names in PLATFORMS.values() if names.name != platform.name]
    with suppress(CanonOpsError):  # the other platform of this very home: a file that cannot be read enables nothing
        config = read_config(home.config_file)
        here = [f"{names.label} in this Hermes profile" for names in others if loads(config, names)]
        return [*here, *(str(one) for one in neighbours(home, environ) if one.plugins)]
    return [str(one) for one in neighbours(home, environ) if one.plugins]


def _why_the_profile_stays(home: HermesHome, environ: Mapping[str, str], name: str) -> str:
    users = users_of_canon_profile(home, environ, name)
    if not users:
        return ""
    return f"the Canon profile {name} stays, because {' and '.join(map(str, users))} still use it"


def _profile_that_goes(home: HermesHome, environ: Mapping[str, str]) -> tuple[str, FileChange] | None:
    """The Canon profile in force for this home, and agents.json without it."""
    try:
        profile = resolve(surroundings_from_disk(home.path, environ)).profile
    except CanonOpsError:
        return None
    if profile is None:
        return None
    file = canon_paths_from_disk(home.path, environ).agents_file
    with Transaction(file.parent, dry_run=True) as files:
        agents = AgentsFile.parse(files.read(file), file=str(file))
        files.stage(file, agents.without(profile).data)
        return next(((profile, change) for change in files.changes()), None)


def _carry_out(plan: UninstallPlan, environ: Mapping[str, str], prompts: Prompts, keyring: Keyring) -> UninstallOutcome:
    home, names, host = plan.home, plan.options.platform, plan.host
    label = f"uninstall {names.name}"
    alone = alone_in(host, prompts) if host is not None and (plan.removes or plan.unfinished) else nullcontext()
    with alone, Transaction(home.path, label=label, refuse=lambda _path: refuse_managed(home)) as files:
        for change in plan.changes:
            files.expect(change.path, digest(change.before) or "")
            files.stage(change.path, change.after, private=True)
        record = read_installation(home.path, files.read(record_file(home.path)))
        left = _record_left(record, names, package_goes=bool(plan.removes))
        if left != record:
            files.stage(record_file(home.path), left.to_bytes() if left.runs else None, private=True)
        if host is not None and plan.removes:
            if host.is_running_interpreter:
                preload()
            with prompts.progress(f"Taking {', '.join(plan.removes)} out of {host.python}"):
                take_out(host, home.environ(environ), plan.removes)
        if host is not None and plan.unfinished:
            clear(host, home.environ(environ), plan.unfinished)
        direct = _direct_keys(plan, environ) if plan.options.purge else []
        borgee_entry = _borgee_entry(home) if plan.options.purge and names.name == "borgee" else None
        gone = _purged(plan, environ, label, keyring)
        note = InterruptedNote.read(home.path, record) if plan.unfinished is None else None
        history_id = files.commit()
        if note is None:
            InterruptedNote.remove(home.path)
        PackageStore(home.path).prune(left.wheels | (note.wheels if note else frozenset()))
    left_behind = [gone.left_behind] if gone is not None and gone.left_behind else []
    if borgee_entry is not None:
        try:
            keyring.delete(borgee_entry)
        except KeyringProblem as error:
            left_behind.append(f"The keyring still has {borgee_entry.text}: {error.what}")
    for key in direct:
        if history_id in forget_key(Writing(home, environ, label), home.path, key):
            history_id = None
    restart = restart_step(home, environ, changed=plan.changed, start=False, tell=prompts.note)
    return UninstallOutcome(plan, False, history_id, (*restart, *_by_hand(plan)), tuple(left_behind))


def _record_left(record: Installation, names: PlatformNames, *, package_goes: bool) -> Installation:
    """The record without a platform; where the package stays, what came with it is still known."""
    runs = [run for run in record.runs if run.platform != names.name]
    if not any(run.platform for run in runs):
        return Installation()
    if package_goes:
        return Installation(None, tuple(run for run in runs if run.platform))
    kept = (
        replace(run, platform="", steps=()) if run.platform == names.name else run
        for run in record.runs
        if run.platform != names.name or run.before is not None
    )
    return replace(record, runs=tuple(kept))


def _purged(plan: UninstallPlan, environ: Mapping[str, str], label: str, keyring: Keyring) -> KeyRemoved | None:
    """Take the Canon profile in force away whole: entry, keyring, history. Agreed to already.

    While ``.env`` still says where Canon's files are. They have a lock and a history of their own: other homes and
    other programs use them.
    """
    if plan.purged is None:
        return None
    name, change = plan.purged
    writing = Writing(plan.home, environ, label, expected=[(change.path, digest(change.before) or "")])
    return remove_canon_key(writing, name, keyring, Unattended(yes=True), whole=True)


def _direct_keys(plan: UninstallPlan, environ: Mapping[str, str]) -> list[Secret]:
    """The keys that leave ``.env``."""
    env = plan.home.env_file
    if not any(change.path == env for change in plan.changes):
        return []
    secret = {key.name for key in KNOWN_KEYS if key.file is KeyFile.DOTENV and key.secret and _is_of(key, plan.options)}
    entries = read_dotenv(read_optional(env) or b"", file=str(env))
    return [Secret(entry.value) for entry in entries if entry.name in secret and entry.value]


def _borgee_entry(home: HermesHome) -> KeyReference | None:
    """The entry of the keyring that ``.env`` refers to."""
    entries = read_dotenv(read_optional(home.env_file) or b"", file=str(home.env_file))
    told = [entry.value for entry in entries if entry.name == BORGEE_REFERENCE and entry.value]
    return KeyReference.parse(told[-1]) if told else None


def _is_of(key: KnownKey, options: UninstallOptions) -> bool:
    return key.platform == options.platform.name


def _by_hand(plan: UninstallPlan) -> tuple[str, ...]:
    """The command that takes our package out where we did not, and nobody else needs it."""
    host = plan.host
    stays_by_hand = host is not None and host.is_running_interpreter and not plan.removes and plan.keeps_package
    if host is None or not stays_by_hand or "put there by hand" not in plan.keeps_package:
        return ()
    return (remove_by_hand(host, [OUR_DISTRIBUTION]),)
