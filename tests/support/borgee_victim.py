"""A process that gets killed: our adapter on the host's own base class and session store, with the real client.

It is what a gateway does with Borgee, without the rest of a gateway, so that it starts in a second. The agent writes
down each text that it is given before it does anything else; that file is what "was run" means to the tests.

    python -m tests.support.borgee_victim HOME BASE_URL        (the key in BORGEE_API_KEY)

``KILL=claim:after:3`` in the environment kills the process at the third call of that method of the inbox, before or
after it was carried out. It ends when a line comes on standard input, and says "ready" when it is connected.

Some steps are rare. A process that is to die at one of these brings it about: ``give_back`` (the claim of a command
takes longer than its turn), ``doubt`` (the host puts a text behind a turn and drops it), ``quarantine_processing`` (a
command does not come to an end in its time).
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from borgee_hermes import adapter as adapters
from borgee_hermes import probe
from borgee_hermes.host import HostLocks, load_host
from borgee_hermes.inbox.inbox import Inbox
from borgee_hermes.inbox.place import inbox_file
from borgee_hermes.lanes.dispatch import Dispatcher
from borgee_hermes.locks.ownership import Ownership
from borgee_hermes.parts import Parts
from canon_ops.settings.borgee import read_borgee

__all__ = ["EFFECTS", "RARE", "STEPS"]

EFFECTS = "effects.log"
RARE = ("give_back", "doubt", "quarantine_processing")
# Every call by which the inbox changes; each is one commit.
STEPS = (
    "insert",
    "claim",
    "give_back",
    "finish",
    "doubt",
    "record_outbound",
    "recover_processing",
    "quarantine_in_doubt",
    "quarantine_processing",
    "discard",
    "requeue",
    "prune",
)


def bring_about(step: str, adapter: Any) -> None:
    """Let the host do what leads to a rare step."""
    if step == "quarantine_processing":
        Dispatcher.__init__.__kwdefaults__["control_limit_s"] = 0.3  # type: ignore[index]
    if step != "doubt":
        return
    give = adapter.handle_message

    async def begins_another_and_forgets(event: Any) -> None:
        if not event.text.startswith("/"):
            event = dataclasses.replace(event, raw_message=None, message_id=None)
        await give(event)

    adapter.handle_message = begins_another_and_forgets


class Mortal(Inbox):
    """An inbox that ends its process where it is told to."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        step, _, rest = os.environ.get("KILL", "").partition(":")
        moment, _, count = rest.partition(":")
        self._step, self._moment, self._count = step, moment, int(count or 0)
        self._calls: Counter[str] = Counter()
        for name in STEPS:
            setattr(self, name, self._watched(name, getattr(self, name)))

    def _watched(self, name: str, call: Any) -> Any:
        async def watched(*args: Any, **more: Any) -> Any:
            self._calls[name] += 1
            is_it = name == self._step and self._calls[name] == self._count
            if is_it and self._moment == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = await call(*args, **more)
            if is_it:
                os.kill(os.getpid(), signal.SIGKILL)
            if (self._step, name) == ("give_back", "claim") and result.effective_body.startswith("/"):
                await asyncio.sleep(0.3)  # longer than any turn here
            return result

        return watched


async def live(home: Path, base_url: str) -> None:
    """Connect, work, and end when told."""
    from gateway.config import PlatformConfig, load_gateway_config
    from gateway.session import SessionStore

    config = load_gateway_config()
    store = SessionStore(config.sessions_dir, config)
    extra = {
        "base_url": base_url,
        "allow_insecure_loopback": True,
        "drain_timeout_seconds": 5,
        "group_sessions_per_user": False,
        "_busy_input_mode": "queue",
    }
    platform = PlatformConfig(enabled=True, extra=extra)
    real = adapters.parts_of(platform)
    parts = Parts(
        home=home,
        check=lambda: read_borgee(probe.extra_of(platform)),
        find_key=real.find_key,
        open_session=real.open_session,
        inbox=lambda folder: Mortal(inbox_file(folder)),
        locks=HostLocks(),
        ownership=Ownership(),
    )
    adapter = adapters.build_adapter_class(load_host(), parts_for=lambda _: parts)(platform)
    step = os.environ.get("KILL", "").partition(":")[0]
    bring_about(step, adapter)
    effects = os.open(home / EFFECTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    async def agent(event: Any) -> str:
        store.get_or_create_session(event.source)
        if event.message_id is None:
            return "something of the host's own"
        os.write(effects, f"{event.message_id}\t{event.source.chat_id}\t{event.text}\n".encode())
        if not event.text.startswith("/"):
            await asyncio.sleep(0.2 if step in RARE else 0.01)
        elif step == "quarantine_processing":
            await asyncio.Event().wait()
        return f"re: {event.text}"

    adapter.set_message_handler(agent)
    adapter.set_session_store(store)
    if not await adapter.connect():
        sys.exit(f"not connected: {adapter.fatal_error_message}")
    print("ready", flush=True)  # noqa: T201
    await asyncio.to_thread(sys.stdin.readline)
    await adapter.disconnect()


if __name__ == "__main__":
    asyncio.run(live(Path(sys.argv[1]), sys.argv[2]))
