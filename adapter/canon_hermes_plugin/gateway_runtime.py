"""The runtime as a gateway has it: its settings from the environment and the host's platform configuration."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from canon_hermes_plugin import host as host_door
from canon_hermes_plugin import probe
from canon_hermes_plugin.connection.credential import find_credential
from canon_hermes_plugin.interactions.clarify import HumanWaits
from canon_hermes_plugin.offload import Offload
from canon_hermes_plugin.ports import HostPort
from canon_hermes_plugin.runtime import CanonRuntime
from canon_ops.settings.options import home_channel, read_options, user_access
from canon_ops.settings.paths import CanonPaths
from canon_ops.settings.surroundings import Surroundings

__all__ = ["make_runtime"]


def make_runtime(port: HostPort, config: Any) -> CanonRuntime:
    """The runtime of this process, which has read its settings and nothing else yet.

    Raises:
        ValueError: an option has a value that it cannot have.
    """
    settings = Surroundings(environ=dict(os.environ), platform=probe.platform_block(config))
    offload = Offload("canon")
    approvals_offload = Offload("canon-approvals", threads=1)  # it may wait for the registry's lock
    channel = home_channel(settings)
    return CanonRuntime(
        port,
        options=read_options(settings),
        access=user_access(settings),
        find=partial(find_credential, offload, partial(probe.surroundings_of, config)),
        offload=offload,
        approvals_offload=approvals_offload,
        home=host_door.home_folder(),
        approvals_file=CanonPaths.from_environ(os.environ, Path.home()).detached_approvals_file,
        home_channel=channel.chat_id if channel is not None else None,
        host_version=host_door.read_host_facts().version or "unknown",
        waits=HumanWaits.read(os.environ),
    )
