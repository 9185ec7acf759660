"""``canon-ops profile``: the Canon profiles of this user, and which Hermes profile uses which."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Diff, Fields, Line, Mark, Raw, Result, Table
from canon_ops.cli.session import WriteOptions
from canon_ops.cli.writer_view import diff_of, first_line
from canon_ops.hermes.surroundings import canon_paths_from_disk
from canon_ops.operate.bind_profile import Bound, bind_profile, unbind_profile
from canon_ops.operate.cancel_registration import cancel_registration
from canon_ops.operate.canon_profiles import NoSuchProfile, ProfileReport, list_profiles
from canon_ops.operate.carry_profiles import Exported, Imported, export_profiles, import_profiles
from canon_ops.operate.migrate_profile import Migrated, migrate_profile
from canon_ops.operate.setup_answers import SetupAnswers
from canon_ops.operate.unseen import restart_notice
from canon_ops.runtime.clock import SystemClock
from canon_ops.settings.environments import ENVIRONMENTS

__all__ = [
    "bind_command",
    "cancel_command",
    "export_command",
    "import_command",
    "list_command",
    "migrate_command",
    "show_command",
    "unbind_command",
]

_COLUMNS = ("profile", "agent", "name", "environment", "key", "Hermes profiles", "problems")


@dataclass(frozen=True, slots=True)
class ProfileList:
    """``data`` of ``canon-ops.profile.list/1``."""

    profiles: tuple[ProfileReport, ...]


@dataclass(frozen=True, slots=True)
class BindReport:
    """``data`` of ``canon-ops.profile.bind/1`` and ``canon-ops.profile.unbind/1``.

    Attributes:
        removed: what stood in the way, by its name in its file.
        overridden_by: places that still beat it.
        restart: what makes a running gateway read the change; null when none runs.
    """

    canon_profile: str | None
    changed: bool
    removed: tuple[str, ...]
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    overridden_by: tuple[str, ...]
    restart: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class MigrateReport:
    """``data`` of ``canon-ops.profile.migrate/1``.

    Attributes:
        added: the fields that the profile lacked.
    """

    canon_profile: str
    environment: str
    agent_id: str
    agent_name: str
    changed: bool
    added: tuple[str, ...]
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class ExportReport:
    """``data`` of ``canon-ops.profile.export/1``.

    Attributes:
        file: null when the document went to stdout.
        document: the exported text itself, when it went there.
    """

    file: Path | None
    profiles: tuple[str, ...]
    with_secrets: bool
    document: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class ImportReport:
    """``data`` of ``canon-ops.profile.import/1``.

    Attributes:
        keyless: profiles that need ``setup canon`` before they can be used.
    """

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: tuple[str, ...]
    keyless: tuple[str, ...]
    changed: bool
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class CancelReport:
    """``data`` of ``canon-ops.profile.cancel/1``.

    Attributes:
        was_due: the step that came next: register, poll or acknowledge.
        request_id: what stays with Canon; null when nothing is known to have been sent.
        loses: what is lost, in a sentence.
    """

    canon_profile: str
    was_due: str
    request_id: str | None
    environment: str | None
    loses: str
    changed: bool
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    dry_run: bool


@declare("profile list", data=ProfileList, examples=("canon-ops profile list", "canon-ops profile list --json"))
def list_command(context: Context) -> Result:
    """List the Canon profiles, with agent, environment, storage, problems and the Hermes profiles that use them."""
    found = list_profiles(context.home, context.environ)
    if not found:
        return Result(ProfileList(()), (Line("There are no Canon profiles.", for_people_only=True),))
    rows = [
        (
            each.name,
            each.agent_id or "",
            each.agent_name or "",
            each.environment_id or "",
            each.storage,
            ", ".join(each.hermes_profiles),
            " ".join(each.problems),
        )
        for each in found
    ]
    used = next((each.name for each in found if each.in_use), None)
    return Result(ProfileList(found), (Table(_COLUMNS, rows),), canon_profile=used)


@declare("profile show", data=ProfileReport, examples=("canon-ops profile show ops",))
@click.argument("name")
def show_command(context: Context, name: str) -> Result:
    """Show one Canon profile, its key excepted."""
    found = list_profiles(context.home, context.environ)
    names = tuple(each.name for each in found)
    if name not in names:
        agents_file = canon_paths_from_disk(context.home.path, context.environ).agents_file
        raise NoSuchProfile(name, names, str(agents_file))
    report = found[names.index(name)]
    key = {"file": "in agents.json", "keyring": f"in the keyring, {report.keyring_entry}", "none": "none"}
    pairs = [
        ("profile", report.name),
        ("agent", report.agent_id or ""),
        ("name", report.agent_name or ""),
        ("environment", report.environment_id or ""),
        ("API", report.base_url or ""),
        ("stream", report.stream_url or ""),
        ("client type", report.client_type or "any"),
        ("registered", report.registered_at or ""),
        ("key", key[report.storage]),
        ("stands in", report.source),
        ("Hermes profiles", ", ".join(report.hermes_profiles)),
    ]
    problems = [Line(problem, Mark.WARNING) for problem in report.problems]
    return Result(report, (Fields(pairs), *problems), canon_profile=name)


@declare(
    "profile bind",
    data=BindReport,
    writes=True,
    examples=("canon-ops profile bind ops", "canon-ops profile bind ops --profile work --diff"),
)
@click.argument("name")
def bind_command(context: Context, write: WriteOptions, name: str) -> Result:
    """Make the Hermes profile use a Canon profile, and remove what would override it.

    Sets CANON_AGENT in .env. A key that is set directly, in .env or in config.yaml, goes; when it is in no Canon
    profile, that needs consent. What the environment of the gateway's process overrides is told.
    """
    writing = context.writing(f"profile bind {name}", write)
    return _bound(context, write, bind_profile(writing, name, context.prompts))


@declare("profile unbind", data=BindReport, writes=True, examples=("canon-ops profile unbind --profile work",))
def unbind_command(context: Context, write: WriteOptions) -> Result:
    """Make the Hermes profile name no Canon profile.

    With one Canon profile on the machine that one is used all the same; with several, none is.
    """
    return _bound(context, write, unbind_profile(context.writing("profile unbind", write)))


@declare(
    "profile cancel",
    data=CancelReport,
    writes=True,
    examples=("canon-ops profile cancel ops --dry-run", "canon-ops profile cancel"),
)
@click.argument("name", required=False)
def cancel_command(context: Context, write: WriteOptions, name: str | None) -> Result:
    """Give up a registration with Canon that is not finished, so that nothing waits for it any more.

    Without NAME the only unfinished one is meant. What goes with it is said first. Canon itself has no way to take a
    request back: it stays with its owner until it expires. A Canon profile that exists already stays as it is.
    """
    done = cancel_registration(context.writing("profile cancel", write), name, context.prompts)
    entry, written = done.entry, done.written
    report = CancelReport(
        entry.profile,
        entry.due.value,
        entry.request_id,
        entry.environment_id,
        done.loses,
        written.changed,
        written.files,
        written.diff,
        written.history_id,
        write.dry_run,
    )
    verb = "would be" if write.dry_run else "is"
    view: list[Block] = [
        first_line(context, written),
        Line(f"The registration of the Canon profile {entry.profile} {verb} given up.", Mark.OK),
        Line(done.loses, Mark.INFO),
    ]
    return Result(report, [*view, *diff_of(written, write)])


@declare(
    "profile migrate",
    data=MigrateReport,
    writes=True,
    timeout_s=30.0,
    examples=("canon-ops profile migrate ops --environment canon-prod-v1",),
)
@click.argument("name")
@click.option("--environment", type=click.Choice(list(ENVIRONMENTS)), help="The Canon environment that owns the agent.")
@click.option("--base-url", metavar="URL", help="API of the environment, instead of the packaged one.")
@click.option("--stream-url", metavar="URL", help="Event stream of the environment, instead of the packaged one.")
@click.option("--rtdb-url", metavar="URL", help="Realtime database of the environment, instead of the packaged one.")
@click.option("--firebase-api-key", metavar="TEXT", help="Public web key, instead of the packaged one.")
def migrate_command(
    context: Context, write: WriteOptions, timeout_s: float, name: str, **endpoints: str | None
) -> Result:
    """Bind an older Canon profile to its environment.

    Before anything is written, API and stream answer for the environment, and Canon says that the key is the
    profile's agent's.
    """
    done = migrate_profile(
        context.writing(f"profile migrate {name}", write),
        name,
        SetupAnswers(**endpoints),  # type: ignore[arg-type]  # its options have the names and types of the fields
        context.prompts,
        context.keyring,
        clock=SystemClock(),
        timeout_s=timeout_s,
    )
    return Result(_migrate_report(done, write), _migrate_view(context, done, write), canon_profile=name)


@declare(
    "profile export",
    data=ExportReport,
    writes=True,
    examples=("canon-ops profile export > profiles.json", "canon-ops profile export ops -o ops.json --include-secrets"),
)
@click.argument("names", metavar="[NAME]…", nargs=-1)
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write there instead of stdout.")
@click.option("--include-secrets", is_flag=True, help="Put the keys in, too; into a private file only.")
@click.option("--replace", is_flag=True, help="Overwrite FILE.")
def export_command(
    context: Context,
    write: WriteOptions,
    names: tuple[str, ...],
    output: Path | None,
    include_secrets: bool,
    replace: bool,
) -> Result:
    """Export Canon profiles for another machine; keys only with --include-secrets.

    Without keys the other machine reconnects the same agent with `setup canon`.
    """
    writing = context.writing("profile export", write)
    done = export_profiles(writing, names, context.keyring, to=output, with_secrets=include_secrets, replace=replace)
    report = ExportReport(done.file, done.profiles, done.with_secrets, None if output else done.document, write.dry_run)
    return Result(report, _export_view(context, done, write))


@declare(
    "profile import",
    data=ImportReport,
    writes=True,
    examples=("canon-ops profile import ops.json", "canon-ops profile import ops.json ops --replace --diff"),
)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.argument("names", metavar="[NAME]…", nargs=-1)
@click.option("--replace", is_flag=True, help="Let them take the place of other profiles of the same names.")
def import_command(context: Context, write: WriteOptions, file: Path, names: tuple[str, ...], replace: bool) -> Result:
    """Import Canon profiles from an exported file, or from another agents.json."""
    done = import_profiles(context.writing("profile import", write), file, names, replace=replace)
    written = done.written
    report = ImportReport(
        done.added,
        done.replaced,
        done.unchanged,
        done.keyless,
        written.changed,
        written.files,
        written.diff,
        written.history_id,
        write.dry_run,
    )
    return Result(report, _import_view(context, done, write))


def _bound(context: Context, write: WriteOptions, done: Bound) -> Result:
    written, home = done.written, context.home
    notice = restart_notice(home, context.environ) if written.changed and not write.dry_run else None
    report = BindReport(
        done.canon_profile,
        written.changed,
        done.removed,
        written.files,
        written.diff,
        written.history_id,
        tuple(origin.describe() for origin in done.overridden_by),
        notice,
        write.dry_run,
    )
    verb = "would use" if write.dry_run else "uses"
    what = f"Canon profile {done.canon_profile}" if done.canon_profile else "no Canon profile by name"
    view: list[Block] = [first_line(context, written), Line(f"{home.profile_name} {verb} {what}.", Mark.OK)]
    view += [Line(f"{'Would remove' if write.dry_run else 'Removed'} {name}.", Mark.INFO) for name in done.removed]
    view += [
        Line(f"{each.describe()} still beats this: {each.to_drop()}.", Mark.WARNING) for each in done.overridden_by
    ]
    view += [Line(notice, Mark.WARNING)] if notice else []
    return Result(report, [*view, *diff_of(written, write)], canon_profile=done.canon_profile)


def _migrate_report(done: Migrated, write: WriteOptions) -> MigrateReport:
    written = done.written
    return MigrateReport(
        done.canon_profile,
        done.connection.environment_id,
        done.agent_id,
        done.agent_name,
        written.changed,
        done.added,
        written.files,
        written.diff,
        written.history_id,
        write.dry_run,
    )


def _migrate_view(context: Context, done: Migrated, write: WriteOptions) -> list[Block]:
    view: list[Block] = [first_line(context, done.written)]
    who = f"{done.agent_name} ({done.agent_id}) on {done.connection.environment_id}"
    if not done.written.changed:
        return [*view, Line(f"The Canon profile {done.canon_profile} is complete: {who}.", Mark.OK)]
    verb = "would be" if write.dry_run else "is"
    view.append(Line(f"The Canon profile {done.canon_profile} {verb} bound: {who}.", Mark.OK))
    view.append(Line(f"Added: {', '.join(done.added)}.", Mark.INFO))
    return [*view, *diff_of(done.written, write)]


def _export_view(context: Context, done: Exported, write: WriteOptions) -> list[Block]:
    if done.file is None:
        return [Raw(done.document or "")]
    names = ", ".join(done.profiles) or "no profile"
    verb = "Would export" if write.dry_run else "Exported"
    view: list[Block] = [
        Line(f"Hermes profile {context.home.profile_name}: {done.file}"),
        Line(f"{verb} {names} {'with' if done.with_secrets else 'without'} keys.", Mark.OK),
    ]
    if done.with_secrets:
        view.append(Line("The file holds keys: move it over a safe way, and remove it afterwards.", Mark.WARNING))
    if write.diff and done.document:
        view.append(Diff("".join(f"+{line}\n" for line in done.document.splitlines())))
    return view


def _import_view(context: Context, done: Imported, write: WriteOptions) -> list[Block]:
    view: list[Block] = [first_line(context, done.written)]
    would = "Would import" if write.dry_run else "Imported"
    sentences = {"as new": done.added, "in place of others": done.replaced, "unchanged": done.unchanged}
    view += [Line(f"{would} {', '.join(names)} ({how}).", Mark.OK) for how, names in sentences.items() if names]
    if len(view) == 1:
        view.append(Line("There was nothing to import.", Mark.OK))
    for name in done.keyless:
        fix = context.home.own_command(f"setup canon --canon-profile {name}")
        view.append(Line(f"{name} has no key yet: {fix}", Mark.WARNING))
    return [*view, *diff_of(done.written, write)]
