"""A plugin whose one tool runs terminal commands side by side, so that a host asks for several at once in one session.

No tool of an audited host's own does that in every version: commands of one answer run one after another, and on the
older hosts a child of the agent asks nobody. What the host does from the command on is its own.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["NAME", "add_side_by_side"]

NAME = "side_by_side"
_MANIFEST = f"""\
name: {NAME}
kind: standalone
version: 1.0.0
description: Runs terminal commands side by side
author: Example
provides_tools: [{NAME}]
"""
_PLUGIN = f'''\
import json
from concurrent.futures import ThreadPoolExecutor

SCHEMA = {{
    "name": "{NAME}",
    "description": "Run terminal commands side by side.",
    "parameters": {{
        "type": "object",
        "required": ["commands"],
        "properties": {{"commands": {{"type": "array", "items": {{"type": "string"}}}}}},
    }},
}}


def run(args, **_ignored):
    from tools.terminal_tool import terminal_tool
    from tools.thread_context import propagate_context_to_thread

    commands = args["commands"]
    with ThreadPoolExecutor(len(commands)) as pool:
        running = [pool.submit(propagate_context_to_thread(terminal_tool), command) for command in commands]
        return json.dumps([json.loads(one.result()) for one in running])


def register(ctx):
    ctx.register_tool(
        name="{NAME}", toolset="{NAME}", schema=SCHEMA, handler=run, description="Run terminal commands side by side."
    )
'''


def add_side_by_side(hermes_home: Path) -> str:
    """Write the plugin into a home; its name, which is also its toolset's and its tool's."""
    folder = hermes_home / "plugins" / NAME
    folder.mkdir(parents=True)
    folder.joinpath("plugin.yaml").write_text(_MANIFEST, encoding="utf-8")
    folder.joinpath("__init__.py").write_text(_PLUGIN, encoding="utf-8")
    return NAME
