"""What a person does where no command of ours can: instructions by the layout of the host, with every path in full."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from canon_ops.hermes.discovery import HostInstallation, Layout
from canon_ops.hermes.host_call import OUR_DISTRIBUTION

__all__ = ["install_by_hand", "own_source", "remove_by_hand"]


def own_source() -> str:
    """What this installation was made from, as an argument of pip: a folder, a file, a URL, or our name.

    Nobody but the one who installed us knows a better place than the one that pip recorded (PEP 610).
    """
    from importlib import metadata

    try:
        record = json.loads(metadata.distribution(OUR_DISTRIBUTION).read_text("direct_url.json") or "{}")
        url = str(record.get("url") or "")
    except (metadata.PackageNotFoundError, ValueError, AttributeError):
        return OUR_DISTRIBUTION
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else url or OUR_DISTRIBUTION


def install_by_hand(host: HostInstallation) -> str:
    """What puts us into ``host``: a command line to paste, or a sentence where it is not a command's business."""
    source, python = own_source(), str(host.python)
    if host.installer is not None:
        return shlex.join(host.installer.command(host.python, "install", source))
    match host.layout:
        case Layout.NIX:
            return (
                f"add {OUR_DISTRIBUTION} to the Python packages of your Hermes module or flake and rebuild; "
                "then: canon-ops install --skip-package"
            )
        case Layout.CONTAINER:
            return (
                f"add to the image: RUN {shlex.join(['uv', 'pip', 'install', '--python', python, source])}   "
                "then, in a container of it: canon-ops install --skip-package"
            )
    if host.facts.externally_managed:
        return (
            f"{python} belongs to the system's package manager, which forbids installing there: run Hermes from an "
            "environment of its own (python3 -m venv), then: canon-ops install"
        )
    if not host.facts.site_writable:
        return f"run canon-ops install as the owner of {host.facts.site}"
    commands = [[python, "-m", "ensurepip"], [python, "-m", "pip", "install", source]]
    return " && ".join(map(shlex.join, commands))


def remove_by_hand(host: HostInstallation, names: Sequence[str]) -> str:
    """The command line that takes distributions out of ``host``; a sentence where no command does it."""
    if host.installer is not None:
        yes = () if host.installer.is_uv else ("--yes",)
        return shlex.join(host.installer.command(host.python, "uninstall", *yes, *names))
    return f"remove {', '.join(names)} from the {host.layout.value} that Hermes runs from ({host.facts.prefix})"
