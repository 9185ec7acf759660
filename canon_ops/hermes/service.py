"""The service that the operating system runs a home's gateway as, and what its definition says.

``hermes gateway install`` writes a systemd unit (of the user, or of the system) or a launchd agent, one a home, named
after the profile. Inside its container image Hermes is supervised by s6. The definition pins interpreter and home, so
it can lead to another Hermes, or another home, than a command in the same shell: whoever asks has to compare.

Reading only; starting and stopping is Hermes' own work. Source: Hermes host, 10.1; case BR-38.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from canon_ops.files.reading import read_optional
from canon_ops.hermes.homes import HermesHome, user_home

__all__ = ["GatewayService", "ServiceKind", "find_services", "service_name"]

_UNIT_FOLDER = Path(".config", "systemd", "user")
_SYSTEM_UNITS = Path("etc", "systemd", "system")
_AGENTS = Path("Library", "LaunchAgents")
_S6_SLOTS = Path("run", "service")


class ServiceKind(Enum):
    """Who keeps the gateway running; the value completes "it is run by …"."""

    SYSTEMD_USER = "systemd, as a service of this user"
    SYSTEMD = "systemd, as a service of the system"
    LAUNCHD = "launchd"
    S6 = "s6, in Hermes' container image"


@dataclass(frozen=True, slots=True)
class GatewayService:
    """One definition.

    Attributes:
        name: what its manager calls it.
        file: where the definition stands.
        command: what it starts; empty where the definition does not say.
        hermes_home: the home that it pins; None where it pins none.
    """

    kind: ServiceKind
    name: str
    file: Path
    command: tuple[str, ...] = ()
    hermes_home: Path | None = None

    @property
    def python(self) -> Path | None:
        """The interpreter that it starts; None when it starts something else."""
        program = Path(self.command[0]) if self.command else None
        return program if program is not None and program.name.startswith("python") else None


def service_name(home: HermesHome) -> str:
    """What distinguishes this home's service: nothing for the root, the profile's name, or a digest of the path."""
    if home.profile_name == "default":
        return ""
    if home.profile_name != "custom":
        return home.profile_name
    return hashlib.sha256(str(home.path.resolve()).encode()).hexdigest()[:8]


def find_services(
    home: HermesHome, environ: Mapping[str, str], *, system: Path = Path("/")
) -> tuple[GatewayService, ...]:
    """Every definition that Hermes would take for this home's gateway; the one that it would act on comes first.

    Args:
        system: where the system's own folders begin.

    Raises:
        NotAFile, DiskError: a definition is there and cannot be read.
    """
    suffix = service_name(home)
    unit = f"hermes-gateway-{suffix}" if suffix else "hermes-gateway"
    agent = f"ai.hermes.gateway-{suffix}" if suffix else "ai.hermes.gateway"
    slot = f"gateway-{home.profile_name}"
    person = user_home(environ)
    found: list[GatewayService] = []
    if (system / _S6_SLOTS / slot).is_dir():
        found.append(GatewayService(ServiceKind.S6, slot, system / _S6_SLOTS / slot))
    for kind, folder in (
        (ServiceKind.SYSTEMD_USER, person / _UNIT_FOLDER),
        (ServiceKind.SYSTEMD, system / _SYSTEM_UNITS),
    ):
        file = folder / f"{unit}.service"
        if (data := read_optional(file)) is not None:
            found.append(_from_unit(kind, unit, file, data.decode("utf-8", errors="replace")))
    file = person / _AGENTS / f"{agent}.plist"
    if (data := read_optional(file)) is not None:
        found.append(_from_plist(agent, file, data))
    return tuple(found)


def _from_unit(kind: ServiceKind, name: str, file: Path, text: str) -> GatewayService:
    command: tuple[str, ...] = ()
    pinned: Path | None = None
    for key, value in _assignments(text):
        if key == "ExecStart" and value:
            command = tuple(_words(value.lstrip("-@:+!")))
        elif key == "Environment":
            for word in _words(value):
                variable, _, told = word.partition("=")
                if variable == "HERMES_HOME" and told:
                    pinned = Path(told)
    return GatewayService(kind, name, file, command, pinned)


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """``Key=value`` of a unit file; a backslash at the end continues the line."""
    for line in text.replace("\\\n", " ").splitlines():
        key, sign, value = line.strip().partition("=")
        if sign and not key.startswith(("#", ";")):
            yield key.strip(), value.strip()


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an open quote
        return text.split()


def _from_plist(name: str, file: Path, data: bytes) -> GatewayService:
    import plistlib
    from xml.parsers.expat import ExpatError

    definition: object = None
    with suppress(ValueError, ExpatError):
        definition = plistlib.loads(data)
    if not isinstance(definition, dict):
        return GatewayService(ServiceKind.LAUNCHD, name, file)
    listed = definition.get("ProgramArguments")
    variables = definition.get("EnvironmentVariables")
    told = variables.get("HERMES_HOME") if isinstance(variables, dict) else None
    command = tuple(str(word) for word in listed) if isinstance(listed, list) else ()
    return GatewayService(ServiceKind.LAUNCHD, name, file, command, Path(told) if isinstance(told, str) else None)
