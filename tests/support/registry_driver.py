"""Runs beside the published plugin and uses its registry of approvals, by orders in JSON, one a line.

``{"do": "call", "name": ..., "args": [...], "more": {...}}``
    what a function of its module ``detached_approvals`` returns; a coroutine is awaited. An argument ``"$client"``
    stands for a Canon that answers every request with ``answer`` and keeps what the registry file held meanwhile.
``{"do": "rounds", "count": n}``
    that many times: a new entry of its own, and a receipt for one that the other process made; which it marked.

The home is the environment's ``CANON_HOME``. The package is a black box, used by its public names.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import sys
from pathlib import Path
from typing import Any

REGISTRY = Path(os.environ["CANON_HOME"], "detached-approvals.json")


def registry() -> Any:
    return json.loads(REGISTRY.read_text(encoding="utf-8"))


class Client:
    """Answers whatever it is asked."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self.meanwhile: Any = None

    def __getattr__(self, name: str) -> Any:
        async def ask(*_: Any, **__: Any) -> Any:
            self.meanwhile = registry()
            return self._answer

        return ask


def main() -> None:
    """Answer until stdin ends."""
    theirs = importlib.import_module("canon_hermes_plugin.detached_approvals")

    def call(name: str, args: list[Any], more: dict[str, Any], answer: Any) -> Any:
        client = Client(answer)
        result = getattr(theirs, name)(*(client if arg == "$client" else arg for arg in args), **more)
        if inspect.isawaitable(result):
            result = asyncio.run(_finished(result))
        return {"result": result, "meanwhile": client.meanwhile}

    def rounds(count: int) -> Any:
        marked = []
        for number in range(count):
            theirs.record_pending(f"theirs-{number}", "conv_1", expires_at=4_000_000_000_000, summary="s")
            if theirs.mark_receipt_pending(f"ours-{number}") is not None:
                marked.append(f"ours-{number}")
        return marked

    for line in sys.stdin:
        order = json.loads(line)
        try:
            if order["do"] == "rounds":
                answer: Any = rounds(order["count"])
            else:
                answer = call(order["name"], order["args"], order["more"], order.get("answer"))
        except Exception as error:  # what it raises is the answer
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)  # noqa: T201  # stdout is the pipe


async def _finished(work: Any) -> Any:
    return await work


if __name__ == "__main__":
    main()
