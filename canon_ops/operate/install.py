"""Making a Hermes host run one of our platforms: plan, ask, show, put the package there, verify, write.

Everything that can say no says it before anything is touched (``install_plan``). Then, under the home's lock: the
package goes into the host; the host's interpreter imports it and its own loader is asked whether it would load it with
the configuration as it *will* be; only then are the files written, in one transaction together with the record of what
was done. When anything on the way fails, the package goes back to what it was and no file has changed.

:func:`install` is the whole; :func:`plan_install` and :func:`carry_out` are its halves, for callers that show more.

Source: command-line contract 7; decisions C3, H2, L5, N1; product page of Canon, "Install".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from canon_ops.errors import RefusedError
from canon_ops.files.transaction import ChangedUnderUs, Transaction, digest
from canon_ops.hermes.config_file import read_config
from canon_ops.hermes.discovery import HostInstallation, find_host
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.host_call import OUR_DISTRIBUTION, discover_plugins, installed_distributions, try_imports
from canon_ops.hermes.platforms import PlatformNames
from canon_ops.operate.dotenv_diff import change_diff
from canon_ops.operate.edit_config import refuse_managed
from canon_ops.operate.heal_config import keep_comments
from canon_ops.operate.install_plan import (
    HostRefused,
    InstallOptions,
    InstallPlan,
    PluginDenied,
    PluginUnusable,
    file_steps,
    plan_install,
    plan_usable_package,
)
from canon_ops.operate.installation import (
    InstalledPackage,
    InterruptedNote,
    Run,
    environment_made_ms,
    read_installation,
    record_file,
)
from canon_ops.operate.interrupted import finish_pending
from canon_ops.operate.package.action import PackageAction
from canon_ops.operate.package.alone import alone_in
from canon_ops.operate.package.plan import ForeignPlugin, PackageMissing, PackagePlan
from canon_ops.operate.package.remains import halves
from canon_ops.operate.package.store import PackageStore, SavedPackage
from canon_ops.operate.package.wheel import PackageAltered
from canon_ops.operate.platform_files import Access
from canon_ops.operate.platform_setup import is_set_up
from canon_ops.operate.prompts import Prompts, Question
from canon_ops.operate.served import loads
from canon_ops.operate.unseen import restart_step
from canon_ops.runtime.clock import Clock, SystemClock

__all__ = [
    "Access",
    "ForeignPlugin",
    "HostRefused",
    "InstallNotVerified",
    "InstallOptions",
    "InstallOutcome",
    "InstallPlan",
    "InterruptedElsewhere",
    "PackageMissing",
    "PluginDenied",
    "PluginUnusable",
    "carry_out",
    "install",
    "plan_install",
]


class InstallNotVerified(RefusedError):
    """The host would not load the plugin; everything was left, or put back, as it was."""

    code = "install_not_verified"


class InterruptedElsewhere(RefusedError):
    """What an interrupted command took out of another host has not been put back yet."""

    code = "install_interrupted"


@dataclass(frozen=True, slots=True)
class InstallOutcome:
    """What was done.

    Attributes:
        history_id: what ``undo`` takes; None for a dry run and when no file had to change.
        verified: what the host confirmed.
        next_steps: commands to paste, in order; empty when nothing is left to do.
    """

    plan: InstallPlan
    dry_run: bool
    history_id: str | None
    verified: tuple[str, ...]
    next_steps: tuple[str, ...]

    @property
    def changed(self) -> bool:
        return self.plan.changed


def install(
    home: HermesHome,
    environ: Mapping[str, str],
    options: InstallOptions,
    prompts: Prompts,
    *,
    dry_run: bool = False,
    mask: Callable[[str], str] | None = None,
    show_diff: bool = False,
    command: str = "install",
) -> InstallOutcome:
    """Plan, ask what is open, show, carry out, verify.

    Args:
        command: how the history and the record call it.
        mask: hides secrets in each line of a shown diff.
        show_diff: tell the diffs among the sentences of the plan.

    Raises:
        HostRefused, ForeignPlugin, PackageMissing, PackageConflict, PluginUnusable, PluginDenied, ManagedHome: it will
            not be done; nothing was changed.
        HostNotFound, HostUnusable, InstallerFailed: the host is missing or does not answer, or its installer fails.
        ConfigSyntaxError, ConfigRefused: a file cannot be edited safely.
        ChangedUnderUs, LockTimeout: somebody else was at it.
        InstallNotVerified: the host does not load the plugin; package and files are as they were.
    """
    if not dry_run:
        finish_pending(home)
    plan = _settled_plan(home, environ, options, prompts, dry_run=dry_run)
    for sentence in plan.sentences():
        prompts.note(sentence)
    if show_diff:
        for change in plan.changes:
            prompts.note(change_diff(change, mask))
    if dry_run:
        return InstallOutcome(plan, True, None, (), ())
    return carry_out(plan, environ, prompts, command=command)


def _settled_plan(
    home: HermesHome, environ: Mapping[str, str], options: InstallOptions, prompts: Prompts, *, dry_run: bool
) -> InstallPlan:
    """The plan after everything in it that is a person's to decide has been asked.

    A rehearsal asks nothing that has a default: it shows what comes of that, and which option says otherwise.
    """
    with prompts.progress("Looking at the host"):
        host = find_host(home.environ(environ), python=options.python)
    while True:
        try:
            with prompts.progress("Planning: what the host has, and what its installer would do"):
                plan = plan_install(home, environ, options, host=host)
            break
        except (ForeignPlugin, PluginDenied) as refused:
            offer = "Replace it?" if isinstance(refused, ForeignPlugin) else "Take it off that list?"
            if not prompts.confirm(Question(f"{refused.what} {offer}", option="--yes"), default=False):
                raise
            options = options.consenting(refused.code)
    if plan.asks_access and dry_run:
        prompts.note("Who may start turns is asked before anything is written; this is the default.")
    elif plan.asks_access:
        label, switch = options.platform.label, options.platform.allow_all_variable
        question = Question(
            f"Set {switch}=true, so that everybody whom {label} lets through may start turns?",
            option="--no-allow-all-users",
            help=f"{label} still enforces its own rules. For a list of people instead: --allowed-users IDS.",
        )
        if not prompts.confirm(question, default=True):
            options = replace(options, allow_all_users=False)
            plan = plan_install(home, environ, options, host=host, package=plan.package)
    return plan


def carry_out(
    plan: InstallPlan,
    environ: Mapping[str, str],
    prompts: Prompts,
    *,
    command: str = "install",
    clock: Clock | None = None,
) -> InstallOutcome:
    """Do what the plan holds, and say what comes next.

    Args:
        command: how the history and the record call it.

    Raises:
        ChangedUnderUs: a file, or the host's packages, are not what the plan was made from; nothing was changed.
        LockTimeout: another command changed the packages of the host, or the files of the home, for too long.
        InstallerFailed, PackageConflict, InstallNotVerified: the host is as it was, no file has changed.
    """
    with ExitStack() as held:
        if plan.package is not None and plan.package.is_change:
            held.enter_context(alone_in(plan.host, prompts))
            plan = _as_the_host_is_now(plan, environ)
        return _carry_out(plan, environ, prompts, command, clock or SystemClock())


def _as_the_host_is_now(plan: InstallPlan, environ: Mapping[str, str]) -> InstallPlan:
    """The plan, or what is left of it when another command has put our package there in the meantime.

    Raises:
        ChangedUnderUs: the packages of the host are others, and not such that ours could stay as it is.
    """
    package, home = plan.package, plan.home
    assert package is not None  # noqa: S101 - the one caller has looked
    child = home.environ(environ)
    now = installed_distributions(plan.host.python, environ=child)
    for half in halves(now, package.unfinished):
        now.pop(half.name)
    if {name: one.version for name, one in now.items()} == {n: one.version for n, one in package.installed.items()}:
        return plan
    host = replace(plan.host, facts=find_host(child, python=plan.host.python).facts)
    again = plan_usable_package(host, home, environ, plan.options)
    if again.is_change:
        raise ChangedUnderUs(
            f"The packages of {host.python} were changed while this was planned; nothing was done.", fix="run it again"
        )
    return replace(plan, host=host, package=again)


def _carry_out(
    plan: InstallPlan, environ: Mapping[str, str], prompts: Prompts, command: str, clock: Clock
) -> InstallOutcome:
    home, serves = plan.home, plan.options.serves
    label = f"{command} {' '.join(names.name for names in serves)}"
    with Transaction(home.path, label=label, clock=clock, refuse=lambda _path: refuse_managed(home)) as files:
        for change in plan.changes:
            files.expect(change.path, digest(change.before) or "")
            files.stage(change.path, change.after, private=True)
        record = read_installation(home.path, files.read(record_file(home.path)))
        store = PackageStore(home.path)
        note = InterruptedNote.read(home.path, record)
        interrupted = _carried_on(note, plan)
        before = InterruptedNote(str(plan.host.python), (), (), label, len(record.runs))
        with _package_changed(plan, environ, store, prompts, before, interrupted) as changed:
            verified = () if plan.options.skip_package else _verify(plan, environ, prompts)
            run = Run(
                label,
                "" if plan.options.package_for else serves[0].name,
                clock.now_ms(),
                before=changed.before,
                brought=changed.brought,
                package_before=record.package,
                steps=file_steps(plan.changes, plan.edits, home),
            )
            package = record.package
            if plan.package is not None:
                package = _in_force(plan.host, plan.package, environ, store, record.package, clock.now_ms())
            after = replace(record, package=package)
            if run.steps or run.before is not None:
                after = after.with_run(run)
            if after != record:
                files.stage(record_file(home.path), after.to_bytes(), private=True)
            history_id = files.commit()
        keep_comments(files, home)
        stays = note is not None and _still_counts(note, plan)
        if not stays:
            InterruptedNote.remove(home.path)
        store.prune(after.wheels | (note.wheels if note is not None and stays else frozenset()))
    return InstallOutcome(plan, False, history_id, verified, _next_steps(plan, environ, prompts))


def _carried_on(note: InterruptedNote | None, plan: InstallPlan) -> InterruptedNote | None:
    """The note of a killed command, when it is about this host; one about an environment that is gone says nothing.

    Raises:
        InterruptedElsewhere: it is about another host, and this command would write over it.
    """
    if note is None or note.python == str(plan.host.python):
        return note
    if plan.package is not None and plan.package.is_change and Path(note.python).exists():
        raise InterruptedElsewhere(
            f"A command was interrupted while it changed the packages of {note.python}; that comes first.",
            fix=plan.home.own_command("rollback"),
        )
    return None


def _still_counts(note: InterruptedNote, plan: InstallPlan) -> bool:
    """Whether a note is still to be dealt with: nobody looked at the package, or that of another host, which exists."""
    return Path(note.python).exists() and (plan.package is None or note.python != str(plan.host.python))


@dataclass(frozen=True, slots=True)
class _Changed:
    """What the package action found and brought; ``before`` is None when there was none."""

    before: tuple[SavedPackage, ...] | None = None
    brought: tuple[str, ...] = ()


@contextmanager
def _package_changed(
    plan: InstallPlan,
    environ: Mapping[str, str],
    store: PackageStore,
    prompts: Prompts,
    note: InterruptedNote,
    interrupted: InterruptedNote | None,
) -> Iterator[_Changed]:
    """Carry out the package plan; when the block fails, take it back.

    A note that a killed command left is carried on: what stood there before the first attempt is what counts.

    Args:
        note: what is kept on the disk meanwhile; it gets what goes and what comes.
    """
    home, package = plan.home.path, plan.package
    if package is None or package.source is None:
        yield _Changed(interrupted.before, interrupted.brought) if interrupted and package else _Changed()
        return
    action = PackageAction(plan.host, plan.home.environ(environ), package, store)
    saved = action.prepare()
    came = [move.name for move in package.moves if move.before is None]
    came += [] if OUR_DISTRIBUTION in package.installed else [OUR_DISTRIBUTION]
    note = replace(note, before=saved, brought=tuple(came))
    note = interrupted.joined(note) if interrupted else note
    note.write(home)
    try:
        with prompts.progress(f"Putting {package.source.wheel} into {plan.host.python}"):
            action.carry_out()
        yield _Changed(note.before, note.brought)
    except BaseException:
        with prompts.progress(f"Putting {plan.host.python} back as it was"):
            action.undo(saved)
        if interrupted is None:
            InterruptedNote.remove(home)
        else:
            interrupted.write(home)
        raise


def _verify(plan: InstallPlan, environ: Mapping[str, str], prompts: Prompts) -> tuple[str, ...]:
    """Import the plugins in the host, and ask the host's own loader about the configuration as it will be.

    A plugin that somebody has switched off is imported and no more: the loader leaves it out, and that is right.
    """
    host, home = plan.host, plan.home
    child = home.environ(environ)
    fix = home.own_command("doctor --area plugin")
    expected = _expected(plan)
    with prompts.progress("Asking Hermes to load the plugin"):
        imports = try_imports(host.python, [names.package for names in plan.options.serves], environ=child)
        for package, imported in imports.items():
            if not imported.ok or not imported.registers:
                why = imported.error or "it has no register function"
                raise InstallNotVerified(f"{package} does not work in {host.python}: {why}", fix=fix)
        rows = discover_plugins(host.python, home, environ=child, config=plan.config_after()) if expected else {}
    for names in expected:
        row = rows.get(names.plugin)
        if row is None or not row.enabled or row.error is not None:
            why = row.error if row is not None and row.error else "it is not in its list of plugins"
            raise InstallNotVerified(f"Hermes would not load {names.plugin}, so nothing was changed: {why}", fix=fix)
    return tuple(f"Hermes loads {names.plugin} from its {rows[names.plugin].source}." for names in expected)


def _expected(plan: InstallPlan) -> list[PlatformNames]:
    """The platforms that the host's loader has to load: of an installation all, else those that are switched on."""
    if not plan.options.package_for:
        return [plan.options.platform]
    config = read_config(plan.home.config_file)
    return [names for names in plan.options.package_for if loads(config, names)]


