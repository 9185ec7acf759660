""".env as a file: copies of one name, encodings, who may read it, and what else sets the same variables."""

from __future__ import annotations

import shlex
import stat
from collections.abc import Sequence

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.repair import DotenvRepair, DropEarlier, DropMark, MakePrivate, QuoteAnew
from canon_ops.files.dotenv_editor import UnreadableEnv
from canon_ops.files.dotenv_lint import EnvProblem, lint_dotenv
from canon_ops.files.reading import read_optional
from canon_ops.hermes.keys import KeyFile, find_key, is_secret_name
from canon_ops.operate.read_env import list_variables
from canon_ops.settings.dotenv import DotenvLine

__all__ = ["CHECKS"]

_KEY = "CANON_API_KEY"  # creds.present tells what a key hides


def _problems(examination: Examination, *codes: str) -> list[EnvProblem]:
    """The linter's findings of some kinds; none where the file has no lines to speak of."""
    examination.dotenv()
    file = examination.home.env_file
    try:
        return [each for each in lint_dotenv(read_optional(file) or b"", file=str(file)) if each.code in codes]
    except UnreadableEnv:
        return []


def _duplicate(examination: Examination) -> Answer:
    """Copies that say nothing of their own may go without a person: another one may be the value that works."""
    found = []
    for each in _problems(examination, "env_duplicate"):
        name = str(each.name)
        if _says_nothing_else(examination.dotenv(), name):
            found.append(_finding(examination, Status.WARNING, each, DropEarlier(name)))
        else:
            told = f"Line {each.line} of .env: {each.message}; the values differ."
            *others, last = (str(one.line) for one in examination.dotenv() if one.name == name)
            lines = f"{', '.join(others)} and {last}"
            advice = Fix(
                f"keep the line with the right value of {lines} in {examination.home.env_file}, delete the rest"
            )
            found.append(Finding(Status.WARNING, told, advice, _place(examination, each), {"code": each.code}))
    return tuple(found) or Finding(Status.OK, "Each name of .env is set once.")


def _encoding(examination: Examination) -> Answer:
    examination.dotenv()
    file = examination.home.env_file
    try:
        found = lint_dotenv(read_optional(file) or b"", file=str(file))
    except UnreadableEnv as exc:
        return from_error(Status.WARNING, exc)
    told = [
        _finding(
            examination,
            Status.INFO if each.code == "env_line_ends" else Status.WARNING,
            each,
            DropMark() if each.code == "env_mark" else None,
        )
        for each in found
        if each.code in ("env_mark", "env_not_utf8", "env_not_ascii", "env_line_ends")
    ]
    return tuple(told) or Finding(Status.OK, ".env is plain UTF-8.")


def _readers(examination: Examination) -> Answer:
    """A difference about a name that is known, or secret, is a fault to come; about any other one it may be meant."""
    told = []
    for each in _problems(examination, "env_readers"):
        name = str(each.name)
        matters = find_key(name, KeyFile.DOTENV) is not None or is_secret_name(name)
        repair = QuoteAnew(name) if each.automatic else None
        told.append(_finding(examination, Status.WARNING if matters else Status.INFO, each, repair))
    return tuple(told) or Finding(Status.OK, "The gateway, Hermes' commands and a shell read .env alike.")


def _mode(examination: Examination) -> Finding:
    file = examination.home.env_file
    lines = examination.dotenv()
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
    except OSError:
        return Finding(Status.OK, "There is no .env that others could read.")
    at, private = Place(str(file)), Fix(f"chmod 600 {shlex.quote(str(file))}", MakePrivate(file))
    secrets = [line.name for line in lines if line.name and line.value and is_secret_name(line.name)]
    if mode & 0o044 and secrets:
        message = f"{file} has mode {mode:04o}: others can read {', '.join(dict.fromkeys(secrets))}."
        return Finding(Status.ERROR, message, private, at)
    if mode & 0o022:
        message = f"{file} has mode {mode:04o}: others can change it, and with it what the agent may do."
        return Finding(Status.ERROR, message, private, at)
    return Finding(Status.OK, f".env has mode {mode:04o}.", at=at)


