"""Is there a credential, is it tied to an environment, and does that environment take it?"""

from __future__ import annotations

import asyncio

from canon_ops.doctor.check import About, Check, Finding, Fix, Place, Status, from_error
from canon_ops.doctor.examination import Examination, FactMissing, credential_owner
from canon_ops.errors import CanonOpsError
from canon_ops.keyring.access import KeyringEntryMissing, KeyringProblem
from canon_ops.operate.profile_key import key_in_force
from canon_ops.settings.credentials import Resolution
from canon_ops.settings.problems import reconnect_words
from canon_ops.wire.health import IdentityMismatch

__all__ = ["CHECKS"]


def _present(examination: Examination) -> Finding:
    try:
        found = examination.resolution.examine()
    except CanonOpsError as exc:
        match credential_owner(exc):
            case "creds.present":
                return from_error(Status.ERROR, exc)
            case "creds.binding":
                return Finding(Status.OK, "There is a Canon credential; creds.binding tells what it lacks.")
            case owner:
                raise FactMissing(owner) from exc
    key = found.settings["api_key"]
    who = f"agent {found.agent_name or found.agent_id}" if found.agent_id else "an agent that only Canon knows"
    hidden = [shadow.origin.describe() for shadow in key.shadows]
    data = {
        "canon_profile": found.profile,
        "agent_id": found.agent_id,
        "origin": key.origin.describe(),
        "hides": hidden,
    }
    if hidden:
        return Finding(
            Status.WARNING,
            f"The key in force is {key.origin.describe()}; it hides {' and '.join(hidden)}.",
            Fix(key.shadows[0].origin.to_drop()),
            data=data,
        )
    return Finding(Status.OK, f"The key for {who} is {key.origin.describe()}.", data=data)


def _binding(examination: Examination) -> Finding:
    try:
        found = examination.resolution.examine()
    except CanonOpsError as exc:
        if (owner := credential_owner(exc)) == "creds.binding":
            return from_error(Status.ERROR, exc)
        raise FactMissing(owner) from exc
    connection = found.connection
    return Finding(
        Status.OK,
        f"The credential belongs to {connection.environment_id}.",
        data={
            "environment_id": connection.environment_id,
            "base_url": connection.base_url,
            "stream_url": connection.stream_url,
        },
    )


async def _accepted(examination: Examination) -> Finding:
    found = await asyncio.to_thread(examination.resolution)
    try:
        key = await asyncio.to_thread(key_in_force, found, examination.keyring)
    except (KeyringProblem, KeyringEntryMissing) as exc:
        raise FactMissing("creds.keyring") from exc
    api_probe = (await examination.probes())["API"]
    if isinstance(api_probe.identity, IdentityMismatch):
        return Finding(
            Status.SKIPPED,
            "The key is not shown to a service of another environment: net.environment tells more.",
            data={"needs": "net.environment"},
        )
    # With all that could be said to Canon, and all that it could answer.
    from canon_ops.client.api import CanonApi
    from canon_ops.client.errors import ApiError, Forbidden, Unauthorized
    from canon_ops.client.transport import UnusableKey

    try:
        async with CanonApi(found.connection, key, clock=examination.clock, timeout_s=examination.timeout_s) as api:
            me = await api.me()
    except (Unauthorized, Forbidden, UnusableKey) as exc:
        return _refused(examination, found, exc, exc.status if isinstance(exc, ApiError) else None)
    if me.agent_id is not None and found.agent_id not in (None, me.agent_id):
        return Finding(
            Status.ERROR,
            f"The key of the Canon profile {found.profile} belongs to agent {me.agent_id}, not to {found.agent_id}.",
            Fix(examination.command(reconnect_words(found.profile, found.agent_id))),
            data={"expected": found.agent_id, "found": me.agent_id},
        )
    name = me.display_name or me.agent_id or "the agent"
    return Finding(Status.OK, f"Canon takes the key: it is {name}.", data={"agent_id": me.agent_id})


def _refused(examination: Examination, found: Resolution, error: CanonOpsError, status: int | None) -> Finding:
    key = found.settings["api_key"]
    return Finding(
        Status.ERROR,
        f"{found.connection.environment_id} does not take the key ({key.origin.describe()}): {error.what}",
        Fix(examination.command(reconnect_words(found.profile, found.agent_id))),
        Place(key.origin.file, key.origin.line, path=key.name),
        {"code": error.code, "status": status},
    )


CHECKS = (
    Check(
        "creds.present",
        "Credential",
        "Is there one Canon credential to use?",
        _present,
        about=About(
            "No agent was registered here yet, several profiles are there and none is chosen, or a file is damaged.",
            "The gateway has nothing to connect with. A key that hides another one is used without anybody seeing it.",
            "Choose a profile with CANON_AGENT in .env, or set CANON_API_KEY with CANON_ENVIRONMENT_ID.",
            ("CANON_AGENT", "CANON_API_KEY", "agents.json"),
        ),
    ),
    Check(
        "creds.binding",
        "Environment",
        "Is the credential tied to an environment?",
        _binding,
        about=About(
            "The profile is older than the binding, or a key was set without its environment.",
            "A key is shown to its own environment only; without knowing which, it is shown to none.",
            "Set CANON_ENVIRONMENT_ID, and the endpoints where the environment has no packaged ones.",
            ("CANON_ENVIRONMENT_ID", "CANON_BASE_URL", "CANON_STREAM_URL", "CANON_RTDB_URL"),
        ),
    ),
    Check(
        "creds.accepted",
        "Key",
        "Does Canon take the key, as that agent?",
        _accepted,
        network=True,
        about=About(
            "The key was revoked or rotated, is another agent's, or was copied incompletely.",
            "Canon refuses everything that the gateway asks, and the gateway stays disconnected.",
            "Register again under the same agent; the old conversations stay.",
            ("CANON_API_KEY", "agents.json"),
        ),
    ),
)
