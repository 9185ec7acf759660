"""Registration: the request for an agent, and what the owner's decision looks like while we wait for it.

The poll token is as good as the key until the key is acknowledged, so neither shows in a repr.

Source: Canon wire 3.2-3.4; canon-adapter SC.11, SC.14.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from canon_ops.errors import CredentialError, OutsideError
from canon_ops.settings.secret import Secret
from canon_ops.wire.fields import as_object, string_first, text_of

__all__ = [
    "KeyAlreadyDelivered",
    "KeyExpired",
    "MalformedApproval",
    "MalformedRegistration",
    "RegistrationReceipt",
    "RegistrationRequest",
    "RegistrationStatus",
    "Verdict",
]

DEVELOPER_INFO = "Hermes gateway platform adapter"  # Canon wire 12.4
CLIENT_TYPE = "hermes"  # likewise

_AGAIN = "canon-ops setup canon"


@dataclass(frozen=True, slots=True)
class RegistrationRequest:
    """The body of ``POST /agents/register``.

    Args:
        owner_phone: the owner's number in E.164 form.
        local_registration_id: the same for every attempt of one Canon profile; it makes a repetition harmless.
        requested_agent_id: the agent identity wanted back; None asks for a new one.
    """

    owner_phone: str
    local_registration_id: str
    name: str = "Hermes"
    description: str = "Hermes gateway agent"
    requested_agent_id: str | None = None

    def body(self) -> dict[str, Any]:
        body = {
            "name": self.name,
            "description": self.description,
            "ownerPhone": self.owner_phone,
            "developerInfo": DEVELOPER_INFO,
            "clientType": CLIENT_TYPE,
            "localRegistrationId": self.local_registration_id,
        }
        if self.requested_agent_id:
            body["requestedAgentId"] = self.requested_agent_id
        return body


@dataclass(frozen=True, slots=True)
class RegistrationReceipt:
    """What the server gave for the request; both parts are needed to ask how it stands."""

    request_id: str
    poll_token: Secret

    @classmethod
    def parse(cls, answer: object) -> RegistrationReceipt:
        """Read the answer.

        Raises:
            MalformedRegistration: the request id or the poll token is missing.
        """
        source = as_object(answer)
        request_id, poll_token = string_first(source, "requestId"), text_of(source, "pollToken")
        if not request_id:
            raise MalformedRegistration("Canon accepted the registration but gave no request id.", fix=_AGAIN)
        if not poll_token:
            raise MalformedRegistration(
                f"Canon accepted registration {request_id} but gave no poll token, so it cannot be followed.",
                fix=_AGAIN,
            )
        return cls(request_id, Secret(poll_token))


class Verdict(Enum):
    """How a registration stands."""

    WAITING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class RegistrationStatus:
    """The answer of ``GET /agents/status/{requestId}``; an unknown status means that the owner has not decided."""

    verdict: Verdict
    api_key: Secret | None = None
    agent_id: str | None = None
    agent_name: str | None = None
    key_delivered: bool = False
    key_expired: bool = False
    status: str | None = field(default=None)

    @classmethod
    def parse(cls, answer: object) -> RegistrationStatus:
        source = as_object(answer)
        status = text_of(source, "status")
        key = text_of(source, "apiKey")
        return cls(
            verdict=Verdict(status) if status in {verdict.value for verdict in Verdict} else Verdict.WAITING,
            api_key=Secret(key) if key else None,
            agent_id=string_first(source, "agentId"),
            agent_name=string_first(source, "agentName"),
            key_delivered=source.get("apiKeyDelivered") is True,
            key_expired=source.get("apiKeyExpired") is True,
            status=status,
        )

    def credentials(self) -> tuple[Secret, str, str]:
        """The key, the agent's id and its name, of an approval that is complete.

        Raises:
            KeyExpired: the key was dropped before anybody fetched it.
            KeyAlreadyDelivered: the key went out before and is not given twice.
            MalformedApproval: the approval lacks the key, the id or the name.
        """
        if self.key_expired:
            raise KeyExpired()
        if self.api_key is None and self.key_delivered:
            raise KeyAlreadyDelivered()
        if self.api_key is None or not self.agent_id or not self.agent_name:
            named = {"an API key": self.api_key, "an agent id": self.agent_id, "an agent name": self.agent_name}
            missing = " and ".join(what for what, value in named.items() if not value)
            raise MalformedApproval(
                f"Canon approved the registration without {missing}; nothing was saved.", fix=_AGAIN
            )
        return self.api_key, self.agent_id, self.agent_name


class KeyExpired(CredentialError):
    """Nobody fetched the key in time."""

    code = "registration_key_expired"

    def __init__(self) -> None:
        super().__init__("The registration was approved, but its unclaimed key has expired.", fix=_AGAIN)


class KeyAlreadyDelivered(CredentialError):
    """The key was fetched before, by this machine or another, and is given once."""

    code = "registration_key_delivered"

    def __init__(self) -> None:
        super().__init__("The registration was approved, but its key was already delivered.", fix=_AGAIN)


class MalformedRegistration(OutsideError):
    """The server took the request without giving what is needed to follow it."""

    code = "malformed_answer"


class MalformedApproval(OutsideError):
    """The server approved without giving a usable credential."""

    code = "malformed_answer"
