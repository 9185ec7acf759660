"""What both plugins do alike with a host: offering a subcommand, refusing an unaudited one, having tools asked anew.

A plugin that raised while it registers would leave a gateway that looks healthy and never answers. So a refused host
gets the platform all the same, with a check function that is false and the reason as install hint; and a subcommand
that the host does not take costs a line in the log.

Source: hermes-host 7, 10; decisions H2, L9.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from canon_ops.hermes.audited import Audited, Refused, audit
from canon_ops.hermes.contract_both import TOOLS_ASKED_ANEW

if TYPE_CHECKING:
    import argparse

__all__ = ["NOTICE_MARK", "PluginContext", "Subcommand", "audit_here", "forget_tool_checks", "register_refusal"]

logger = logging.getLogger(__name__)

NOTICE_MARK: Final = "⏳"
"""How a host that goes down begins to say that it takes no turn; all audited versions. It calls that a success."""

_NO_OPTION: Final = "\0"  # no argument can begin with it


class PluginContext(Protocol):
    """What every audited host hands to ``register``; everything else is looked for before it is used."""

    def register_platform(
        self, name: str, label: str, adapter_factory: Callable[..., Any], check_fn: Callable[[], bool], **more: Any
    ) -> Any: ...


class Subcommand:
    """``hermes NAME …``: our program inside Hermes' own; every word behind the name reaches it unchanged.

    Args:
        run: carries the words out and gives the exit code, with which the process ends: Hermes does not look at what a
            handler returns.
    """

    def __init__(self, name: str, help: str, run: Callable[[Sequence[str]], int]) -> None:
        self.name, self.help = name, help
        self._run = run

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Make Hermes' parser of the subcommand hand over everything, options and ``--help`` included."""
        parser.prefix_chars = _NO_OPTION
        parser.add_argument(self._words, nargs="...", metavar="COMMAND", help=f"see: hermes {self.name} --help")

    def run_command(self, arguments: argparse.Namespace) -> NoReturn:
        """The host's handler."""
        raise SystemExit(self._run(getattr(arguments, self._words)))

    def offer(self, ctx: PluginContext) -> None:
        """Register it; a context without subcommands is left alone."""
        register = getattr(ctx, "register_cli_command", None)
        if not callable(register):
            return
        try:
            register(
                name=self.name,
                help=self.help,
                setup_fn=self.prepare_parser,
                handler_fn=self.run_command,
                description=f"{self.help}.",
            )
        except Exception:  # the host's own validation; canon-ops itself is there all the same
            logger.warning("Hermes refused the command %r; it is there as canon-ops", self.name, exc_info=True)

    @property
    def _words(self) -> str:
        return f"{self.name}_words"


def audit_here(version: str | None, python: str, platform: str) -> Audited | Refused:
    """Look up the host whose interpreter this is; the advice of a refusal names what installs into its environment."""
    verdict = audit(version, python, platform)
    if isinstance(verdict, Audited):
        return verdict
    from canon_ops.hermes.discovery import installing_here  # only a refusal needs it

    return audit(version, python, platform, installing=installing_here(os.environ))


def forget_tool_checks() -> None:
    """Have the host ask anew which tools can be used.

    It keeps each answer for a while, and the lists that it made of the answers for good. What this process
    has not loaded has kept nothing, and must not be loaded for this.
    """
    for need in TOOLS_ASKED_ANEW:
        module, _, name = need.path.partition(":")
        forget = getattr(sys.modules.get(module), name, None)
        if callable(forget):
            forget()


def register_refusal(ctx: PluginContext, refused: Refused, *, name: str, label: str) -> None:
    """Register a platform that stays off, with the reason where people look for it."""
    sentence = f"{refused.sentence} {refused.fix}"
    logger.error("The %s platform stays off. %s", label, sentence)

    def refuse(_config: Any) -> Any:
        raise RuntimeError(sentence)

    ctx.register_platform(
        name=name,
        label=label,
        adapter_factory=refuse,
        check_fn=lambda: False,
        validate_config=lambda _config: False,
        required_env=[],
        install_hint=sentence,
    )