def _shadowed(examination: Examination) -> Answer:
    examination.dotenv()
    file = examination.home.env_file
    try:
        variables = list_variables(examination.home, examination.environ)
    except UnreadableEnv:
        return Finding(Status.OK, "Nothing is told about .env, which has no lines; env.encoding tells why.")
    told = []
    for each in variables:
        sources = {place.source for place in each.hides}
        if each.name == _KEY or not sources:
            continue
        at = Place(str(file), each.place.line, path=each.name)
        if each.place.source == "dotenv" and "process" in sources:
            message = (
                f"The environment has another {each.name} than .env: the gateway takes the one of .env, Hermes' own "
                "commands take the other."
            )
            told.append(Finding(Status.WARNING, message, Fix(f"unset {each.name} where it is exported"), at))
        elif each.place.source == "managed" and "dotenv" in sources:
            message = f"The administrator decides about {each.name}, in {each.place.file}; .env counts for nothing."
            fix = Fix(examination.command(f"env list   # shows both; {each.name} may go from .env by hand"))
            told.append(Finding(Status.WARNING, message, fix, at))
    return tuple(told) or Finding(Status.OK, "Nothing else sets what .env sets.")


def _finding(
    examination: Examination, status: Status, problem: EnvProblem, repair: DotenvRepair | None = None
) -> Finding:
    message = f"Line {problem.line} of .env: {problem.message}."
    fix = examination.command("env lint --fix") if problem.automatic else problem.fix
    cure = Fix(fix, repair) if fix else None
    return Finding(status, message, cure, _place(examination, problem), {"code": problem.code})


def _place(examination: Examination, problem: EnvProblem) -> Place:
    return Place(str(examination.home.env_file), problem.line, path=problem.name)


def _says_nothing_else(entries: Sequence[DotenvLine], name: str) -> bool:
    """Whether every copy of a name has the value that counts, or none, and no other line refers to the name."""
    copies = [entry for entry in entries if entry.name == name]
    values = {entry.value for entry in copies} - {None, "", copies[-1].value}
    return not values and not any(f"${{{name}" in (entry.value or "") for entry in entries)


CHECKS = (
    Check(
        "env.duplicate",
        "Names twice",
        "Is each name of .env set once?",
        _duplicate,
        about=About(
            "A program appended a line although the name was there already.",
            "The last line counts. Who edits the first one, as some programs do, changes nothing.",
            "Find out which value is right, and remove the other lines. --fix does it where all say the same.",
            (".env",),
        ),
    ),
    Check(
        "env.encoding",
        "Encoding",
        "Is .env plain UTF-8?",
        _encoding,
        about=About(
            "An editor saved the file with a byte-order mark, in an older code page, or with the line ends of Windows.",
            "The first name, or letters beyond ASCII, are other ones for the gateway; a shell takes CR into values.",
            "Save the file as UTF-8 without a mark and with plain line ends.",
            (".env",),
        ),
    ),
    Check(
        "env.readers",
        "Readers",
        "Do all readers of .env take the same values?",
        _readers,
        about=About(
            "The gateway reads .env with python-dotenv, Hermes' commands with their own parser, people with a shell.",
            "A key that works in one of them is refused in the other.",
            "Put the value into single quotes, and comments on a line of their own.",
            (".env",),
        ),
    ),
    Check(
        "env.mode",
        "Mode",
        "Is .env safe from others?",
        _mode,
        about=About(
            "The file was written by a program or under a umask that lets everybody in.",
            "Who can read it has every key in it.",
            "chmod 600 .env",
            (".env",),
        ),
    ),
    Check(
        "env.shadowed",
        "Other values",
        "Does nothing else set what .env sets?",
        _shadowed,
        about=About(
            "A shell's start-up file or a service exports the variable, too, or an administrator pins it.",
            "The gateway and Hermes' own commands go by different values, and nobody sees which.",
            "Unset the variable where it is exported, or remove its line from .env.",
            (".env", "HERMES_MANAGED_DIR"),
        ),
    ),
)
