"""Planning an installation: everything that can say no says it here, and nothing is written.

The plan holds the very bytes that will be written and the very wheel that will be put into the host, so what is shown
is what is done. Source: command-line contract 7; decisions C3, H2, L5, N1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from canon_ops.errors import RefusedError, UsageError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.transaction import FileChange, Transaction
from canon_ops.hermes.audited import AuditedHost, Evidence, Refused
from canon_ops.hermes.discovery import HostInstallation, find_host
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.host_call import try_imports
from canon_ops.hermes.platforms import PLATFORMS, PlatformNames
from canon_ops.hermes.surroundings import read_optional, surroundings_from_disk
from canon_ops.operate.edit_config import expect_unchanged, refuse_managed
from canon_ops.operate.installation import InterruptedNote, read_installation
from canon_ops.operate.package.by_hand import install_by_hand
from canon_ops.operate.package.plan import PackagePlan, plan_package
from canon_ops.operate.platform_files import Access, AccessWish, is_denied, with_access, with_platform
from canon_ops.operate.taking_back import Edit, FileStep, step_of

__all__ = [
    "HostRefused",
    "InstallOptions",
    "InstallPlan",
    "PluginDenied",
    "PluginUnusable",
    "audited_host",
    "file_steps",
    "plan_install",
    "plan_usable_package",
    "unfinished_in",
]

_EVIDENCE = {
    Evidence.RUN: "this combination was tried with {label}",
    Evidence.DOCUMENT: "this combination was compared on paper with one that was tried",
}
DENIED, FOREIGN = "plugin_denied", "plugin_foreign"


class HostRefused(RefusedError):
    """We do not answer for this Hermes, this Python or this platform."""

    code = "host_unaudited"


class PluginUnusable(RefusedError):
    """We are there, but the plugin does not import or has nothing to register."""

    code = "plugin_unusable"


class PluginDenied(RefusedError):
    """The operator put the plugin on the deny list; only their consent takes it off."""

    code = DENIED


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """What the caller decided beforehand.

    Attributes:
        python: the host's interpreter; None to find it.
        source: what to put there: a wheel, a folder, a name; None for the running version.
        skip_package: leave the package and the import alone; edit the configuration only.
        package_for: leave every file alone; the package only, on behalf of these platforms. ``platform`` is then no
            more than a name in hints.
        allow_all_users: the access switch; None leaves it to the first-run rule.
        allowed_users: ids of the people who may start turns, instead of everybody.
        consents: codes of the refusals that are waived: the deny list, a foreign distribution.
        expected: (file, SHA-256) pairs that must still hold; see ``expect_unchanged``.
    """

    platform: PlatformNames = PLATFORMS["canon"]
    python: Path | None = None
    source: str | None = None
    skip_package: bool = False
    package_for: tuple[PlatformNames, ...] = ()
    allow_all_users: bool | None = None
    allowed_users: tuple[str, ...] = ()
    consents: frozenset[str] = frozenset()
    expected: Sequence[tuple[Path | None, str]] = ()

    @property
    def serves(self) -> tuple[PlatformNames, ...]:
        """The platforms whose plugins have to work in the host afterwards."""
        return self.package_for or (self.platform,)

    def wish(self, *, is_first: bool) -> AccessWish:
        return AccessWish(self.allow_all_users, self.allowed_users, is_first)

    def consenting(self, *codes: str) -> InstallOptions:
        return replace(self, consents=self.consents | {*codes})


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """What will be done, complete.

    Attributes:
        package: what happens to our distribution; None when it was not looked for.
        access: what becomes of the access policy.
        asks_access: nobody decided it yet, and the first-run rule did.
        undenies: the plugin leaves the deny list.
        changes: the files that change, with old and new bytes.
        edits: the same in words, by the file's path.
    """

    home: HermesHome
    host: HostInstallation
    audited: AuditedHost
    options: InstallOptions
    package: PackagePlan | None
    access: Access
    asks_access: bool
    undenies: bool
    changes: tuple[FileChange, ...]
    edits: Mapping[Path, tuple[Edit, ...]]

    @property
    def changed(self) -> bool:
        return bool(self.changes) or (self.package is not None and self.package.is_change)

    def config_after(self) -> bytes | None:
        """The bytes of config.yaml as they will be."""
        planned = [change.after for change in self.changes if change.path == self.home.config_file]
        if planned:
            return planned[0]
        return read_optional(self.home.config_file)

    def sentences(self) -> list[str]:
        """The plan in words, one fact a sentence; the diffs come on top."""
        names, host = self.options.platform, self.host
        said = [
            f"Hermes {host.version} on Python {host.facts.python} ({host.python}), found through {host.how.value}; "
            f"{_EVIDENCE[self.audited.evidence].format(label=self.options.platform.label)}.",
            f"Hermes profile {self.home.profile_name} ({self.home.path}), chosen by {self.home.how.value}.",
            *(self.package.sentences() if self.package else ["Package: left alone."]),
        ]
        if self.options.package_for:
            labels = " and ".join(one.label for one in self.options.package_for)
            return [*said, f"Files: no setting is touched; the package is for {labels}."]
        if self.undenies:
            said.append(f"{names.plugin} leaves plugins.disabled.")
        if names.allow_all_variable is None:
            said.append(f"Access: {names.label} alone decides whom its agent hears.")
        else:
            said.append(_ACCESS_SENTENCES[self.access].format(label=names.label, variable=names.allow_all_variable))
        said.append(f"Files: {', '.join(str(c.path) for c in self.changes) if self.changes else 'nothing to change'}.")
        return said


_ACCESS_SENTENCES = {
    Access.KEPT: "Access: the setting that is there stays.",
    Access.EVERYBODY: "Access: {variable}=true, so everybody whom {label} itself lets through may start turns.",
    Access.LISTED: "Access: only the people on the list may start turns.",
    Access.OPEN: "Access: no switch and no list, so {label}'s own rules alone decide; --allowed-users IDS sets a list.",
}


def plan_install(
    home: HermesHome,
    environ: Mapping[str, str],
    options: InstallOptions,
    *,
    host: HostInstallation | None = None,
    package: PackagePlan | None = None,
) -> InstallPlan:
    """Everything but writing.

    Args:
        host, package: when they have been found already.

    Raises:
        HostRefused, ManagedHome, PluginDenied, PluginUnusable, HostNotFound, HostUnusable, and whatever
        :func:`plan_package` and the editors of the two files raise.
    """
    if options.allow_all_users and options.allowed_users:
        raise UsageError(
            "Either everybody may start turns or a list of people, not both.",
            fix="leave out --allow-all-users or --allowed-users",
        )
    if options.platform.allow_all_variable is None and (options.allow_all_users is not None or options.allowed_users):
        raise UsageError(
            f"{options.platform.label} alone decides whom its agent hears; there is no switch and no list for that.",
            fix="leave out --allow-all-users and --allowed-users",
        )
    if (managed := refuse_managed(home)) is not None:
        managed.fix = _declared(home, options.platform)
        raise managed
    found, audited = audited_host(home, environ, options.python, host=host)
    if package is None and not options.skip_package:
        package = plan_usable_package(found, home, environ, options)
    if options.package_for:
        return InstallPlan(home, found, audited, options, package, Access.KEPT, False, False, (), {})
    with Transaction(home.path, dry_run=True) as files:
        config, env = home.config_file, home.env_file
        expect_unchanged(files, options.expected, home=home, changing=[config, env])
        document = ConfigDocument.parse(files.read(config) or b"", str(config))
        undenies = is_denied(document, options.platform.plugin)
        if undenies and DENIED not in options.consents:
            raise PluginDenied(
                f"plugins.disabled in {config} names {options.platform.plugin}, so Hermes never loads it.",
                fix=home.own_command(f"install {options.platform.name} --yes"),
                file=str(config),
            )
        after, config_edits = with_platform(document, options.platform)
        files.stage(config, after.data, private=True)
        around = surroundings_from_disk(home.path, environ, platform={})
        access = with_access(
            DotenvDocument.parse(files.read(env) or b"", str(env)),
            around,
            options.platform,
            options.wish(is_first=not read_installation(home.path).has(options.platform.name)),
        )
        if access.document is not None:
            files.stage(env, access.document.data, private=True)
        changes = files.changes()
    edits = {config: config_edits, env: access.edits}
    return InstallPlan(
        home, found, audited, options, package, access.access, access.is_open_question, undenies, changes, edits
    )


def _declared(home: HermesHome, names: PlatformNames) -> str:
    """What a person declares instead, where the home is made from declarations."""
    switch = f"{names.name}.enabled" if names.has_block else f"platforms.{names.name}.enabled"
    access = f"{names.allow_all_variable} or {names.allowlist_variable} in the environment, "
    return (
        f"in the configuration of {home.managed_by}: add {names.plugin} to plugins.enabled, set "
        f"{switch} to true, {access if names.allow_all_variable else ''}"
        "and the package among the Python packages of Hermes; then rebuild"
    )


def audited_host(
    home: HermesHome, environ: Mapping[str, str], python: Path | None, *, host: HostInstallation | None = None
) -> tuple[HostInstallation, AuditedHost]:
    """The host of a home, and the row that answers for it.

    Raises:
        HostRefused: none does.
        HostNotFound, HostUnusable: there is no host, or it does not answer.
    """
    found = host or find_host(home.environ(environ), python=python)
    verdict = found.audit()
    if isinstance(verdict, Refused):
        raise HostRefused(verdict.sentence, fix=verdict.fix)
    return found, verdict.host


def plan_usable_package(
    host: HostInstallation, home: HermesHome, environ: Mapping[str, str], options: InstallOptions
) -> PackagePlan:
    """The package plan; a package that would stay is imported in the host first, and put there anew when it fails.

    Raises:
        PluginUnusable: it fails, and nothing here can replace it.
        and as :func:`plan_package`.
    """
    plan_for = partial(
        plan_package,
        host,
        environ,
        source=options.source,
        consent=FOREIGN in options.consents,
        consent_command=home.own_command(f"install {options.platform.name} --yes"),
        unfinished=unfinished_in(host, home),
    )
    plan = plan_for()
    if plan.is_change:
        return plan
    packages = [names.package for names in options.serves]
    outcomes = try_imports(host.python, packages, environ=home.environ(environ))
    broken = [name for name in packages if not (outcomes[name].ok and outcomes[name].registers)]
    if not broken:
        return plan
    if plan.replaceable:
        return plan_for(anew=True)
    package, outcome = broken[0], outcomes[broken[0]]
    why = outcome.error or "it has no register function"
    raise PluginUnusable(
        f"{package} does not work in {host.python}: {why}",
        fix=install_by_hand(host),
        file=outcome.place[0] if outcome.place else None,
        line=outcome.place[1] if outcome.place else None,
    )


def unfinished_in(host: HostInstallation, home: HermesHome) -> tuple[str, ...]:
    """The distributions that an interrupted command of this home was about, when this is the host that it changed.

    Raises:
        RecordDamaged: the record of the installation cannot be read.
    """
    note = InterruptedNote.read(home.path, read_installation(home.path))
    return note.names if note is not None and note.python == str(host.python) else ()


def file_steps(
    changes: Sequence[FileChange], edits: Mapping[Path, tuple[Edit, ...]], home: HermesHome
) -> tuple[FileStep, ...]:
    """The notes from which the changes can be taken back."""
    return tuple(
        step_of(change.path.name, change.before, change.after, edits.get(change.path, ()))
        for change in changes
        if change.after is not None and change.path.parent == home.path
    )
