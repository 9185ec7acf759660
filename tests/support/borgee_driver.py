"""A Borgee client that a test drives by commands: the published one in a child process, or ours on a thread.

``python borgee_driver.py`` drives the published client: it reads one JSON object a line (``{"id", "do", …}``) and
answers each with ``{"id", "value"}`` or ``{"id", "error": {"type", "code", "text"}}``, in the order in which they end.
Only public names of the published package are used. Stand-alone: the standard library, and whichever client it drives.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import json
import sys
from collections.abc import Callable
from typing import Any


def plain(value: Any) -> Any:
    """Anything a client gives, as JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict) or hasattr(value, "items"):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


class Handling:
    """What the handlers of either client do, as the test wants it."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.config = order.get("config")
        self.request = order.get("request")
        self.stop_turn = order.get("stop_turn")
        self.running = 0
        self.most_running = 0
        self.seen: list[Any] = []
        self.release = asyncio.Event()

    async def answer_request(self, action: str, data: Any) -> Any:
        self.seen.append([action, plain(data)])
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            if self.request == "wait":
                await self.release.wait()
            if self.request == "hang":
                await asyncio.sleep(3600)
            if self.request == "raise":
                raise RuntimeError("as ordered")
            if self.request == "huge":
                return "x" * 200_000
            return self.request if isinstance(self.request, dict) else None
        finally:
            self.running -= 1

    async def stop(self, channel_id: str) -> Any:
        self.seen.append(["stop_turn", channel_id])
        if self.stop_turn == "raise":
            raise RuntimeError("as ordered")
        return self.stop_turn


class Published:
    """``borgee-plugin-sdk``."""

    def __init__(self, order: dict[str, Any]) -> None:
        import borgee_plugin_sdk as sdk  # type: ignore[import-not-found,unused-ignore]

        self._sdk = sdk
        self.handling = handling = Handling(order)

        async def config(update: Any, context: Any) -> Any:
            handling.seen.append(["config", plain(update.blob)])
            if handling.config == "hang":
                await asyncio.sleep(3600)
            if handling.config == "wrong":
                return "a text"
            if handling.config == "raise":
                raise RuntimeError("as ordered")
            return sdk.ConfigApplyResult(sdk.ConfigApplyStatus.APPLIED)

        async def stop(channel_id: str) -> Any:
            aborted = await handling.stop(channel_id)
            return {"aborted": aborted} if isinstance(aborted, bool) else aborted

        self.client = sdk.create_borgee_plugin(
            sdk.BorgeePluginOptions(
                base_url=order["base_url"],
                api_key=order["key"],
                agent_id=order.get("agent_id", ""),
                plugin_id="hermes-borgee",
                allow_insecure_loopback=True,
                config_update_handler=config if handling.config else None,
                server_request_handler=handling.answer_request if handling.request else None,
                stop_turn_handler=stop if handling.stop_turn is not None else None,
                heartbeat_interval=order.get("heartbeat_s", 30.0),
                action_timeout=order.get("action_s", 30.0),
                reconnect_base=order.get("backoff_s", 0.02),
                reconnect_max=0.1,
            )
        )
        self.connect = self.client.connect
        self.close = self.client.close

    @property
    def state(self) -> Any:
        return self.client.state

    @property
    def agent_id(self) -> str:
        return str(self.client.agent_id)

    def deliveries(self) -> Any:
        return self.client.deliveries()

    def states(self) -> Any:
        return self.client.state_changes()

    @staticmethod
    def event(delivery: Any) -> dict[str, Any]:
        event = delivery.event
        message = event.message
        return {
            "kind": event.kind.value,
            "channel_id": event.channel_id,
            "channel_type": event.channel_type or "",
            "message_id": message.id if message else event.message_id,
            "author_id": message.author_id if message else "",
            "author_name": event.author_name or "",
            "body": message.body if message else "",
            "created_at_ms": event.created_at,
            "reaction": plain(event.reaction),
            "context": plain(event.conversation_context),
        }

    async def act(self, name: str, args: dict[str, Any]) -> Any:
        given = dict(args)
        if name == "react" and given.pop("removed", False):
            name = "unreact"
        name = {"read_channel_history": "read_history"}.get(name, name)
        if "content" in given:
            given["body"] = given.pop("content")
        value = plain(await getattr(self.client, name)(**given))
        if name in {"send_message", "create_dm"}:
            return next(iter(value.values()))
        return value

    async def report_started(self, task_id: str, channel_id: str, subject: str) -> None:
        await self.client.report_task_started(task_id, channel_id, subject)

    async def report_finished(self, task_id: str, channel_id: str, outcome: str, reason: str = "") -> None:
        why = self._sdk.FaultReason(reason) if reason else None
        await self.client.report_task_finished(task_id, channel_id, self._sdk.TaskOutcome(outcome), why)


class Ours:
    """``borgee_hermes.bpp``."""

    def __init__(self, order: dict[str, Any]) -> None:
        from borgee_hermes.bpp.client import BppClient, BppOptions
        from borgee_hermes.bpp.limits import Limits
        from borgee_hermes.bpp.port import Applied, Handlers
        from canon_ops.runtime.clock import SystemClock
        from canon_ops.settings.secret import Secret

        self.handling = handling = Handling(order)

        async def config(update: Any) -> Any:
            handling.seen.append(["config", plain(update.blob)])
            if handling.config == "hang":
                await asyncio.sleep(3600)
            if handling.config == "wrong":
                return "a text"
            if handling.config == "raise":
                raise RuntimeError("as ordered")
            return Applied()

        async def request(asked: Any) -> Any:
            return await handling.answer_request(asked.action, asked.data)

        handlers = Handlers(
            config=config if handling.config else None,
            request=request if handling.request else None,
            stop_turn=handling.stop if handling.stop_turn is not None else None,
        )
        limits = Limits(
            heartbeat_s=order.get("heartbeat_s", 20.0),
            action_s=order.get("action_s", 30.0),
            backoff_first_s=order.get("backoff_s", 0.02),
            backoff_max_s=0.1,
            takeover_s=0.2,
            **order.get("limits", {}),
        )
        options = BppOptions(
            base_url=order["base_url"], api_key=Secret(order["key"]), agent_id=order.get("agent_id", ""), limits=limits
        )
        self.client = BppClient(options, clock=SystemClock(), handlers=handlers)
        self._clock = SystemClock()
        self.connect = self.client.connect
        self.close = self.client.close

    @property
    def state(self) -> Any:
        return self.client.state

    @property
    def agent_id(self) -> str:
        return self.client.agent_id

    def deliveries(self) -> Any:
        return self.client.deliveries()

    def states(self) -> Any:
        return self.client.state_changes()

    @staticmethod
    def event(delivery: Any) -> dict[str, Any]:
        event: dict[str, Any] = plain(delivery.event)
        if event["kind"] in {"deleted", "reaction"}:
            event |= {"author_id": "", "body": ""}  # the published client tells none
        return event

    async def act(self, name: str, args: dict[str, Any]) -> Any:
        from borgee_hermes.bpp import actions

        value = await self.client.act(getattr(actions, name)(**args))
        if name == "list_zones":
            return value.as_dict()
        return plain(value.raw) if name == "get_me" else plain(value)

    async def report_started(self, task_id: str, channel_id: str, subject: str) -> None:
        now_ms = self._clock.now_ms()
        await self.client.report_task_started(
            task_id=task_id, channel_id=channel_id, subject=subject, started_at_ms=now_ms
        )

    async def report_finished(self, task_id: str, channel_id: str, outcome: str, reason: str = "") -> None:
        now_ms = self._clock.now_ms()
        await self.client.report_task_finished(
            task_id=task_id, channel_id=channel_id, outcome=outcome, reason=reason, finished_at_ms=now_ms
        )


class Driver:
    """Carries the commands out; those that wait run side by side."""

    def __init__(self, make: type[Published] | type[Ours]) -> None:
        self._make = make
        self._client: Published | Ours | None = None
        self._incoming: Any = None
        self._open: dict[int, Any] = {}
        self._running: dict[int, asyncio.Task[None]] = {}
        self._seen: list[str] = []
        self._watching: asyncio.Task[None] | None = None

    @property
    def client(self) -> Published | Ours:
        assert self._client is not None, "open comes first"
        return self._client

    def start(self, order: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> None:
        """Carry a command out beside the others, and tell its answer."""
        task = asyncio.ensure_future(self._carry_out(order, tell))
        self._running[order["id"]] = task
        task.add_done_callback(lambda _: self._running.pop(order["id"], None))

    async def _carry_out(self, order: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> None:
        answer: dict[str, Any] = {"id": order["id"]}
        try:
            answer["value"] = plain(await getattr(self, f"do_{order['do']}")(order))
        except asyncio.CancelledError:
            answer["error"] = {"type": "CancelledError", "code": "cancelled", "text": ""}
        except Exception as exc:
            answer["error"] = {"type": type(exc).__name__, "code": getattr(exc, "code", None), "text": str(exc)}
            if hasattr(exc, "had_no_effect"):
                answer["error"]["had_no_effect"] = exc.had_no_effect
        tell(answer)

    async def end(self) -> None:
        """Close the client and let everything end."""
        if self._client is not None:
            await self._client.close()
        for task in [*self._running.values(), *([self._watching] if self._watching else [])]:
            task.cancel()
            await asyncio.wait({task})
        if self._incoming is not None:
            await self._incoming.aclose()

    async def do_open(self, order: dict[str, Any]) -> None:
        self._client = self._make(order)
        self._watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        async for state in self.client.states():
            if not self._seen or self._seen[-1] != state.status.value:
                self._seen.append(state.status.value)

    async def do_connect(self, order: dict[str, Any]) -> None:
        await self.client.connect()

    async def do_close(self, order: dict[str, Any]) -> None:
        await self.client.close()

    async def do_state(self, order: dict[str, Any]) -> Any:
        state = self.client.state
        return {"status": state.status, "code": state.code or "", "reason": state.reason, "seen": self._seen}

    async def do_agent_id(self, order: dict[str, Any]) -> str:
        return self.client.agent_id

    async def do_take(self, order: dict[str, Any]) -> Any:
        if self._incoming is None:
            self._incoming = self.client.deliveries()
        delivery = await anext(self._incoming, None)
        if delivery is None:
            return None
        self._open[order["id"]] = delivery
        return {"delivery": order["id"], **self.client.event(delivery)}

    async def do_checkpoint(self, order: dict[str, Any]) -> None:
        await self._open[order["delivery"]].checkpoint()

    async def do_fail(self, order: dict[str, Any]) -> None:
        await self._open[order["delivery"]].fail(RuntimeError("as ordered"))

    async def do_act(self, order: dict[str, Any]) -> Any:
        return await self.client.act(order["name"], order["args"])

    async def do_report(self, order: dict[str, Any]) -> None:
        await getattr(self.client, f"report_{order['what']}")(**order["args"])

    async def do_drain(self, order: dict[str, Any]) -> None:
        assert isinstance(self._client, Ours)
        self._client.client.stop_deliveries()

    async def do_tasks(self, order: dict[str, Any]) -> int:
        return len(asyncio.all_tasks())

    async def do_cancel(self, order: dict[str, Any]) -> None:
        self._running[order["which"]].cancel()

    async def do_handlers(self, order: dict[str, Any]) -> Any:
        handling = self.client.handling
        if order.get("release"):
            handling.release.set()
        return {"seen": handling.seen, "running": handling.running, "most_running": handling.most_running}


async def serve() -> None:
    """Take commands from stdin until it ends."""
    driver = Driver(Published)
    reader = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    def tell(answer: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()

    while line := await reader.readline():
        driver.start(json.loads(line), tell)


if __name__ == "__main__":
    asyncio.run(serve())
