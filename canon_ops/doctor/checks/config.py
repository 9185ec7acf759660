"""Can Hermes read its two files, and is the platform switched on in them?"""

from __future__ import annotations

from canon_ops.doctor.check import Check, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination
from canon_ops.doctor.repair import SetConfig
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.keys import KeyFile, find_key

__all__ = ["CHECKS"]


def _config_parse(examination: Examination) -> Finding:
    try:
        config = examination.config.examine()
    except CanonOpsError as exc:
        return from_error(Status.ERROR, exc)
    if not config.exists:
        return Finding(Status.INFO, "There is no config.yaml; Hermes runs on defaults.", at=Place(str(config.file)))
    return Finding(Status.OK, "Hermes can read config.yaml.", at=Place(str(config.file)))


def _env_parse(examination: Examination) -> Finding:
    file = str(examination.home.env_file)
    try:
        lines = examination.dotenv.examine()
    except CanonOpsError as exc:
        return from_error(Status.ERROR, exc)
    broken = [line.line for line in lines if line.error]
    if broken:
        numbers = ", ".join(map(str, broken))
        return Finding(
            Status.WARNING,
            f"Hermes skips line {numbers} of .env: no assignment." if len(broken) == 1
            else f"Hermes skips lines {numbers} of .env: no assignments.",
            Fix("write NAME=value, or start the line with #"),
            Place(file, broken[0]),
            data={"lines": broken},
        )  # fmt: skip
    if not any(line.name for line in lines):
        return Finding(Status.OK, "There is nothing in .env.", at=Place(file))
    return Finding(Status.OK, "Hermes can read .env.", at=Place(file))


def _platform_enabled(examination: Examination) -> Finding:
    name, label = examination.platform.name, examination.platform.label
    config = examination.config()
    path = f"platforms.{name}.enabled"
    at = Place(str(config.file), path=path)
    switch = config.platform_switch(name)
    set_true = Fix(examination.command(f"config set {path} true"), SetConfig(path, True))
    written = config.platform(name).get("enabled")
    key = find_key(path, KeyFile.CONFIG)
    problem = key.problem(written) if key is not None and written is not None else None
    if problem is not None:
        return Finding(Status.WARNING, f"{problem}.", set_true, data={"value": str(written)}, at=at)
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
    config = examination.config()
    path = "gateway.multiplex_profiles"
    if not config.multiplexes:
        return Finding(Status.OK, "One gateway process serves this profile alone.")
    return Finding(
        Status.ERROR,
        f"{path} is on, and {examination.platform.label} refuses to run in a gateway that serves several profiles.",
        Fix(examination.command(f"config set {path} false"), SetConfig(path, False)),
        Place(str(config.file), path=path),
    )


CHECKS = (
    Check("config.parse", "config.yaml", "Can Hermes read config.yaml?", _config_parse),
    Check("env.parse", ".env", "Can Hermes read every line of .env?", _env_parse),
    Check("platform.enabled", "Platform", "Does the gateway connect the platform?", _platform_enabled),
    Check("gateway.multiplex", "Profiles", "Does each profile have a gateway process of its own?", _multiplex),
)
