"""Can Hermes read its two files, and is the platform switched on in them?"""

from __future__ import annotations

from canon_ops.doctor.check import About, Answer, Check, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination, FactMissing, config_owner
from canon_ops.doctor.repair import SetConfig, SetVariable
from canon_ops.errors import CanonOpsError
from canon_ops.files.dotenv_editor import UnreadableEnv
from canon_ops.files.dotenv_lint import lint_dotenv
from canon_ops.files.reading import read_optional
from canon_ops.hermes.keys import KeyFile, find_key
from canon_ops.settings.provenance import Source

__all__ = ["CHECKS"]

_ON, _OFF = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})  # as the host reads it


def _config_parse(examination: Examination) -> Finding:
    try:
        config = examination.config.examine()
    except CanonOpsError as exc:
        if (owner := config_owner(exc)) != "config.parse":
            raise FactMissing(owner) from exc
        return from_error(Status.ERROR, exc)
    if not config.exists:
        return Finding(Status.INFO, "There is no config.yaml; Hermes runs on defaults.", at=Place(str(config.file)))
    return Finding(Status.OK, "Hermes can read config.yaml.", at=Place(str(config.file)))


def _env_parse(examination: Examination) -> Answer:
    file = str(examination.home.env_file)
    try:
        lines = examination.dotenv.examine()
    except CanonOpsError as exc:
        return from_error(Status.ERROR, exc)
    try:
        problems = lint_dotenv(read_optional(examination.home.env_file) or b"", file=file)
    except UnreadableEnv:  # UTF-16, which the gateway converts; env.encoding tells
        problems = ()
    found = []
    for problem in problems:
        if problem.code == "env_not_assignment":
            known = problem.name is not None and find_key(problem.name, KeyFile.DOTENV) is not None
            what = (
                f"Line {problem.line} of .env, meant for {problem.name}," if known else f"Line {problem.line} of .env"
            )
            found.append(
                Finding(
                    Status.ERROR if known else Status.WARNING,
                    f"{what} counts for nothing: {problem.message}.",
                    Fix(problem.fix) if problem.fix else None,
                    Place(file, problem.line, path=problem.name),
                )
            )
    if found:
        return tuple(found)
    if not any(line.name for line in lines):
        return Finding(Status.OK, "There is nothing in .env.", at=Place(file))
    return Finding(Status.OK, "Hermes can read .env.", at=Place(file))


def _platform_enabled(examination: Examination) -> Finding:
    name, label = examination.platform.name, examination.platform.label
    config = examination.config()
    path = config.switch_path(name)
    examination.expect_room(path)
    at = Place(str(config.file), path=path)
    switch = config.platform_switch(name)
    set_true = Fix(examination.command(f"config set {path} true"), SetConfig(path, True))
    written = config.switch(name)
    key = find_key(path, KeyFile.CONFIG)
    problem = key.problem(written) if key is not None and written is not None else None
    if problem is not None:
        data = {"value": str(written)}
        if switch is True:  # written as no switch should be, and taken for one
            return Finding(Status.WARNING, f"{problem}.", set_true, data=data, at=at)
        told = f"{problem}; Hermes takes that for off and does not connect {label}."
        return Finding(Status.ERROR, told, set_true, data=data, at=at)
    if switch is True:
        return Finding(Status.OK, f"The {label} platform is switched on.", at=at)
    if switch is False:
        return Finding(Status.ERROR, f"{path} is false: the gateway does not connect {label}.", set_true, at=at)
    examination.resolution()
    return Finding(
        Status.INFO,
        f"config.yaml does not mention {label}; the gateway connects it because its credentials resolve.",
        set_true,
        at=at,
    )


def _multiplex(examination: Examination) -> Finding:
    """The variable beats the configuration, unless it holds no word that the host knows."""
    config, label = examination.config(), examination.platform.label
    variable = examination.variables().find("GATEWAY_MULTIPLEX_PROFILES")
    word = str(variable.value).lower() if variable else ""
    refuses = f"is on, and {label} refuses to run in a gateway that serves several profiles."
    if variable is not None and word in _ON:
        origin = variable.origin
        repair = SetVariable(variable.name, "false") if origin.source is Source.DOTENV else None
        place = Place(origin.file, origin.line, path=variable.name)
        return Finding(Status.ERROR, f"{origin.describe()} {refuses}", Fix(origin.to_change("false"), repair), place)
    if word in _OFF or not config.multiplexes:
        return Finding(Status.OK, "One gateway process serves this profile alone.")
    path = config.multiplex_path
    fix = Fix(examination.command(f"config set {path} false"), SetConfig(path, False))
    return Finding(Status.ERROR, f"{path} {refuses}", fix, Place(str(config.file), path=path))


CHECKS = (
    Check(
        "config.parse",
        "config.yaml",
        "Can Hermes read config.yaml?",
        _config_parse,
        about=About(
            "A tab, a colon without a blank, or an open quote; often from an edit by hand.",
            "Hermes goes on with its defaults, and some of its commands then write those over the file.",
            "Go to the line that the finding names. `python -m yaml` and most editors show the same place.",
            ("config.yaml",),
        ),
    ),
    Check(
        "env.parse",
        ".env",
        "Can Hermes read every line of .env?",
        _env_parse,
        about=About(
            "A line has no `=`, an open quote, or the file was saved in an encoding of two or four bytes a character.",
            "The gateway skips such a line with a warning in its log, and the setting counts for nothing.",
            "Write NAME=value, or begin the line with #; save the file as UTF-8.",
            (".env",),
        ),
    ),
    Check(
        "platform.enabled",
        "Platform",
        "Does the gateway connect the platform?",
        _platform_enabled,
        about=About(
            "The switch was set to no, or is a word that Hermes does not take for a switch.",
            "The gateway does not connect the platform.",
            "Set platforms.canon.enabled to true in config.yaml; a block canon: at the top of the file beats it.",
            ("platforms.canon.enabled",),
        ),
    ),
    Check(
        "gateway.multiplex",
        "Profiles",
        "Does each profile have a gateway process of its own?",
        _multiplex,
        about=About(
            "Hermes can serve several profiles from one process.",
            "The platforms keep state for one agent in a process, so they refuse to start rather than answer as "
            "somebody else.",
            "Set gateway.multiplex_profiles to false, unset GATEWAY_MULTIPLEX_PROFILES, and start one gateway a "
            "profile.",
            ("gateway.multiplex_profiles", "GATEWAY_MULTIPLEX_PROFILES"),
        ),
    ),
)
