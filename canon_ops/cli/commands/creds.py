"""``canon-ops creds``: where keys come from, whether they work, and moving, removing and auditing them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Fields, Item, Line, Mark, Problem, Result, Table
from canon_ops.cli.platform_choice import PLATFORM_CHOICE, platforms_argument
from canon_ops.cli.session import WriteOptions
from canon_ops.cli.writer_view import diff_of, first_line, restart_line
from canon_ops.errors import CanonOpsError, ExitCode, UsageError
from canon_ops.hermes.platforms import row_of
from canon_ops.keyring.access import Keyring
from canon_ops.operate.audit_credentials import AuditFinding, Severity, audit_credentials
from canon_ops.operate.key_test import KeyTested, ask_whose_borgee_key, ask_whose_key
from canon_ops.operate.list_credentials import Credentials, Place, Value, list_credentials
from canon_ops.operate.move_key import KeyMoved, Store, move_borgee_key, move_canon_key
from canon_ops.operate.remove_key import KeyRemoved, remove_borgee_key, remove_canon_key
from canon_ops.operate.unseen import restart_notice
from canon_ops.operate.writing import Writing
from canon_ops.runtime.clock import SystemClock
from canon_ops.settings.secret import SECRET_MARK

__all__ = ["audit_command", "list_command", "move_command", "remove_command", "test_command"]

_PROFILE_OPTION = click.option(
    "--canon-profile", metavar="NAME", help="The Canon profile that is meant, instead of the one in use."
)
_PLATFORM_OPTION = click.option("--platform", type=PLATFORM_CHOICE, help="Whose key.  [default: canon]")


@dataclass(frozen=True, slots=True)
class ValueReport:
    """One value in force; ``value`` is null for a secret."""

    platform: str
    name: str
    value: str | None
    secret: bool
    place: Place
    hides: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class CredentialList:
    """``data`` of ``canon-ops.creds.list/1``."""

    credentials: tuple[ValueReport, ...]


@dataclass(frozen=True, slots=True)
class MoveReport:
    """``data`` of ``canon-ops.creds.move/1``.

    Attributes:
        reference: service and account in the keyring.
        forgotten: history entries that held the key and are gone.
        left_behind: why the old place still has the key; null when it has not.
    """

    platform: Literal["canon", "borgee"]
    canon_profile: str | None
    to: Store
    reference: str
    changed: bool
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    forgotten: tuple[str, ...]
    left_behind: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class RemoveReport:
    """``data`` of ``canon-ops.creds.remove/1``."""

    platform: Literal["canon", "borgee"]
    canon_profile: str | None
    places: tuple[str, ...]
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    forgotten: tuple[str, ...]
    left_behind: str | None
    restart: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class AuditReport:
    """``data`` of ``canon-ops.creds.audit/1``; ``summary`` counts the findings by their status."""

    findings: tuple[AuditFinding, ...]
    summary: dict[str, int]


@declare("creds list", data=CredentialList, examples=("canon-ops creds list", "canon-ops creds list borgee --json"))
@platforms_argument
def list_command(context: Context, platforms: tuple[str, ...]) -> Result:
    """List the values in force, where each comes from, and what it hides."""
    found = list_credentials(context.home, context.environ, platforms)
    problems = tuple(_problem(each) for each in found.problems)
    report = CredentialList(
        tuple(ValueReport(v.platform, v.name, v.value, v.secret, v.place, v.hides) for v in found.values)
    )
    code = found.problems[0].exit_code if found.problems else ExitCode.DONE
    return Result(report, _list_view(context, found), code, problems, found.canon_profile)


@declare(
    "creds test",
    data=KeyTested,
    timeout_s=30.0,
    examples=(
        "canon-ops creds test",
        "canon-ops creds test --canon-profile ops --json",
        "canon-ops creds test --platform borgee",
    ),
)
@_PROFILE_OPTION
@_PLATFORM_OPTION
def test_command(context: Context, timeout_s: float, canon_profile: str | None, platform: str | None) -> Result:
    """Ask the platform who the key is.

    Canon's environment is verified first; the key is shown to nobody else. Borgee is asked by connecting as its agent,
    which would take a running gateway's place: while one has the connection, nothing is asked (exit 5).
    """
    name = _whose(context, platform, canon_profile)
    return row_of(_TESTS, name, "test a key")(context, timeout_s, canon_profile)


def _canon_test(context: Context, timeout_s: float, canon_profile: str | None) -> Result:
    with context.progress("Asking Canon whose key it is"):
        done = ask_whose_key(
            context.home, context.environ, canon_profile, context.keyring, clock=SystemClock(), timeout_s=timeout_s
        )
    pairs = [
        ("agent", _agent(done)),
        ("environment", str(done.environment_id)),
        ("key", done.origin),
        ("Canon profile", done.canon_profile or "none"),
    ]
    view = (Line("Canon takes the key.", Mark.OK), Fields(pairs))
    return Result(done, view, canon_profile=done.canon_profile)


def _borgee_test(context: Context, timeout_s: float, _canon_profile: str | None) -> Result:
    from borgee_hermes.introduction import who_is  # with the websocket behind it

    with context.progress("Asking Borgee whose key it is"):
        asking = who_is(context.home, context.environ, timeout_s=timeout_s)
        done = ask_whose_borgee_key(context.home, context.environ, context.keyring, who_is=asking)
    pairs = [("agent", _agent(done)), ("server", done.base_url), ("key", done.origin)]
    return Result(done, (Line("Borgee takes the key.", Mark.OK), Fields(pairs)))


_TESTS: Mapping[str, Callable[[Context, float, str | None], Result]] = {"canon": _canon_test, "borgee": _borgee_test}


def _agent(done: KeyTested) -> str:
    return f"{done.agent_name} ({done.agent_id})" if done.agent_name else str(done.agent_id)


@declare(
    "creds move",
    data=MoveReport,
    writes=True,
    examples=("canon-ops creds move --to keyring", "canon-ops creds move --to file --canon-profile ops"),
)
@click.option("--to", type=click.Choice(["keyring", "file"]), required=True, help="Where the key goes.")
@_PROFILE_OPTION
@_PLATFORM_OPTION
def move_command(
    context: Context, write: WriteOptions, to: Store, canon_profile: str | None, platform: str | None
) -> Result:
    """Move a key between its file and the system's keyring.

    The file then holds a reference. The key is read back from the keyring before the file lets go of it, and the
    history of changes forgets it. Nothing happens when the keyring cannot be used.
    """
    writing = context.writing(f"creds move --to {to}", write)
    move = row_of(_MOVES, _whose(context, platform, canon_profile), "move a key")
    done = move(writing, canon_profile, to, context.keyring)
    written = done.written
    report = MoveReport(
        done.platform,
        done.canon_profile,
        done.to,
        done.reference,
        done.changed,
        written.files,
        written.diff,
        written.history_id,
        done.forgotten,
        done.left_behind,
        write.dry_run,
    )
    return Result(report, _move_view(context, done, write), canon_profile=done.canon_profile)


@declare(
    "creds remove",
    data=RemoveReport,
    writes=True,
    examples=("canon-ops creds remove --canon-profile old", "canon-ops creds remove --platform borgee --dry-run"),
)
@_PROFILE_OPTION
@_PLATFORM_OPTION
@click.option("--whole-profile", is_flag=True, help="Remove the Canon profile itself, too, not its key alone.")
def remove_command(
    context: Context, write: WriteOptions, canon_profile: str | None, platform: str | None, whole_profile: bool
) -> Result:
    """Remove a key from this machine: from its file, from the keyring, and from the history of changes.

    A Canon profile keeps its agent, so that `setup canon` can reconnect it. The key itself stays valid until Canon
    revokes it.
    """
    writing = context.writing("creds remove", write)
    remove = row_of(_REMOVALS, _whose(context, platform, canon_profile), "remove a key")
    done = remove(context, writing, canon_profile, whole_profile)
    written = done.written
    notice = restart_notice(context.home, context.environ) if written.changed and not write.dry_run else None
    report = RemoveReport(
        done.platform,
        done.canon_profile,
        done.places,
        written.files,
        written.diff,
        written.history_id,
        done.forgotten,
        done.left_behind,
        notice,
        write.dry_run,
    )
    return Result(report, _remove_view(context, done, write, notice), canon_profile=done.canon_profile)


@declare("creds audit", data=AuditReport, examples=("canon-ops creds audit", "canon-ops creds audit --strict --json"))
@click.option("--strict", is_flag=True, help="Exit 1 for warnings, too.")
def audit_command(context: Context, strict: bool) -> Result:
    """Find copies of keys, files that others can read, and keys in places that should not hold them.

    Looks at every Hermes profile, at agents.json and backups beside them, at shell histories and start-up files, and at
    the gateways' logs. No key is shown.
    """
    with context.progress("Looking for keys"):
        found = audit_credentials(context.home, context.environ, context.keyring)
    counts = Counter(finding.status.value for finding in found)
    report = AuditReport(found, {status.value: counts[status.value] for status in Severity})
    bad = counts["error"] or (strict and counts["warning"])
    told = ", ".join(f"{counts[kind]} {kind}{'' if counts[kind] == 1 else 's'}" for kind in ("error", "warning"))
    problems = (Problem("creds_findings", f"{told}."),) if bad else ()
    return Result(report, _audit_view(found), ExitCode.FAILED if bad else ExitCode.DONE, problems)


def _whose(context: Context, platform: str | None, canon_profile: str | None) -> str:
    """Whose key is meant: the platform that is named, else Canon's with its profile, else the program's own."""
    if platform not in (None, "canon") and canon_profile is not None:
        raise UsageError(f"--canon-profile and --platform {platform} exclude each other.", fix="leave out one of them")
    return platform or (context.program.platform if canon_profile is None else "") or "canon"


def _move_borgee(writing: Writing, _canon_profile: str | None, to: Store, keyring: Keyring) -> KeyMoved:
    return move_borgee_key(writing, to, keyring)


def _remove_canon(context: Context, writing: Writing, canon_profile: str | None, whole: bool) -> KeyRemoved:
    return remove_canon_key(writing, canon_profile, context.keyring, context.prompts, whole=whole)


def _remove_borgee(context: Context, writing: Writing, _canon_profile: str | None, _whole: bool) -> KeyRemoved:
    return remove_borgee_key(writing, context.keyring, context.prompts)


_MOVES: Mapping[str, Callable[[Writing, str | None, Store, Keyring], KeyMoved]] = {
    "canon": move_canon_key,
    "borgee": _move_borgee,
}
_REMOVALS: Mapping[str, Callable[[Context, Writing, str | None, bool], KeyRemoved]] = {
    "canon": _remove_canon,
    "borgee": _remove_borgee,
}


def _problem(error: CanonOpsError) -> Problem:
    return Problem(error.code, error.sentence, error.fix, error.file, error.line, error.column)


def _list_view(context: Context, found: Credentials) -> list[Block]:
    """At a terminal a secret shows its last characters; everywhere else not even those."""
    rows = [
        (
            value.platform,
            value.name,
            _shown(value, at_terminal=context.session.for_people),
            value.described,
            ", ".join(_words(place) for place in value.hides),
        )
        for value in found.values
    ]
    return [Table(("platform", "setting", "value", "from", "hides"), rows)] if rows else []


def _shown(value: Value, *, at_terminal: bool) -> str:
    if not value.secret:
        return str(value.value)
    return value.hint if at_terminal else SECRET_MARK


def _words(place: Place) -> str:
    where = f" in {place.file}" if place.file else f" in the {place.source} environment"
    return f"{place.name}{where}{f', line {place.line}' if place.line else ''}"


def _move_view(context: Context, done: KeyMoved, write: WriteOptions) -> list[Block]:
    whose = f"The key of the Canon profile {done.canon_profile}" if done.canon_profile else "The Borgee key"
    where = f"the keyring ({done.reference})" if done.to == "keyring" else "its file"
    verb = "is already in" if not done.changed else "would move to" if write.dry_run else "is now in"
    view: list[Block] = [first_line(context, done.written), Line(f"{whose} {verb} {where}.", Mark.OK)]
    view += _leftovers(done.forgotten, done.left_behind)
    return [*view, *restart_line(context, done.written, write), *diff_of(done.written, write)]


def _remove_view(context: Context, done: KeyRemoved, write: WriteOptions, notice: str | None) -> list[Block]:
    verb = "Would remove" if write.dry_run else "Removed"
    view: list[Block] = [first_line(context, done.written)]
    view += [Line(f"{verb} {place}.", Mark.OK) for place in done.places]
    if not done.places:
        view.append(Line(f"{verb} the Canon profile {done.canon_profile}, which had no key.", Mark.OK))
    view += _leftovers(done.forgotten, done.left_behind)
    view += [Line(notice, Mark.WARNING)] if notice else []
    return [*view, *diff_of(done.written, write)]


def _leftovers(forgotten: tuple[str, ...], left_behind: str | None) -> list[Block]:
    view: list[Block] = []
    if forgotten:
        entries = "1 entry" if len(forgotten) == 1 else f"{len(forgotten)} entries"
        view.append(Line(f"Removed {entries} of the history, which held it.", Mark.INFO))
    if left_behind:
        view.append(Line(left_behind, Mark.WARNING))
    return view


def _audit_view(found: tuple[AuditFinding, ...]) -> list[Block]:
    if not found:
        return [Line("Nothing was found: each key stands once, in a private place.", Mark.OK)]
    marks = {Severity.ERROR: Mark.ERROR, Severity.WARNING: Mark.WARNING, Severity.UNKNOWN: Mark.UNKNOWN}
    return [Item(marks[each.status], each.id, f"{each.message}{_at_line(each)}", each.fix) for each in found]


def _at_line(finding: AuditFinding) -> str:
    return f" (line {finding.line})" if finding.line and f"line {finding.line}" not in finding.message else ""
