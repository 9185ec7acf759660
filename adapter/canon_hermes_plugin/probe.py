"""What the plugin answers when the host asks whether Canon is set up: read a small file, decide, return.

The host asks at every configuration load and in every status display, so these functions open no connection, touch no
keyring, change nothing, and never raise: a platform that cannot be resolved is simply not configured, and ``doctor``
and the adapter's connect say why.

Source: Canon adapter R1.11-R1.13, D61; decisions C1.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from canon_ops.errors import CanonOpsError
from canon_ops.files.reading import read_optional
from canon_ops.settings import credentials
from canon_ops.settings.paths import CanonPaths
from canon_ops.settings.problems import NotConfigured
from canon_ops.settings.surroundings import Surroundings

__all__ = ["enablement", "is_configured", "is_ready", "platform_block", "surroundings_of"]

logger = logging.getLogger(__name__)


def is_ready() -> bool:
    """The host's ``check_fn``: whether the home as a whole, its config.yaml included, resolves to a credential.

    The host passes no configuration here, and refuses the platform when the answer is no. So the platform block is read
    from the file: an agent that is named only there must not be refused.
    """
    from canon_hermes_plugin.host import home_folder
    from canon_ops.hermes.surroundings import surroundings_from_disk

    return _resolves(lambda: surroundings_from_disk(home_folder(), os.environ))


def is_configured(config: Any) -> bool:
    """The host's ``validate_config`` and ``is_connected``: whether this platform configuration resolves."""
    return _resolves(lambda: surroundings_of(config))


def enablement() -> dict[str, object] | None:
    """The host's ``env_enablement_fn``: settings for a platform that the environment alone turns on."""
    try:
        return credentials.enablement_seed(surroundings_of(None))
    except CanonOpsError:
        return None


def _resolves(read: Callable[[], Surroundings]) -> bool:
    """Whether a credential is found. The host shows a fixed hint when none is, so what is wrong goes to the log, once.

    Nothing being there at all is not wrong: the plugin may be installed long before anybody sets Canon up.
    """
    try:
        credentials.resolve(read())
    except NotConfigured:
        return False
    except CanonOpsError as error:
        _tell_once(str(error))
        return False
    return True


@cache
def _tell_once(reason: str) -> None:
    logger.warning("Canon cannot be used: %s", reason)


def surroundings_of(config: Any, environ: Mapping[str, str] = os.environ) -> Surroundings:
    """The world as the running gateway sees it: its environment, into which ``.env`` is merged, and one platform block.

    Args:
        config: the host's platform configuration object, or None where there is none.

    Raises:
        NotAFile, BrokenLink, DiskError: agents.json exists and cannot be read.
    """
    agents_file = CanonPaths.from_environ(environ, Path.home()).agents_file
    return Surroundings(
        environ=dict(environ),
        platform=platform_block(config),
        agents=read_optional(agents_file),
        agents_file=str(agents_file),
    )


def platform_block(config: Any) -> dict[str, object]:
    """The ``platforms.canon`` block that the host made its configuration object of, as far as it kept it."""
    if config is None:
        return {}
    block: dict[str, object] = {
        name: value for name in ("api_key", "token", "extra") if (value := getattr(config, name, None)) is not None
    }
    channel = getattr(config, "home_channel", None)
    if channel is not None:
        block["home_channel"] = {"chat_id": channel.chat_id, "name": channel.name}
    return block
