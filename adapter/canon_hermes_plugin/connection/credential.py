"""The credential of this gateway, found off the loop: settings, the profile file, and nothing that could hang.

Source: Canon adapter R2.2; decisions C1.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable
from pathlib import Path

from canon_hermes_plugin.connection.connecting import Credential
from canon_hermes_plugin.offload import Offload
from canon_ops.errors import CanonOpsError, OutsideError
from canon_ops.files.transaction import Transaction
from canon_ops.keyring.access import Keyring
from canon_ops.operate.profile_key import key_in_force
from canon_ops.settings.credentials import Resolution, resolve
from canon_ops.settings.surroundings import Surroundings

__all__ = ["find_credential"]

logger = logging.getLogger(__name__)


async def find_credential(
    offload: Offload, read_surroundings: Callable[[], Surroundings], keyring: Keyring | None = None
) -> Credential:
    """Resolve the settings, and follow a profile's reference into the keyring.

    Args:
        read_surroundings: reads what is on disk; it runs on a thread.
        keyring: asked on that thread, for three seconds at most; the one of this process's environment by default.

    Raises:
        KeyringSilent, KeyringLocked: it may be unlocked later; worth another try.
        CanonOpsError: whatever is wrong with the settings, as a sentence with its fix.
    """
    return await offload.run(_find, read_surroundings, keyring or Keyring())


def _find(read_surroundings: Callable[[], Surroundings], keyring: Keyring) -> Credential:
    try:
        surroundings = read_surroundings()
    except OSError as exc:
        raise OutsideError(
            f"{exc.filename} cannot be read: {exc.strerror}.",
            fix=f"ls -l {shlex.quote(str(exc.filename))}",
            file=str(exc.filename),
        ) from exc
    resolution = resolve(surroundings)
    _keep_bootstrapped(surroundings, resolution)
    return Credential(resolution, key_in_force(resolution, keyring))


def _keep_bootstrapped(surroundings: Surroundings, resolution: Resolution) -> None:
    """Write the profiles that the bootstrap variable brought into agents.json, where every other tool looks for them.

    The gateway has them either way, so a file that cannot be written is a warning. A file that somebody else has
    changed since it was read is left alone; the next start finds it as it is then.
    """
    if resolution.agents_data is None:
        return
    file = Path(surroundings.agents_file)
    try:
        with Transaction(file.parent) as transaction:
            if transaction.read(file) == surroundings.agents:
                transaction.stage(file, resolution.agents_data, private=True)
                transaction.commit()
    except (CanonOpsError, OSError) as error:
        logger.warning("Canon: the bootstrapped profiles could not be written to %s: %s", file, error)
