"""A platform with no service behind it in a real gateway: the host's own time for a scenario, and Canon's neighbour.

It listens on loopback. A line in is a person's message, or a room and the message; a line out is what the host said,
once it has finished; one message is under way at a time. It comes as a folder plugin, or as a distribution of its own
as other makers' platforms do.
"""

from __future__ import annotations

import json
import socket
import zipfile
from collections.abc import Iterable
from pathlib import Path

from tests.support.small_wheels import small_wheel
from tests.support.waiting import wait_until

__all__ = ["MODULE", "NAME", "add_bare_distribution", "add_bare_platform", "converse", "port_of"]

NAME = "bare"
MODULE = "bare_platform_of_the_tests"
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
            self.texts, self.ended = {}, {}  # by room: the host may have something to say in others

        async def connect(self, *, is_reconnect=False):
            self.server = await asyncio.start_server(self.converse, "127.0.0.1", 0)
            port = self.server.sockets[0].getsockname()[1]
            Path(__file__).with_name("port").write_text(str(port))
            self._mark_connected()
            return True

        async def converse(self, reader, writer):
            while line := await reader.readline():
                said = json.loads(line)
                room, text = said if isinstance(said, list) else ("room", said)
                self.texts[room], self.ended[room] = {}, asyncio.Event()
                source = self.build_source(chat_id=room, chat_type="dm", user_id="u", user_name="Ann")
                await self.handle_message(MessageEvent(text=text, message_type=MessageType.TEXT, source=source))
                await self.ended[room].wait()
                writer.write((json.dumps(list(self.texts[room].values())) + "\\n").encode())
                await writer.drain()
            writer.close()

        async def disconnect(self):
            self.server.close()
            self._mark_disconnected()

        async def send(self, chat_id, content, reply_to=None, metadata=None):
            texts = self.texts.setdefault(chat_id, {})
            texts[str(len(texts) + 1)] = content
            return SendResult(success=True, message_id=str(len(texts)))

        async def edit_message(self, chat_id, message_id, content, **more):
            self.texts[chat_id][message_id] = content
            return SendResult(success=True, message_id=message_id)

        async def get_chat_info(self, chat_id):
            return {"name": chat_id, "type": "dm"}

        async def on_processing_complete(self, event, outcome):
            if event.source.chat_id in self.ended:
                self.ended[event.source.chat_id].set()

    ctx.register_platform(
        name="bare", label="Bare", adapter_factory=Bare, check_fn=lambda: True, validate_config=lambda config: True
    )
"""


def add_bare_platform(hermes_home: Path) -> Path:
    """Put the plugin into a home whose configuration enables it; its folder."""
    folder = hermes_home / "plugins" / NAME
    folder.mkdir(parents=True)
    folder.joinpath("plugin.yaml").write_text(_MANIFEST, encoding="utf-8")
    folder.joinpath("__init__.py").write_text(_PLUGIN, encoding="utf-8")
    return folder


def add_bare_distribution(folder: Path) -> Path:
    """Unpack the plugin's distribution into ``folder``, which goes onto the gateway's path; where its module lies."""
    entry_points = f"[hermes_agent.plugins]\n{NAME} = {MODULE}\n"
    wheel = small_wheel(
        folder.with_name(f"{folder.name}-wheel"),
        "bare-platform",
        "1.0.0",
        {f"{MODULE}/__init__.py": _PLUGIN},
        entry_points=entry_points,
    )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder / MODULE


def port_of(plugin: Path) -> int:
    """Where the platform of a gateway listens, as soon as it does; ``plugin`` is the folder of its code."""
    file = plugin / "port"
    wait_until(lambda: file.exists() and file.read_text(), timeout_s=60)
    return int(file.read_text())


def converse(port: int, texts: Iterable[str]) -> list[list[str]]:
    """Say each text once the last one is answered; what the host said to each."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection, connection.makefile("rw") as line:
        answers = []
        for text in texts:
            line.write(json.dumps(text) + "\n")
            line.flush()
            answers.append(json.loads(line.readline()))
    return answers
