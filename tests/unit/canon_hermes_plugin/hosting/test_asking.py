"""How a host has our adapter ask about a command."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from canon_hermes_plugin.host import load_host
from canon_hermes_plugin.hosting.asking import asking_for_commands
from canon_hermes_plugin.ports import Reply

pytestmark = pytest.mark.host


class Calling:
    """A base class that knows nothing of approvals."""


class Drawing:
    """A base class that prepares the prompt itself."""

    async def send_exec_approval(self, **_words: Any) -> Any:
        raise AssertionError("this is the host's")

    async def _send_exec_approval_prompt(self, prompt: Any) -> Any:
        raise AssertionError("without buttons")


def an_adapter(base: type[Any], *, draws_prompts: bool) -> Any:
    host = replace(load_host(), base_adapter=base, draws_prompts=draws_prompts)
    adapter = asking_for_commands(host, lambda reply: reply.message_id)()
    asked: list[Any] = []

    async def command(*words: Any, **more: Any) -> Reply:
        asked.append((words, more))
        return Reply(True, "a1")

    adapter._canon, adapter.asked = SimpleNamespace(command=command), asked
    return adapter


@pytest.mark.parametrize(
    ("choices", "smart", "session"),
    [
        (["once", "session", "always", "deny"], False, True),
        (["once", "session", "deny"], False, True),
        (["once", "deny"], False, False),
        (["once", "deny"], True, False),
    ],
)
async def test_a_prompt_is_drawn(choices: list[str], smart: bool, session: bool) -> None:
    """S9.13, R9.9: what the host lets people choose is kept, and for good is never among it."""
    adapter = an_adapter(Drawing, draws_prompts=True)
    prompt = SimpleNamespace(
        chat_id="c", command="rm a", session_key="k", description="deletion", choices=choices, smart_denied=smart
    )

    assert await adapter._send_exec_approval_prompt(prompt) == "a1"

    assert adapter.asked == [(("c", "rm a", "k", "deletion"), {"allow_session": session, "smart_denied": smart})]
    assert "send_exec_approval" not in vars(type(adapter))  # the host's own prepares it


async def test_a_call_is_answered() -> None:
    """S9.13, D1: a host that prepares nothing calls the adapter, and a later one may say more."""
    adapter = an_adapter(Calling, draws_prompts=False)

    assert await adapter.send_exec_approval("c", "rm a", "k", "deletion", allow_session=False, urgency="high") == "a1"

    assert adapter.asked == [(("c", "rm a", "k", "deletion"), {"allow_session": False, "smart_denied": False})]
    assert not hasattr(adapter, "_send_exec_approval_prompt")
