"""What somebody has to do next about a home that was looked at: decided from what was seen, nothing is read here.

In the order in which it has to be done: a Hermes that the platforms answer on, the package in it, the plugin on its
list, whom the platform is to be, a gateway that connects it. A platform that nobody wants here is not asked for: a home
that serves Borgee alone lacks no Canon credential, and one that has nothing of ours is told how to begin.

Source: command-line contract, section 2, status; decision record 0060.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from canon_ops.errors import CanonOpsError
from canon_ops.hermes.homes import HermesHome
from canon_ops.operate.installation import InterruptedNote
from canon_ops.operate.status_parts import GatewaySeen, HostSeen, InTheWay, PlatformSeen

__all__ = ["advice"]

_FAILING = frozenset({"fatal", "retrying"})


def advice(
    home: HermesHome,
    host: HostSeen | None,
    platforms: Sequence[PlatformSeen] | None,
    lacks: Mapping[str, CanonOpsError],
    gateway: GatewaySeen | None,
    interrupted: InterruptedNote | None = None,
) -> tuple[InTheWay, ...]:
    """What is in the way of ``home``.

    Args:
        interrupted: what a command left that was killed among the packages of the host; it comes before all else.
        platforms: None when config.yaml could not be read, which is told elsewhere.
        lacks: by platform, what its setup lacks; one that is complete is left out.
    """
    wanted = [one for one in platforms or () if one.is_wanted]
    begun = [_unfinished(home, interrupted)] if interrupted is not None else []
    if not begun and platforms is not None and not any(one.is_used for one in platforms):
        begin = home.own_command("install canon")
        return (InTheWay("platforms", "nothing_installed", "Nothing of canon-ops is installed here.", begin, False),)
    found = [*begun, *_about_host(home, host, wanted)]
    for one in wanted:
        found += _about_platform(home, one, lacks.get(one.name))
    found += [_in_doubt(home, one, one.inbox.in_doubt) for one in platforms or () if one.inbox and one.inbox.in_doubt]
    found += _about_gateway(home, gateway, is_ready=bool(wanted) and not found)
    return tuple(found)


def _unfinished(home: HermesHome, note: InterruptedNote) -> InTheWay:
    words = "rollback" if Path(note.python).exists() else "rollback --skip-package"
    return InTheWay("host", "install_interrupted", str(note), home.own_command(words))


def _about_host(home: HermesHome, host: HostSeen | None, wanted: Sequence[PlatformSeen]) -> Iterator[InTheWay]:
    if host is None:
        return
    if host.refusal is not None:
        yield InTheWay("host", "host_unaudited", host.refusal, host.refusal_fix)
    elif wanted and host.canon_ops is None:
        told = f"canon-ops is not in {host.python}, which runs Hermes: it loads no platform of it."
        yield InTheWay("host", "package_missing", told, home.own_command(f"install {' '.join(_names(wanted))}"))


def _about_platform(home: HermesHome, platform: PlatformSeen, lacks: CanonOpsError | None) -> Iterator[InTheWay]:
    if not platform.plugin_enabled:
        told = f"{platform.label} is switched on, and Hermes' lists of plugins do not let its plugin load."
        yield InTheWay("platforms", "plugin_not_enabled", told, home.own_command(f"install {platform.name}"))
    if lacks is not None:
        yield InTheWay("credential", lacks.code, lacks.sentence, home.aim(lacks.fix))
    elif platform.state in _FAILING:
        told = platform.error or f"The gateway says that {platform.label} is {platform.state}."
        yield InTheWay("gateway", "platform_failing", f"{platform.label}: {told}", home.own_command("doctor"))


def _in_doubt(home: HermesHome, platform: PlatformSeen, count: int) -> InTheWay:
    messages = "message of" if count == 1 else "messages of"
    told = f"{count} {messages} {platform.label} in doubt: a person decides."
    return InTheWay("inbox", "inbox_in_doubt", told, home.own_command("inbox list"))


def _about_gateway(home: HermesHome, gateway: GatewaySeen | None, *, is_ready: bool) -> Iterator[InTheWay]:
    """One that crashed is told in any case; one that does not run, when it is the only thing that is left to do."""
    if gateway is None or gateway.is_running:
        return
    start = home.command(gateway.start_words)
    if gateway.state == "crashed":
        yield InTheWay("gateway", "gateway_crashed", "The gateway was killed or crashed.", start)
    elif is_ready:
        yield InTheWay("gateway", "gateway_not_running", "No gateway runs, so nobody is answered.", start, False)


def _names(platforms: Sequence[PlatformSeen]) -> list[str]:
    return [one.name for one in platforms]