def _in_force(
    host: HostInstallation,
    plan: PackagePlan,
    environ: Mapping[str, str],
    store: PackageStore,
    recorded: InstalledPackage | None,
    now_ms: int,
) -> InstalledPackage | None:
    """What the record says about our distribution from now on; an unchanged one keeps its entry."""
    same_place = recorded is not None and recorded.prefix == str(host.facts.prefix)
    if plan.source is None and recorded and same_place and recorded.saved.version == plan.version:
        return recorded
    if plan.source is not None:
        wheel = plan.source.wheel
        file = store.keep(wheel)
        saved = SavedPackage(wheel.name, wheel.version, str(file.relative_to(store.folder)))
        sha256, origin = wheel.sha256, f"{plan.source.origin.value} ({plan.source.told})"
    else:
        ours = installed_distributions(host.python, environ=environ)[OUR_DISTRIBUTION]
        try:
            saved = store.save(ours, prefix=host.facts.prefix)
        except PackageAltered:  # somebody's own arrangement, which works; it cannot be brought back, and that is all
            return recorded
        wheel_file = store.place(saved)
        sha256 = digest(wheel_file.read_bytes()) or "" if wheel_file else ""
        origin = "what was there already"
    return InstalledPackage(
        saved=saved,
        sha256=sha256,
        origin=origin,
        python=str(host.python),
        prefix=str(host.facts.prefix),
        environment_made_ms=environment_made_ms(host.facts.prefix),
        hermes=host.version,
        at_ms=now_ms,
        by_us=plan.source is not None,
    )


def _next_steps(plan: InstallPlan, environ: Mapping[str, str], prompts: Prompts) -> tuple[str, ...]:
    """What is left: a credential, a restart of a gateway that still runs on the old state, or a first start."""
    home = plan.home
    unready = [names for names in plan.options.serves if not is_set_up(home, environ, names)]
    steps = [home.own_command(f"setup {names.name}") for names in unready]
    return (*steps, *restart_step(home, environ, changed=plan.changed, start=True, tell=prompts.note))
