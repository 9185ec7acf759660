"""A platform with no service behind it, as a folder plugin in a real gateway: the host's own time for a scenario.

It listens on loopback. A line in is a person's message, a line out is what the host said, once it has finished.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.waiting import wait_until

__all__ = ["NAME", "add_bare_platform", "port_of"]

NAME = "bare"
_MANIFEST = f"name: {NAME}\nversion: 1.0.0\ndescription: a platform without a service\nkind: platform\n"
_PLUGIN = """\
import asyncio
import json
from pathlib import Path


def register(ctx):
    from gateway.config import Platform
    from gateway.platforms.base import BasePlatformAdapter, MessageEvent, MessageType, SendResult

    class Bare(BasePlatformAdapter):
        gateway_runner = None
        authorization_is_upstream = True

        def __init__(self, config):
            super().__init__(config, Platform("bare"))
            self.texts, self.ended = {}, asyncio.Event()

        async def connect(self, *, is_reconnect=False):
            self.server = await asyncio.start_server(self.converse, "127.0.0.1", 0)
            port = self.server.sockets[0].getsockname()[1]
            Path(__file__).with_name("port").write_text(str(port))
            self._mark_connected()
            return True

        async def converse(self, reader, writer):
            while line := await reader.readline():
                self.ended.clear()
                self.texts.clear()
                source = self.build_source(chat_id="room", chat_type="dm", user_id="u", user_name="Ann")
                text = json.loads(line)
                await self.handle_message(MessageEvent(text=text, message_type=MessageType.TEXT, source=source))
                await self.ended.wait()
                writer.write((json.dumps(list(self.texts.values())) + "\\n").encode())
                await writer.drain()
            writer.close()

        async def disconnect(self):
            self.server.close()
            self._mark_disconnected()

        async def send(self, chat_id, content, reply_to=None, metadata=None):
            self.texts[str(len(self.texts) + 1)] = content
            return SendResult(success=True, message_id=str(len(self.texts)))

        async def edit_message(self, chat_id, message_id, content, **more):
            self.texts[message_id] = content
            return SendResult(success=True, message_id=message_id)

        async def get_chat_info(self, chat_id):
            return {"name": chat_id, "type": "dm"}

        async def on_processing_complete(self, event, outcome):
            self.ended.set()

    ctx.register_platform(
        name="bare", label="Bare", adapter_factory=Bare, check_fn=lambda: True, validate_config=lambda config: True
    )
"""


def add_bare_platform(hermes_home: Path) -> None:
    """Put the plugin into a home whose configuration enables it."""
    folder = hermes_home / "plugins" / NAME
    folder.mkdir(parents=True)
    folder.joinpath("plugin.yaml").write_text(_MANIFEST, encoding="utf-8")
    folder.joinpath("__init__.py").write_text(_PLUGIN, encoding="utf-8")


def port_of(hermes_home: Path) -> int:
    """Where the platform of a gateway listens, as soon as it does."""
    file = hermes_home / "plugins" / NAME / "port"
    wait_until(lambda: file.exists() and file.read_text(), timeout_s=60)
    return int(file.read_text())
