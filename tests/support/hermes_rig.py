"""A Hermes home with a platform of ours in it that does nothing, for tests whose subject is the host.

The rig is a folder plugin, so it needs no distribution. ``RIG`` in the gateway's environment says what its connect
does: ``connect`` (the default), ``decline`` (False: the host retries) or ``crash`` (the process ends with code 7).
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["RIG_CONFIG", "add_rig", "furnish_rig"]

RIG_CONFIG = """\
model:
  default: stub-model
  provider: custom
  base_url: http://127.0.0.1:9/v1
  api_key: stub-key
  context_length: 200000
plugins:
  enabled: [rig]
platforms:
  rig:
    enabled: true
    token: test
security:
  tirith_enabled: false
  allow_lazy_installs: false
onboarding:
  profile_build: "off"
memory:
  memory_enabled: false
  user_profile_enabled: false
kanban:
  dispatch_in_gateway: false
"""

_MANIFEST = "name: rig\nversion: 1.0.0\ndescription: test platform\nkind: platform\n"

_PLUGIN = """\
import os


def register(ctx):
    from gateway.config import Platform
    from gateway.platforms.base import BasePlatformAdapter, SendResult

    class RigAdapter(BasePlatformAdapter):
        def __init__(self, config):
            super().__init__(config, Platform("rig"))

        async def connect(self, *, is_reconnect=False):
            mode = os.environ.get("RIG", "connect")
            if mode == "crash":
                os._exit(7)
            if mode == "connect":
                self._mark_connected()
            return mode == "connect"

        async def disconnect(self):
            self._mark_disconnected()

        async def send(self, chat_id, content, reply_to=None, metadata=None):
            return SendResult(success=True, message_id="1")

        async def get_chat_info(self, chat_id):
            return {"name": chat_id, "type": "dm"}

    ctx.register_platform(name="rig", label="Rig", adapter_factory=RigAdapter, check_fn=lambda: True)
"""


def add_rig(home: Path) -> None:
    """Put the rig's plugin into a home; its configuration has to enable ``rig`` as plugin and as platform."""
    plugin = home / "plugins" / "rig"
    plugin.mkdir(parents=True)
    plugin.joinpath("plugin.yaml").write_text(_MANIFEST)
    plugin.joinpath("__init__.py").write_text(_PLUGIN)


def furnish_rig(home: Path, config: str = RIG_CONFIG) -> None:
    """Make ``home`` a Hermes home whose gateway loads the rig and calls nothing outside."""
    add_rig(home)
    home.joinpath("config.yaml").write_text(config)
