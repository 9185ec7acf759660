"""config.yaml in somebody's editor: a copy is edited, checked, shown as a difference, and only then written.

A text that Hermes cannot read is never written: the copy is opened again. Whatever ends the dialogue early, the copy
stays where it is when it holds work, and its place is told.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from canon_ops.errors import CanonOpsError, OutsideError, RefusedError, UsageError
from canon_ops.files.config_editor import ConfigDocument
from canon_ops.files.reading import read_optional
from canon_ops.files.yaml_reader import ConfigSyntaxError
from canon_ops.operate.change_config import ConfigPlan, plan_config
from canon_ops.operate.prompts import Prompts, Question
from canon_ops.operate.writing import Writing, Written
from canon_ops.runtime.held_signals import signals_held

__all__ = ["EditorFailed", "Emptied", "NoEditor", "edit_in_editor", "editor_of"]

RunEditor = Callable[[Path], None]

_AGAIN = "canon-ops config edit"


class NoEditor(UsageError):
    """Nobody said which editor."""

    code: ClassVar[str] = "editor_missing"


class EditorFailed(OutsideError):
    """The editor did not start, or ended with an error: what it left is not taken for the person's wish."""

    code: ClassVar[str] = "editor_failed"


class Emptied(RefusedError):
    """Every key is gone from the text: an editor that failed leaves that, and hardly anybody wants it."""

    code: ClassVar[str] = "config_emptied"


def editor_of(environ: Mapping[str, str]) -> RunEditor:
    """The editor of ``$VISUAL``, else ``$EDITOR``, as a function that waits for it.

    Raises:
        NoEditor: neither is set, or what is set cannot be taken apart.
    """
    name = next((name for name in ("VISUAL", "EDITOR") if environ.get(name, "").strip()), None)
    if name is None:
        raise NoEditor("neither VISUAL nor EDITOR names an editor", fix="EDITOR=nano canon-ops config edit")
    try:
        words = shlex.split(environ[name])
    except ValueError as error:
        raise NoEditor(
            f"{name} is {environ[name]!r}, which is no command line (a quote or a backslash too much)",
            fix=f"export {name}=nano",
        ) from error

    def run(file: Path) -> None:
        try:
            done = subprocess.run([*words, str(file)], env=dict(environ), check=False)
        except OSError as error:
            raise EditorFailed(
                f"{name} names {words[0]}, which does not start: {error.strerror}", fix=f"export {name}=nano"
            ) from error
        if done.returncode != 0:
            how = f"ended with {done.returncode}" if done.returncode > 0 else f"was ended by signal {-done.returncode}"
            raise EditorFailed(f"{words[0]} {how}; nothing was written", fix=_AGAIN)

    return run


def edit_in_editor(
    writing: Writing, run_editor: RunEditor, prompts: Prompts, write: Callable[[ConfigPlan], Written]
) -> Written:
    """Have the file edited, until Hermes can read it, and write it.

    Args:
        write: shows the plan, asks, and carries it out. Whatever it raises, the person's work is kept.

    Raises:
        EditorFailed, Emptied: see there.
        ConfigSyntaxError: the text is broken and was left so; nothing was written, and the copy's place is told.
        ManagedHome, ChangedUnderUs: as :func:`plan_config`.
    """
    copy: Path | None = None
    given = b""

    def edit(document: ConfigDocument) -> ConfigDocument:
        nonlocal given
        assert copy is not None  # noqa: S101 - made below, before anybody edits
        given = document.data
        _write(copy, given)
        edited = _edited(copy, document.file, run_editor, prompts)
        if document.value and not edited.value:
            raise Emptied(
                f"the editor left no key of {document.file}; nothing was written",
                fix=f"{_AGAIN}   # and leave one, or take keys out by name: canon-ops config unset KEY",
            )
        return edited

    keep = False
    try:
        plan_config(writing, lambda document: document)  # who must not write is not asked to edit
        with signals_held():  # 0700, the file may hold a key; without a lock, what a kill leaves may be a person's work
            copy = Path(tempfile.mkdtemp(prefix="canon-ops-")) / "config.yaml"
        return write(plan_config(writing, edit))
    except BaseException as error:  # Ctrl-C at the question, too
        keep = copy is not None and _left_in(copy) not in (None, b"", given)
        if keep and isinstance(error, CanonOpsError) and error.fix is not None:
            error.fix = f"{error.fix}   (your text is kept: {copy})"
        elif keep:
            prompts.note(f"Your text is kept: {copy}")
        raise
    finally:
        if copy is not None and not keep:
            with signals_held():
                shutil.rmtree(copy.parent, ignore_errors=True)


def _edited(copy: Path, file: str, run_editor: RunEditor, prompts: Prompts) -> ConfigDocument:
    broken: bytes | None = None
    while True:
        run_editor(copy)
        text = _left_in(copy)
        if text is None:
            raise EditorFailed(f"the editor left no file where it was given one ({copy})", fix=_AGAIN)
        try:
            return _parsed(text, file, copy)
        except ConfigSyntaxError as error:
            prompts.note(error.what)
            # An editor that left the same broken text twice is no person.
            if text == broken or not prompts.confirm(Question("Open it again?", "EDITOR"), default=True):
                raise
            broken = text


def _parsed(text: bytes, file: str, copy: Path) -> ConfigDocument:
    """The document of ``file``; what is wrong is told of the copy, since the file itself has no such line."""
    try:
        return ConfigDocument.parse(text, file)
    except ConfigSyntaxError:
        return ConfigDocument.parse(text, str(copy))


def _left_in(copy: Path) -> bytes | None:
    """The text that the editor left; None when there is none to be read."""
    try:
        return read_optional(copy)
    except CanonOpsError:  # a folder, a pipe, a file that nobody may read
        return None


def _write(file: Path, data: bytes) -> None:
    file.touch(mode=0o600)
    file.write_bytes(data)
