"""``canon-ops config edit|recommend|snapshot|heal``: changes of the whole Hermes configuration, shown before made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.output import Block, Item, Line, Mark, Result, Table
from canon_ops.cli.platform_choice import platforms_argument
from canon_ops.cli.secrets_of_home import learn_text
from canon_ops.cli.session import WriteOptions
from canon_ops.cli.writer_view import diff_of, first_line, restart_line
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.heal import comments_back
from canon_ops.files.transaction import digest
from canon_ops.hermes.managed_scope import managed_scope
from canon_ops.operate.change_config import ConfigPlan, carry_out, keep_config, plan_config
from canon_ops.operate.config_in_editor import edit_in_editor, editor_of
from canon_ops.operate.heal_config import HEAL_LABEL, find_unlike, plan_heal
from canon_ops.operate.recommend_config import Recommendation, apply_recommendations, pick, recommendations
from canon_ops.operate.validate_config import validate_config
from canon_ops.operate.writing import Writing, Written, require_consent

__all__ = ["edit_command", "heal_command", "recommend_command", "snapshot_command"]

_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class ConfigWritten:
    """``data`` of ``canon-ops.config.edit/1``; ``diff`` is masked."""

    changed: bool
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class RecommendReport:
    """``data`` of ``canon-ops.config.recommend/1``.

    Attributes:
        proposed: what the file does not say as documented.
        chosen: the paths of those that were agreed to.
    """

    proposed: tuple[Recommendation, ...]
    chosen: tuple[str, ...]
    changed: bool
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class SnapshotReport:
    """``data`` of ``canon-ops.config.snapshot/1``.

    Attributes:
        history_id: null for a dry run.
    """

    file: Path
    sha256: str
    history_id: str | None
    dry_run: bool


@dataclass(frozen=True, slots=True)
class MovedComment:
    """A comment whose key is gone: where it stood, and its words."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class CommentBack:
    """A comment that comes back: its line in the new text, from 1, and its words."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class HealReport:
    """``data`` of ``canon-ops.config.heal/1``.

    Attributes:
        since: the history entry whose text has most of the comments, and ``command`` what it was; null when none are
            missing.
        missing: how many comments were missing.
        back: how many comments come back.
        comments: each of them, from above downwards, as it stands in the new text.
        moved: those that stand elsewhere, with their old path in front, because their key is gone.
        is_transplant: only the comments could be brought back; quotes, anchors and order are as the other program left
            them.
    """

    since: str | None
    command: str | None
    back: int
    moved: tuple[MovedComment, ...]
    is_transplant: bool
    changed: bool
    files: tuple[Path, ...]
    diff: str
    history_id: str | None
    dry_run: bool
    missing: int = 0
    comments: tuple[CommentBack, ...] = ()


@declare(
    "config edit",
    data=ConfigWritten,
    writes=True,
    examples=("canon-ops config edit", "EDITOR='code --wait' canon-ops config edit"),
)
def edit_command(context: Context, write: WriteOptions) -> Result:
    """Edit the Hermes configuration in your editor; nothing that Hermes cannot read is saved.

    A copy is opened in $VISUAL or $EDITOR. When it is closed the text is checked, the difference is shown, and it is
    written after consent. A broken text is opened again. With --dry-run the difference is all that is left of it.
    """
    writing = context.writing("config edit", write)

    def show_and_write(plan: ConfigPlan) -> Written:
        _learn(context, plan)
        for fault in validate_config(ConfigDocument.parse(plan.after, str(plan.file))):
            if fault.severity != "info":
                context.say(f"Warning: line {fault.line}: {fault.message}")
        return _agreed(context, writing, plan, write)

    written = edit_in_editor(writing, editor_of(context.environ), context.prompts, show_and_write)
    report = ConfigWritten(written.changed, written.files, written.diff, written.history_id, write.dry_run)
    what = f"{_verb(write)} {context.home.config_file.name}" if written.changed else "Nothing was changed"
    if written.changed and write.dry_run:
        what += "; what was typed in the editor is not kept"
    return Result(
        report,
        (
            first_line(context, written),
            Line(f"{what}.", Mark.OK),
            *restart_line(context, written, write),
            *diff_of(written, replace(write, diff=write.diff or write.dry_run)),
        ),
    )


@declare(
    "config recommend",
    data=RecommendReport,
    writes=True,
    examples=("canon-ops config recommend --dry-run --diff", "canon-ops config recommend canon --yes"),
)
@platforms_argument
def recommend_command(context: Context, platforms: tuple[str, ...], write: WriteOptions) -> Result:
    """Propose the documented settings of a platform, as one change.

    On a terminal each is asked about. With --yes all are made; with --dry-run they are only listed. What the
    administrator of the machine decides is left out. Without a platform it is canon's.
    """
    meant = platforms or (context.program.platform or "canon",)
    writing = context.writing("config recommend", write)
    proposed: tuple[Recommendation, ...] = ()
    chosen: tuple[Recommendation, ...] = ()

    def edit(document: ConfigDocument) -> ConfigDocument:
        nonlocal proposed, chosen
        proposed = recommendations(document, meant, managed_scope(context.home))
        chosen = proposed if write.dry_run else pick(context.prompts, proposed)
        return apply_recommendations(document, chosen)

    plan = plan_config(writing, edit)
    _learn(context, plan)
    if proposed and not (chosen or write.dry_run or context.session.may_ask):  # nobody could say no
        require_consent(context.prompts, "Change any of these settings?")
    written = carry_out(writing, plan)
    report = RecommendReport(
        proposed=proposed,
        chosen=tuple(each.path for each in chosen),
        changed=written.changed,
        files=written.files,
        diff=written.diff,
        history_id=written.history_id,
        dry_run=write.dry_run,
    )
    return Result(report, _recommended(context, report, written, write))


@declare("config snapshot", data=SnapshotReport, writes=True, examples=("canon-ops config snapshot",))
def snapshot_command(context: Context, write: WriteOptions) -> Result:
    """Keep the present text of the Hermes configuration in the history.

    Do it after editing the file by hand: `config heal` takes comments from there. A snapshot also says that the text is
    meant as it is: the doctor does not warn of comments that it lacks. `config heal` still finds them.
    """
    writing = context.writing("config snapshot", write)
    file = context.home.config_file
    history_id = keep_config(writing)
    report = SnapshotReport(file, digest(file.read_bytes()) or "", history_id, write.dry_run)
    what = "Would keep the text of" if write.dry_run else f"Kept as {history_id}:"
    return Result(
        report,
        (
            Line(f"Hermes profile {context.home.profile_name}: no file changes"),
            Line(f"{what} {file}", Mark.OK),
        ),
    )


@declare(
    "config heal",
    data=HealReport,
    writes=True,
    examples=("canon-ops config heal --dry-run --diff", "canon-ops config heal --yes"),
)
@click.option("--since", metavar="ID", help="The history entry to take the comments from, whoever took them out since.")
def heal_command(context: Context, since: str | None, write: WriteOptions) -> Result:
    """Bring back the comments that another program dropped.

    Hermes drops every comment when it saves the file. The history has the texts as this tool left them; every comment
    that went between two of them comes back, also one that was taken out by hand, and Hermes reads exactly what it
    reads now. A comment whose key is gone moves to what held the key, with its old path in front.
    """
    writing = context.writing(HEAL_LABEL, write)
    context.session.learn_secrets_of_home()
    planned = plan_heal(writing, since)
    if planned is None:
        return _nothing_to_heal(context, write)
    plan, loss, healed = planned
    _learn(context, plan)
    written = _agreed(context, writing, plan, write)
    report = HealReport(
        since=loss.since,
        command=loss.command,
        back=healed.back,
        moved=tuple(MovedComment(each.path, each.text) for each in healed.moved),
        is_transplant=healed.is_transplant,
        changed=written.changed,
        files=written.files,
        diff=written.diff,
        history_id=written.history_id,
        dry_run=write.dry_run,
        missing=loss.count,
        comments=_comments_back(plan),
    )
    return Result(report, _healed(context, report, written, write))


def _comments_back(plan: ConfigPlan) -> tuple[CommentBack, ...]:
    before, after = (ConfigDocument.parse(text or b"", str(plan.file)) for text in (plan.before, plan.after))
    lines = after.layout.document
    return tuple(
        CommentBack(lines.line_column(each.comment.start)[0], each.comment.text)
        for each in comments_back(after, before)
    )


def _nothing_to_heal(context: Context, write: WriteOptions) -> Result:
    written = Written()
    report = HealReport(None, None, 0, (), False, False, (), "", None, write.dry_run)
    file = context.home.config_file
    view: list[Block] = [first_line(context, written), Line(f"No comment of {file} is known to be missing.", Mark.OK)]
    if (unlike := find_unlike(context.home)) is not None:
        again = context.home.own_command(f"config heal --since {unlike.since}")
        count = "a comment" if unlike.count == 1 else f"{unlike.count} comments"
        view.append(Item(Mark.INFO, unlike.since, f"has {count} that an edit of ours took out since.", again))
    return Result(report, view)


def _learn(context: Context, plan: ConfigPlan) -> None:
    for text in (plan.before, plan.after):
        learn_text(context.redact, plan.file, text or b"")


def _agreed(context: Context, writing: Writing, plan: ConfigPlan, write: WriteOptions) -> Written:
    """Show the difference, ask, write; the answer shows it itself where nobody is asked before."""
    if plan.changed and not writing.dry_run:
        if not (context.options.yes and write.diff):
            context.prompts.note(writing.written(plan.changes, None).diff.rstrip("\n"))
        require_consent(context.prompts, "Write this?")
    return carry_out(writing, plan)


def _recommended(context: Context, report: RecommendReport, written: Written, write: WriteOptions) -> list[Block]:
    view: list[Block] = [first_line(context, written)]
    if not report.proposed:
        return [*view, Line("Everything is as the documentation recommends.", Mark.OK)]
    rows = [(each.path, _word(each.before), _word(each.after), each.why) for each in report.proposed]
    view.append(Table(("key", "now", "recommended", "meaning"), rows))
    if not report.chosen:
        view.append(Line("None was chosen; nothing was changed.", Mark.OK))
    elif written.changed:
        count = len(report.chosen)
        view.append(Line(f"{_verb(write)} {count} {'key' if count == 1 else 'keys'}.", Mark.OK))
    return [*view, *restart_line(context, written, write), *diff_of(written, write)]


def _healed(context: Context, report: HealReport, written: Written, write: WriteOptions) -> list[Block]:
    count = "1 comment" if report.back == 1 else f"{report.back} comments"
    verb = "Would bring" if write.dry_run else "Brought"
    what = f"{verb} {count} back, from {report.since} ({report.command})."
    view: list[Block] = [first_line(context, written), Line(what if report.changed else "Nothing to change.", Mark.OK)]
    if write.dry_run and not write.diff and report.comments:
        rows = [(str(each.line), each.text) for each in report.comments[:_MOST_SHOWN]]
        view.append(Table(("line", "comment"), rows, right=frozenset({0})))
        if (more := len(report.comments) - len(rows)) > 0:
            view.append(Line(f"And {more} more; --diff shows all.", Mark.INFO))
    view += [Item(Mark.INFO, each.path, f"is gone; kept with that path in front: {each.text}") for each in report.moved]
    if report.is_transplant:
        view.append(Line("Quotes, anchors and order stay as the other program left them.", Mark.WARNING))
    return [*view, *restart_line(context, written, write), *diff_of(written, write)]


def _verb(write: WriteOptions) -> str:
    return "Would change" if write.dry_run else "Changed"


def _word(value: Any) -> str:
    return "unset" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
