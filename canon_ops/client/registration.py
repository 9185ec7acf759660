"""Registration's three calls, and the wait for the owner. No key exists yet, so none is sent.

What must be on disk before which call is the business of ``operate/register.py``; nothing is repeated here, because a
pending entry is what a later run resumes from.

Source: Canon wire 2.1, 2.6, 3.2-3.4; canon-adapter SC.11.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from canon_ops.client.answers import json_answer, refusal
from canon_ops.client.transport import HttpClient, secret_header
from canon_ops.runtime.clock import Clock
from canon_ops.settings.environments import Connection
from canon_ops.settings.secret import Secret
from canon_ops.wire.registration import RegistrationReceipt, RegistrationRequest, RegistrationStatus, Verdict
from canon_ops.wire.requests import encode_body, path_segment

if TYPE_CHECKING:
    import httpx

    from canon_ops.client.transport import Answer

__all__ = ["RegistrationApi"]

TIMEOUT_S = 30.0  # Canon wire 3.2
POLL_S = 3.0  # Canon wire 2.6
LIMIT_S = 300.0  # likewise


class RegistrationApi:
    """The registration side of one environment; use it as ``async with RegistrationApi(connection, clock=clock)``.

    Every call raises :class:`~canon_ops.client.errors.RequestFailed` when it brings nothing back.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        clock: Clock,
        timeout_s: float = TIMEOUT_S,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.connection = connection
        self._clock = clock
        self._http = HttpClient(timeout_s=timeout_s, transport=transport)

    async def __aenter__(self) -> RegistrationApi:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def register(self, request: RegistrationRequest) -> RegistrationReceipt:
        """Ask for an agent.

        Raises:
            MalformedRegistration: the request was taken, but cannot be followed.
        """
        path, headers = "/agents/register", {"Content-Type": "application/json"}
        answer = await self._request("POST", path, headers, encode_body(request.body()))
        return RegistrationReceipt.parse(self._json(answer, f"POST {path}"))

    async def status(self, request_id: str, poll_token: Secret) -> RegistrationStatus:
        """How the registration stands now."""
        path = f"/agents/status/{path_segment(request_id)}"
        answer = await self._request("GET", path, _poll_token(poll_token))
        return RegistrationStatus.parse(self._json(answer, f"GET {path}", poll_token))

    async def ack(self, request_id: str, poll_token: Secret) -> None:
        """Say that the key is safe, so that it is not handed out again; safe to repeat. Any success will do."""
        path = f"/agents/status/{path_segment(request_id)}/ack"
        answer = await self._request("POST", path, _poll_token(poll_token))
        if not 200 <= answer.status < 300:
            raise refusal(answer, name=f"POST {path}", secrets=(poll_token,), now_ms=self._clock.now_ms())

    async def wait(
        self,
        request_id: str,
        poll_token: Secret,
        *,
        every_s: float = POLL_S,
        limit_s: float = LIMIT_S,
        watch: Callable[[float], None] = lambda _left_s: None,
    ) -> RegistrationStatus | None:
        """Poll, pausing first, until the owner has decided.

        Args:
            watch: told before each pause how many seconds are left.

        Returns:
            The decision; None when there was none within ``limit_s`` seconds.
        """
        deadline_s = self._clock.monotonic_s() + limit_s
        while (left_s := deadline_s - self._clock.monotonic_s()) > 0:
            watch(left_s)
            await self._clock.sleep(every_s)
            status = await self.status(request_id, poll_token)
            if status.verdict is not Verdict.WAITING:
                return status
        return None

    async def _request(self, method: str, path: str, headers: dict[str, str], content: bytes | None = None) -> Answer:
        url = self.connection.base_url + path
        return await self._http.request(method, url, name=f"{method} {path}", headers=headers, content=content)

    def _json(self, answer: Answer, name: str, *secrets: Secret) -> Any:
        return json_answer(answer, name=name, secrets=secrets, now_ms=self._clock.now_ms())


def _poll_token(poll_token: Secret) -> dict[str, str]:
    return secret_header("x-canon-poll-token", poll_token, what="poll token of the registration")
