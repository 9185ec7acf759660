"""Our own distribution in the host's interpreter: where it comes from, and the commands that put it there by hand."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from importlib import metadata
from urllib.parse import unquote, urlsplit

from canon_ops.hermes.discovery import HostInstallation
from canon_ops.hermes.host_call import OUR_DISTRIBUTION

__all__ = ["install_by_hand", "own_source", "remove_by_hand"]


def own_source() -> str:
    """What this installation was made from, as an argument of pip: a folder, a file, a URL, or our name.

    Nobody but the one who installed us knows a better place than the one that pip recorded (PEP 610).
    """
    try:
        record = json.loads(metadata.distribution(OUR_DISTRIBUTION).read_text("direct_url.json") or "{}")
        url = str(record.get("url") or "")
    except (metadata.PackageNotFoundError, ValueError, AttributeError):
        return OUR_DISTRIBUTION
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else url or OUR_DISTRIBUTION


def install_by_hand(host: HostInstallation) -> str:
    """The command line that puts us into ``host``, with every path in full; a sentence where no command does it."""
    return _by_hand(host, "install", [own_source()]) or f"add {OUR_DISTRIBUTION} to {_place(host)}"


def remove_by_hand(host: HostInstallation, names: Sequence[str]) -> str:
    """The command line that takes distributions out of ``host``; a sentence where no command does it."""
    return _by_hand(host, "uninstall", names) or f"remove {', '.join(names)} from {_place(host)}"


def _by_hand(host: HostInstallation, verb: str, arguments: Sequence[str]) -> str | None:
    return shlex.join(host.installer.command(host.python, verb, *arguments)) if host.installer else None


def _place(host: HostInstallation) -> str:
    return f"the {host.layout.value} that Hermes runs from ({host.facts.prefix})"
