"""A value that is no argument: from stdin, a file, or a variable, so that no history and no list of processes has it.

The source may be anything, endless or binary; reading stops at a limit, and what is no text is a sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from canon_ops.cli.context import Context
from canon_ops.cli.stand_ins import without_stand_ins
from canon_ops.errors import UsageError
from canon_ops.files.disk import explain

__all__ = ["given_value", "refuse_argument"]

_LONGEST = 4096  # bytes: many times a key's length


def given_value(
    context: Context,
    *,
    from_stdin: bool,
    file: Path | None,
    variable: str | None,
    options: tuple[str, str, str],
    what: str,
) -> str | None:
    """The text from the one source that was named, its line end taken off; None when none was.

    Args:
        options: how the three sources are called on this command line: stdin, file, variable.
        what: what is meant to be there, as in "there is no … in FILE".

    Raises:
        UsageError: several sources were named, or the one that was has nothing, or no text, or too much of it.
        DiskError: the file cannot be read.
    """
    if sum((from_stdin, file is not None, variable is not None)) > 1:
        raise UsageError(
            f"Give one of {options[0]}, {options[1]} and {options[2]}.", fix="leave out all but one of them"
        )
    source = variable or (str(file) if file else "stdin")
    text: str | None = None
    if from_stdin:
        stdin = context.session.streams.stdin
        if stdin is None or stdin.isatty():
            raise UsageError(f"{options[0]} reads a pipe or a file, not the keyboard.", fix="leave it out to be asked")
        piped = getattr(stdin, "buffer", None)  # what the locale reads it as may be less than what it is
        text = _text(source, what, piped.read if piped else lambda size: stdin.read(size).encode("utf-8"))
    elif file is not None:
        try:
            with file.open("rb", buffering=0) as opened:  # a pipe is welcome: <(pass show canon)
                text = _text(source, what, lambda size: opened.read(size) or b"")
        except OSError as exc:
            raise explain(exc, file, verb="read") from exc
    elif variable is not None:
        text = without_stand_ins(context.environ.get(variable, ""))
        if text is None:
            raise UsageError(f"{variable} holds bytes that are no UTF-8.", fix=f"give {variable} as UTF-8 text")
    if text is None:
        return None
    if not text.strip():
        raise UsageError(f"There is no {what} in {source}.", fix=f"put the {what} there, or leave the option out")
    return text.rstrip("\r\n")


def refuse_argument(name: str, command: str) -> UsageError:
    """The refusal of a secret that stands on the command line.

    Args:
        command: the words of the command and what it is about, without the value.
    """
    return UsageError(
        f"{name} is secret: as an argument it would stay in the shell's history and in the list of processes.",
        fix=f"{command}   # or --stdin, --from-file FILE, --from-env NAME",
    )


def _text(source: str, what: str, read: Callable[[int], bytes]) -> str:
    data = b""
    try:
        while len(data) <= _LONGEST and (more := read(_LONGEST + 1 - len(data))):
            data += more
        text = data.decode("utf-8")
        why = f"it holds more than {_LONGEST} bytes" if len(data) > _LONGEST else None
    except UnicodeError:
        why = "it is not text"
    if why is not None:
        raise UsageError(f"{source} holds no {what}: {why}.", fix=f"name a source that holds the {what} alone")
    return text
