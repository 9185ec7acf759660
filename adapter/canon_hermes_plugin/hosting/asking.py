"""How a host has an adapter ask about a command: it calls the adapter, or prepares a prompt that the adapter draws.

The adapter of a platform defines ``send_exec_approval`` where the host's base class has none. A host whose base class
has it draws the text and the choices there, and asks the adapter for the drawing alone
(``_send_exec_approval_prompt``); without that it sends words to the chat instead.

Source: canon-adapter R9.9; hermes-host 9.6, 14.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from canon_hermes_plugin.host import Host
from canon_hermes_plugin.interactions.command_approval import DANGEROUS
from canon_hermes_plugin.ports import Reply

__all__ = ["asking_for_commands"]


def asking_for_commands(host: Host, answer: Callable[[Reply], Any]) -> type[Any]:
    """The host's base adapter, which asks about commands with the ``_canon`` of the adapter.

    Args:
        answer: makes the host's result.
    """
    base: Any = host.base_adapter

    class Called(base):  # type: ignore[misc]  # the host ships no types
        async def send_exec_approval(
            self,
            chat_id: str,
            command: str,
            session_key: str,
            description: str | None = DANGEROUS,
            metadata: Any = None,
            allow_permanent: bool = True,
            allow_session: bool = True,
            smart_denied: bool = False,
            **_later: Any,
        ) -> Any:
            """A command that somebody has to allow; never for good, whatever the host offers (D1, R9.9)."""
            put = self._canon.command(
                chat_id,
                command,
                session_key,
                description,
                allow_session=allow_session is not False,
                smart_denied=bool(smart_denied),
            )
            return answer(await put)

    class Drawn(base):  # type: ignore[misc]  # the host ships no types
        async def _send_exec_approval_prompt(self, prompt: Any) -> Any:
            """The same, where the host has decided which choices there are."""
            put = self._canon.command(
                prompt.chat_id,
                prompt.command,
                prompt.session_key,
                prompt.description,
                allow_session="session" in prompt.choices,
                smart_denied=bool(prompt.smart_denied),
            )
            return answer(await put)

    return Drawn if host.draws_prompts else Called
