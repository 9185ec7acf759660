"""The half of ``tests/support/warm_gateways.py`` that runs in the interpreter of a gateway before its script does.

Python imports this module before it looks at its script. Here it loads what every gateway loads, and then waits. Each
request makes a fork, and in the fork this module returns: the interpreter goes on to its script, ``hermes``, as if it
had just been started. Of the host nothing is loaded but the registry of its tools, because the host's modules read the
home when they are loaded; that registry remembers which files register tools, which it otherwise asks of the parsed
text of each file in every gateway.

While it waits the process is not called ``gateway`` in the process table: hosts look there for running gateways.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib
import json
import os
import selectors
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

LIBRARIES = (  # what a gateway of the audited hosts has loaded after its first answer
    *("asyncio", "sqlite3", "unittest.mock", "cryptography.hazmat.primitives.ciphers.aead", "dateutil.parser"),
    *("openai", "openai.resources.chat", "openai.resources.responses", "openai.types.responses"),
    *("anyio._backends._asyncio", "httpx", "httpcore", "requests", "socksio", "websockets.asyncio.client"),
    *("croniter", "dotenv", "psutil", "pydantic", "yaml"),
    *("prompt_toolkit", "prompt_toolkit.application", "prompt_toolkit.shortcuts", "prompt_toolkit.widgets"),
    *("rich.console", "rich.live", "rich.markdown", "rich.panel", "rich.progress", "rich.syntax", "rich.table"),
)
OURS = (
    *("canon_hermes_plugin.adapter", "canon_hermes_plugin.gateway_runtime", "canon_hermes_plugin.hooks"),
    *("borgee_hermes.adapter", "borgee_hermes.runtime", "canon_ops.hermes.surroundings"),
)


def _load() -> None:
    for name in (*LIBRARIES, *OURS):
        with suppress(ImportError):
            importlib.import_module(name)
    with suppress(ImportError, AttributeError):
        registry: Any = importlib.import_module("tools.registry")
        asked = functools.cache(registry._module_registers_tools)
        for file in Path(str(registry.__file__)).parent.glob("*.py"):
            asked(file)
        registry._module_registers_tools = asked
    gc.collect()
    gc.freeze()


def _call_self(name: bytes, instead_of: bytes) -> None:
    """Another first argument in the process table, of the same length."""
    fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end, proc(5)
    arguments = ctypes.string_at(start, end - start)
    ctypes.memmove(start + arguments.index(b"\0" + instead_of + b"\0") + 1, name, len(name))


def _receive(channel: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    data, descriptors, _, _ = socket.recv_fds(channel, 1 << 16, 2)
    while data and not data.endswith(b"\n"):
        data += channel.recv(1 << 16)
    return (json.loads(data) if data else None), descriptors


def _serve(channel: socket.socket) -> None:
    """Return in a fork that is to be a gateway; the process itself ends when the other side is gone."""
    waiting = selectors.DefaultSelector()
    waiting.register(channel, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.data is not None:
                child, report = key.data
                _, status = os.waitpid(child, 0)
                waiting.unregister(key.fd)
                os.close(key.fd)
                with suppress(BrokenPipeError):
                    os.write(report, b"ended %d\n" % os.waitstatus_to_exitcode(status))
                os.close(report)
                continue
            request, descriptors = _receive(channel)
            if request is None:
                os._exit(0)
            report, log = descriptors
            child = os.fork()
            if child == 0:
                return _become(request, report, log)
            os.close(log)
            waiting.register(os.pidfd_open(child), selectors.EVENT_READ, (child, report))


def _become(request: dict[str, Any], report: int, log: int) -> None:
    os.setsid()
    os.write(report, b"began %d\n" % os.getpid())  # from here on its group can be killed
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, 1 << 12)
    os.chdir(request["folder"])
    told = {name: os.environ[name] for name in ("LC_CTYPE",) if name in os.environ}  # Python itself may have set it
    os.environ.clear()
    os.environ.update(told | request["environ"])
    time.tzset()
    sys.path.remove(str(Path(__file__).parent))
    _call_self(b"gateway", instead_of=b"waiting")


def _wait(number: str) -> None:
    _call_self(b"waiting", instead_of=b"gateway")
    _load()
    _serve(socket.socket(fileno=int(number)))


_wait(os.environ["WARM_GATEWAYS"])
