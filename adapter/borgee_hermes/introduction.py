"""Asking a Borgee server whose key it is, from a process that is no gateway.

There is no request that only asks: one connects as the agent, says hello and leaves. A server that keeps one connection
an agent would turn its pushes to ours and leave a running gateway deaf, so nothing is asked while a gateway of this
user holds the key.

Source: Borgee 1.3, 1.16 (10), 3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from borgee_hermes.bpp import actions
from borgee_hermes.bpp.client import BppClient, BppOptions
from borgee_hermes.bpp.limits import Limits
from borgee_hermes.locks.identity import CREDENTIAL_SCOPE, identities
from borgee_hermes.locks.ownership import InUse
from canon_ops.errors import CanonOpsError
from canon_ops.hermes.gateway import GatewayStateDamaged, read_state
from canon_ops.hermes.homes import HermesHome
from canon_ops.hermes.scoped_locks import LockOwner, lock_owner
from canon_ops.hermes.surroundings import surroundings_from_disk
from canon_ops.operate.borgee_answers import BorgeeAgent, WhoIs
from canon_ops.runtime.clock import Clock, SystemClock
from canon_ops.settings.borgee import BorgeeOptions
from canon_ops.settings.borgee_key import borgee_key
from canon_ops.settings.secret import Secret

__all__ = ["holder_of", "introduce", "who_is"]


def who_is(home: HermesHome, environ: Mapping[str, str], *, timeout_s: float, clock: Clock | None = None) -> WhoIs:
    """What ``setup borgee`` asks with; it runs an event loop of its own.

    Args:
        timeout_s: for the whole introduction.
    """

    def ask(options: BorgeeOptions, key: Secret) -> BorgeeAgent:
        owner = holder_of(home, environ, options, key)
        if owner is not None:
            raise InUse(
                f"The Borgee key for {options.origin} is in use by process {owner.pid}: asking would take its "
                "connection away",
                fix="hermes gateway stop, and start it again afterwards",
            )
        return asyncio.run(introduce(options, key, clock=clock or SystemClock(), timeout_s=timeout_s))

    return ask


def holder_of(home: HermesHome, environ: Mapping[str, str], options: BorgeeOptions, key: Secret) -> LockOwner | None:
    """The gateway that has the key at that server: one of this user by its lock, or one of this home by its state."""
    owner = lock_owner(CREDENTIAL_SCOPE, identities(home.path, options.origin, key).resource, environ)
    if owner is not None and owner.is_alive:
        return owner
    with suppress(GatewayStateDamaged):
        state = read_state(home)  # another user may run it, with locks of their own
        if state is not None and state.is_connected("borgee") and _is_key_of(home, environ, key):
            return LockOwner(state.pid, is_alive=True)
    return None


def _is_key_of(home: HermesHome, environ: Mapping[str, str], key: Secret) -> bool:
    """Whether the home's own gateway would use that key; one in the keyring counts as the same."""
    try:
        found = borgee_key(surroundings_from_disk(home.path, environ))
    except CanonOpsError:
        return False
    return found.api_key in (None, key)


async def introduce(options: BorgeeOptions, key: Secret, *, clock: Clock, timeout_s: float) -> BorgeeAgent:
    """Connect, learn who the key is, leave.

    Raises:
        AuthFailed: the server does not take the key.
        BppError: it was not reached, or what answered is no Borgee server.
    """
    limits = Limits(opening_s=min(timeout_s, Limits().opening_s), action_s=timeout_s, settle_s=0.0)  # takes in nothing
    client = BppClient(BppOptions(base_url=options.origin, api_key=key, limits=limits), clock=clock)
    await client.connect()
    try:
        user = client.identity
        if user is None:
            user = await client.act(actions.get_me())
    finally:
        await client.close()
    return BorgeeAgent(user.user_id, user.display_name, user.role)
