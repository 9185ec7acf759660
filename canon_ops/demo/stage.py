"""The temporary world of one demo: a home, two loopback servers, one gateway, and the way to clear it all away.

A step finds here what earlier steps have set up; what it starts it pushes on ``undo``, which is unwound in reverse
order however the demo ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from canon_ops.demo.narration import ApprovalFacts, GatewayFacts, Narrator
from canon_ops.demo.tether import Lifeline
from canon_ops.errors import OutsideError
from canon_ops.hermes.discovery import HostInstallation
from canon_ops.hermes.gateway import GatewayProcess, isolated_environ
from canon_ops.hermes.homes import HermesHome, HomeChoice
from canon_ops.runtime.scratch import Scratch

if TYPE_CHECKING:
    from canon_ops.sandbox.model.server import ModelSandbox
    from canon_ops.sandbox.server import CanonSandbox

__all__ = ["DemoFailed", "DemoOptions", "Stage"]


class DemoFailed(OutsideError):
    """A step saw something else than it should."""

    code: ClassVar[str] = "demo_failed"


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the audience may change.

    Attributes:
        python: the host's interpreter; None to find one.
        message: what the person says.
        answer: what the model says; directives of the model sandbox are obeyed.
        prompt: who the agent is told to be.
        question: what the agent asks the person to approve.
        decision: what the person answers to that.
        keep: leave home and log behind.
    """

    python: Path | None = None
    message: str = "Hello! Did you just come to life on this machine?"
    answer: str = (
        "Hello! Yes: a minute ago there was nothing here. Now I am a real Hermes agent, registered on a loopback "
        "Canon, reading your message from its stream and writing this answer word by word. Nothing left your machine."
    )
    prompt: str = "You are the demo agent of canon-ops. You are friendly and brief."
    question: str = "File invoice R-118 over 240 euros?"
    decision: Literal["allow", "deny"] = "allow"
    keep: bool = False


class Stage:
    """What the steps share.

    Attributes:
        folder: everything of the demo lies below it.
        lifeline: starts what must end with the demo, however that ends.
        environ: what host, gateway and our own work see: nothing of this user, nothing outside loopback.
        undo: what has to be given back.
        host, canon, model, gateway, agent_id, conversation_id, approval_id, config_before, edit_id: set by the step
            that makes them.
    """

    host: HostInstallation
    canon: CanonSandbox
    model: ModelSandbox
    gateway: GatewayProcess
    agent_id: str
    conversation_id: str
    message_id: str
    approval_id: str
    config_before: bytes
    edit_id: str

    def __init__(
        self, options: DemoOptions, environ: Mapping[str, str], narrator: Narrator, undo: ExitStack, folder: Scratch
    ) -> None:
        self.options = options
        self.outside = environ
        self.narrator = narrator
        self.undo = undo
        self.folder = folder.path
        self.lifeline = Lifeline(None if options.keep else folder.path, folder.lock)
        undo.callback(self.lifeline.close)
        hermes_home = folder.path / "hermes"  # not the user's own place: a Hermes below a test runner (0.21) refuses it
        self.environ = isolated_environ(environ, hermes_home=hermes_home, user_home=self.folder / "home")
        self.home = HermesHome(hermes_home, hermes_home, "default", HomeChoice.HOME_OPTION)
        self.log = self.folder / "gateway.log"
        self.gateway_facts: GatewayFacts | None = None
        self.prompt_received: str | None = None
        self.answer: str | None = None
        self.previews = 0
        self.approval: ApprovalFacts | None = None
