"""A loopback model endpoint as one object.

::

    with ModelSandbox() as model:
        ...  # point a host at model.endpoints.base_url and say "[say hello]"
        model.requests[-1].user_text
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from canon_ops.errors import OutsideError
from canon_ops.sandbox.model.app import ModelApp, Pauses
from canon_ops.sandbox.model.script import Plan, Script, user_text
from canon_ops.sandbox.options import ModelEndpoints, ModelOptions
from canon_ops.sandbox.serving import ServerThread, loopback_socket, write_ready_file

__all__ = ["ModelRequest", "ModelSandbox"]

API_KEY = "sandbox-model-key"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One completion request as it came in, and what was decided about it."""

    number: int
    body: Json
    plan: Plan

    @property
    def streamed(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def user_text(self) -> str:
        return user_text(self.body.get("messages", []))

    @property
    def system(self) -> str:
        """The system prompt."""
        messages = self.body.get("messages", [])
        return "\n".join(str(item.get("content")) for item in messages if item.get("role") in {"system", "developer"})

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that were offered."""
        return tuple(tool["function"]["name"] for tool in self.body.get("tools") or () if "function" in tool)


class PortInUse(OutsideError):
    """Somebody else listens there."""

    code = "sandbox_port_in_use"


class ModelSandbox:
    """One loopback model endpoint with its own thread.

    Attributes:
        endpoints: where it listens; set by :meth:`start`.
    """

    endpoints: ModelEndpoints

    def __init__(self, options: ModelOptions | None = None) -> None:
        self.options = options or ModelOptions()
        self._script = Script(self.options.answers, default=self.options.default_answer)
        self._requests: deque[ModelRequest] = deque(maxlen=self.options.journal_entries)
        self._decided = 0
        self._changed = threading.Condition()
        self.pauses = Pauses()
        self._thread: ServerThread | None = None

    # Life -------------------------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Listen; return when the listener accepts and the ready file, if any, is written."""
        try:
            sock = loopback_socket(self.options.port)
        except OSError as exc:
            what = f"127.0.0.1:{self.options.port} cannot be used: {exc.strerror}"
            raise PortInUse(what, fix="choose another port, or 0") from exc
        base_url = f"http://127.0.0.1:{sock.getsockname()[1]}/v1"
        self.endpoints = ModelEndpoints(base_url=base_url, model=self.options.model, api_key=API_KEY)
        self._thread = ServerThread(ModelApp(self), [sock], name="sandbox-model", on_stop=self.pauses.end)
        self._thread.start()
        if self.options.ready_file is not None:
            write_ready_file(self.options.ready_file, self.endpoints.as_dict())
        return self

    def stop(self) -> None:
        """Close the socket, join the thread; safe to repeat."""
        if self._thread is not None:
            self._thread.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # Script and log ---------------------------------------------------------------------------------------------

    def answers(self, *texts: str, instead: bool = False) -> None:
        """Add scripted answers behind those that are left, or give them ``instead`` of those."""
        with self._changed:
            if instead:
                self._script.clear()
            self._script.add(texts)

    @property
    def requests(self) -> list[ModelRequest]:
        """The completion requests so far that are remembered, oldest first."""
        with self._changed:
            return list(self._requests)

    def wait(
        self, count: int = 1, *, timeout_s: float = 30, where: Callable[[ModelRequest], bool] | None = None
    ) -> list[ModelRequest]:
        """Block until ``count`` requests (that fit ``where``) have come in.

        Raises:
            TimeoutError: they did not.
        """

        def fitting() -> list[ModelRequest]:
            return [request for request in self._requests if where is None or where(request)]

        with self._changed:
            if not self._changed.wait_for(lambda: len(fitting()) >= count, timeout_s):
                raise TimeoutError(f"waited {timeout_s:g} s for {count} model requests, saw {len(fitting())}")
            return fitting()

    def decide(self, body: Json) -> ModelRequest:
        """Choose the answer to a request and log it, in one step."""
        with self._changed:
            self._decided += 1
            plan = self._script.decide(body["messages"], scripted=bool(body.get("stream")), number=self._decided)
            request = ModelRequest(self._decided, body, plan)
            self._requests.append(request)
            self._changed.notify_all()
            return request
