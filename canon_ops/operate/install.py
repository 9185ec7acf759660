"""Making a Hermes host run one of our platforms: find it, check it, plan, show, write, verify.

Everything that can say no says it before anything is written: an unaudited host, a home that a package manager owns,
another distribution that owns our import packages, a plugin that does not import there, a file that cannot be edited.
The plan holds the very bytes that will be written, and the commit refuses when a file is no longer the one that the
plan was made from; so what was shown is what is done, in one transaction or not at all.

:func:`install` is the whole; :func:`plan_install` and :func:`carry_out` are its halves, for callers that show more.

Source: command-line contract 7; decisions C3, H2, N1; product page of Canon, "Install".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from canon_ops.errors import RefusedError, UsageError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.transaction import FileChange, Transaction, digest
from canon_ops.hermes.audited import AuditedHost, Refused, audit
from canon_ops.hermes.config_file import HermesConfig
from canon_ops.hermes.discovery import HostInstallation, find_host
from canon_ops.hermes.gateway import GatewayStateDamaged, read_state
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.host_call import OUR_DISTRIBUTION, Distribution, discover_plugins, try_imports
from canon_ops.hermes.platforms import PLATFORMS, PlatformNames
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.operate.edit_config import expect_unchanged, refuse_managed
from canon_ops.operate.package import install_by_hand, remove_by_hand
from canon_ops.operate.prompts import Prompts, Question
from canon_ops.settings.credentials import is_configured

__all__ = [
    "Access",
    "ForeignPlugin",
    "HostRefused",
    "InstallNotVerified",
    "InstallOptions",
    "InstallOutcome",
    "InstallPlan",
    "PackageMissing",
    "PluginDenied",
    "PluginUnusable",
    "carry_out",
    "install",
    "plan_install",
]

_DENY_LIST = ("plugins", "disabled")
_ALLOW_LIST = ("plugins", "enabled")
_TRUE = frozenset({"true", "1", "yes"})  # what the host takes for true in an access variable


class HostRefused(RefusedError):
    """We do not answer for this Hermes, this Python or this platform."""

    code = "host_unaudited"


class ForeignPlugin(RefusedError):
    """Another distribution owns our import packages in that interpreter; pip would overwrite silently."""

    code = "plugin_foreign"


class PackageMissing(RefusedError):
    """We are not in the interpreter that runs Hermes."""

    code = "package_missing"


class PluginUnusable(RefusedError):
    """We are there, but the plugin does not import or has nothing to register."""

    code = "plugin_unusable"


class PluginDenied(RefusedError):
    """The operator put the plugin on the deny list; only their consent takes it off."""

    code = "plugin_denied"


class InstallNotVerified(RefusedError):
    """Everything is written, and Hermes still does not load the plugin."""

    code = "install_not_verified"


class Access(Enum):
    """What happens to the question of who may start turns."""

    KEPT = "kept"  # a switch or a list is there already, and no option speaks against it
    EVERYBODY = "everybody"  # the switch is set: everybody whom Canon lets through
    LISTED = "listed"  # a list of people is set
    OPEN = "open"  # neither is set: the platform's own rules are the only ones


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """What the caller decided beforehand.

    Attributes:
        python: the host's interpreter; None to find it.
        skip_package: leave the package and the import alone; edit the configuration only.
        allow_all_users: the access switch; None leaves it to the first-run rule.
        allowed_users: ids of the people who may start turns, instead of everybody.
        consent: do what would otherwise be asked, the deny list included.
        expected: (file, SHA-256) pairs that must still hold; see ``expect_unchanged``.
    """

    platform: PlatformNames = PLATFORMS["canon"]
    python: Path | None = None
    skip_package: bool = False
    allow_all_users: bool | None = None
    allowed_users: tuple[str, ...] = ()
    consent: bool = False
    expected: Sequence[tuple[Path | None, str]] = ()


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """What will be done, complete.

    Attributes:
        package: our distribution in the host; None when it was not looked for.
        access: what becomes of the access policy.
        asks_access: nobody decided it yet, and the first-run rule did.
        undenies: the plugin leaves the deny list.
        changes: the files that change, with old and new bytes.
    """

    home: HermesHome
    host: HostInstallation
    audited: AuditedHost
    options: InstallOptions
    package: Distribution | None
    access: Access
    asks_access: bool
    undenies: bool
    changes: tuple[FileChange, ...]

    def sentences(self) -> list[str]:
        """The plan in words, one fact a sentence; the diffs come on top."""
        names, host = self.options.platform, self.host
        said = [
            f"Hermes {host.version} on Python {host.facts.python} ({host.python}), found through {host.how.value}; "
            f"audited by {self.audited.evidence.value}.",
            f"Hermes profile {self.home.profile_name} ({self.home.path}), chosen by {self.home.how.value}.",
            f"Package: {self.package} is there and imports; nothing to do." if self.package else "Package: left alone.",
        ]
        if self.undenies:
            said.append(f"{names.plugin} leaves plugins.disabled.")
        said.append(_ACCESS_SENTENCES[self.access].format(label=names.label, variable=names.allow_all_variable))
        said.append(f"Files: {', '.join(str(c.path) for c in self.changes) if self.changes else 'nothing to change'}.")
        return said


_ACCESS_SENTENCES = {
    Access.KEPT: "Access: the setting that is there stays.",
    Access.EVERYBODY: "Access: {variable}=true, so everybody whom {label} itself lets through may start turns.",
    Access.LISTED: "Access: only the people on the list may start turns.",
    Access.OPEN: "Access: no switch and no list, so {label}'s own rules alone decide; --allowed-users IDS sets a list.",
}


@dataclass(frozen=True, slots=True)
class InstallOutcome:
    """What was done.

    Attributes:
        history_id: what ``undo`` takes; None for a dry run and when nothing had to change.
        verified: what the host's own loader confirmed afterwards.
        next_steps: commands to paste, in order; empty when nothing is left to do.
    """

    plan: InstallPlan
    dry_run: bool
    history_id: str | None
    verified: tuple[str, ...]
    next_steps: tuple[str, ...]

    @property
    def changed(self) -> bool:
        return bool(self.plan.changes)


def install(
    home: HermesHome,
    environ: Mapping[str, str],
    options: InstallOptions,
    prompts: Prompts,
    *,
    dry_run: bool = False,
    mask: Callable[[str], str] | None = None,
    show_diff: bool = False,
) -> InstallOutcome:
    """Plan, ask what is open, show, carry out, verify.

    Args:
        mask: hides secrets in each line of a shown diff.
        show_diff: tell the diffs too; with a person at the terminal they are told anyway before the question.

    Raises:
        HostRefused, ForeignPlugin, PackageMissing, PluginUnusable, PluginDenied, ManagedHome: nothing was written.
        HostNotFound, HostUnusable: there is no host, or it does not answer.
        ConfigSyntaxError, ConfigRefused: a file cannot be edited safely.
        ChangedUnderUs, LockTimeout: somebody else was at it.
        InstallNotVerified: all is written, but the host does not load the plugin.
    """
    with prompts.progress("Looking at the host"):
        host = find_host(home.environ(environ), python=options.python)
        try:
            plan = plan_install(home, environ, options, host=host)
            denied = None
        except PluginDenied as exc:
            denied = exc
    if denied is not None:
        question = Question(f"{denied.what} Take it off that list?", option="--yes")
        if not prompts.confirm(question, default=False):
            raise denied
        plan = plan_install(home, environ, replace(options, consent=True), host=host)
    if plan.asks_access:
        label, switch = options.platform.label, options.platform.allow_all_variable
        question = Question(
            f"Set {switch}=true, so that everybody whom {label} lets through may start turns?",
            option="--no-allow-all-users",
            help=f"{label} still enforces its own rules. For a list of people instead: --allowed-users IDS.",
        )
        if not prompts.confirm(question, default=True):
            plan = plan_install(home, environ, replace(plan.options, allow_all_users=False), host=host)
    for sentence in plan.sentences():
        prompts.note(sentence)
    if show_diff:
        for change in plan.changes:
            prompts.note(change.diff(mask=mask))
    if dry_run:
        return InstallOutcome(plan, True, None, (), ())
    return carry_out(plan, environ, prompts)


def plan_install(
    home: HermesHome,
    environ: Mapping[str, str],
    options: InstallOptions,
    *,
    host: HostInstallation | None = None,
) -> InstallPlan:
    """Everything but writing; see :func:`install` for the errors.

    Args:
        host: when it has been found already.
    """
    if options.allow_all_users and options.allowed_users:
        raise UsageError("Either everybody may start turns or a list of people: give one of the two options.")
    if (managed := refuse_managed(home)) is not None:
        raise managed
    found = host or find_host(home.environ(environ), python=options.python)
    verdict = audit(found.version, found.facts.python, found.facts.platform)
    if isinstance(verdict, Refused):
        raise HostRefused(verdict.sentence, fix=verdict.fix)
    package = None if options.skip_package else _usable_package(found, home, environ, options.platform)
    with Transaction(home.path, dry_run=True) as files:
        config, env = home.config_file, home.env_file
        expect_unchanged(files, options.expected, home=home, changing=[config, env])
        before = files.read(config)
        document = ConfigDocument.parse(before or b"", str(config))
        undenies = _is_denied(document, options.platform.plugin)
        if undenies and not options.consent:
            raise PluginDenied(
                f"plugins.disabled in {config} names {options.platform.plugin}, so Hermes never loads it.",
                fix=home.own_command(f"install {options.platform.name} --yes"),
                file=str(config),
            )
        files.stage(config, _with_platform(document, options.platform).data, private=True)
        access, asks, env_data = _with_access(files.read(env), home, environ, options)
        if env_data is not None:
            files.stage(env, env_data, private=True)
        changes = files.changes()
    return InstallPlan(home, found, verdict.host, options, package, access, asks, undenies, changes)


def carry_out(plan: InstallPlan, environ: Mapping[str, str], prompts: Prompts) -> InstallOutcome:
    """Write what the plan holds, ask the host whether it loads the plugin now, and say what comes next.

    Raises:
        ChangedUnderUs: a file is not what the plan was made from; nothing was written.
        InstallNotVerified: written, but not loaded.
    """
    home, names = plan.home, plan.options.platform
    history_id = None
    if plan.changes:
        with Transaction(home.path, label=f"install {names.name}", refuse=lambda _path: refuse_managed(home)) as files:
            for change in plan.changes:
                files.expect(change.path, digest(change.before) or "")
                files.stage(change.path, change.after, private=True)
            history_id = files.commit()
    verified: tuple[str, ...] = ()
    if not plan.options.skip_package:
        with prompts.progress("Asking Hermes to load the plugin"):
            verified = _verify(plan, environ)
    return InstallOutcome(plan, False, history_id, verified, _next_steps(plan, environ))


def _usable_package(
    host: HostInstallation, home: HermesHome, environ: Mapping[str, str], names: PlatformNames
) -> Distribution:
    """Our distribution in the host, after it has been imported there."""
    if foreign := host.facts.foreign:
        told = " and ".join(map(str, foreign))
        raise ForeignPlugin(
            f"{told} in {host.python} owns import packages of {OUR_DISTRIBUTION}; both cannot be there.",
            fix=remove_by_hand(host, [one.name for one in foreign]),
        )
    ours = host.facts.ours
    if ours is None:
        raise PackageMissing(
            f"{OUR_DISTRIBUTION} is not installed in {host.python}, which runs Hermes {host.version}.",
            fix=install_by_hand(host),
        )
    outcome = try_imports(host.python, [names.package], environ=home.environ(environ))[names.package]
    if outcome.error is not None or not outcome.registers:
        why = outcome.error or "it has no register function"
        raise PluginUnusable(
            f"{names.package} does not work in {host.python}: {why}",
            fix=install_by_hand(host),
            file=outcome.place[0] if outcome.place else None,
            line=outcome.place[1] if outcome.place else None,
        )
    return ours


def _is_denied(document: ConfigDocument, plugin: str) -> bool:
    found = document.find(_DENY_LIST)
    return found is not None and isinstance(found.value, list) and plugin in found.value


def _with_platform(document: ConfigDocument, names: PlatformNames) -> ConfigDocument:
    """The document with the plugin enabled, not denied, and the platform switched on where the host looks for it."""
    document = document.add(_ALLOW_LIST, names.plugin)
    if _is_denied(document, names.plugin):
        document = document.remove(_DENY_LIST, names.plugin)
    if HermesConfig(Path(document.file), document.value).platform_switch(names.name) is True:
        return document
    top = document.find((names.name,))
    beats_platforms = top is not None and isinstance(top.value, dict) and "enabled" in top.value
    prefix: tuple[str, ...] = () if beats_platforms else ("platforms",)
    return document.set((*prefix, names.name, "enabled"), True)


def _with_access(
    data: bytes | None, home: HermesHome, environ: Mapping[str, str], options: InstallOptions
) -> tuple[Access, bool, bytes | None]:
    """What becomes of access, whether somebody should be asked first, and the new ``.env`` (None: as it is).

    An allowlist counts only while the switch is off, so a list that is asked for turns the switch off.
    """
    switch, people = options.platform.allow_all_variable, options.platform.allowlist_variable
    if switch is None or people is None:
        return Access.KEPT, False, None
    surroundings = surroundings_from_disk(home.path, environ, platform={})
    everyone, listed = surroundings.find(switch), surroundings.find(people)
    is_open = everyone is not None and str(everyone.value).lower() in _TRUE
    is_decided = bool(everyone and everyone.value) or bool(listed and listed.value)
    document = DotenvDocument.parse(data or b"", str(home.env_file))
    if options.allowed_users:
        document = document.set(people, ",".join(options.allowed_users))
        return Access.LISTED, False, (document.set(switch, "false") if is_open else document).data
    if options.allow_all_users is False:
        state = Access.LISTED if listed and listed.value else Access.OPEN
        return state, False, document.set(switch, "false").data if is_open else None
    if options.allow_all_users is None and is_decided:
        return Access.KEPT, False, None
    return Access.EVERYBODY, options.allow_all_users is None, document.set(switch, "true").data


def _verify(plan: InstallPlan, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Ask the host's own loader; what it says is believed over everything that we checked."""
    names, host = plan.options.platform, plan.host
    row = discover_plugins(host.python, plan.home, environ=plan.home.environ(environ)).get(names.plugin)
    if row is not None and row.enabled and row.error is None:
        return (f"Hermes loads {names.plugin} from its {row.source}.",)
    why = row.error if row is not None and row.error else "it is not in its list of plugins"
    raise InstallNotVerified(
        f"The configuration is written, but Hermes does not load {names.plugin}: {why}",
        fix=plan.home.own_command("doctor --area plugin"),
    )


def _next_steps(plan: InstallPlan, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What is left: a credential, a restart of a gateway that still runs on the old files, or a first start."""
    home = plan.home
    steps = []
    if not is_configured(surroundings_from_disk(home.path, environ)):
        steps.append(home.own_command(f"setup {plan.options.platform.name}"))
    try:
        state = read_state(home)
    except GatewayStateDamaged:
        state = None
    if state is None or not state.is_alive:
        steps.append(home.command("gateway run"))
    elif plan.changes:
        steps.append(home.command("gateway restart"))
    return tuple(steps)
