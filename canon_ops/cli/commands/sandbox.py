"""``canon-ops sandbox``: the loopback servers in the foreground."""

from __future__ import annotations

import importlib.util
import shlex
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Literal

import click

from borgee_hermes.loopback.options import BorgeeEndpoints, BorgeeOptions
from canon_ops.cli.command import command as declare
from canon_ops.cli.context import Context
from canon_ops.cli.errors import Terminated
from canon_ops.cli.output import Fields, Result
from canon_ops.errors import OutsideError
from canon_ops.files.writable import require_place
from canon_ops.hermes.home_need import HomeNeed
from canon_ops.hermes.host_call import OUR_DISTRIBUTION
from canon_ops.operate.setup_answers import SetupAnswers
from canon_ops.sandbox.options import PROJECTS, CanonOptions, Endpoints, ModelEndpoints, ModelOptions

__all__ = ["SandboxNotInstalled", "borgee_command", "canon_command", "model_command"]

PORT = click.IntRange(0, 65535)
READY_FILE = click.option(
    "--ready-file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the endpoints there as JSON, whole and last.",
)


FAULTS = click.option(
    "--fault",
    "faults",
    metavar="NAME[:SETTING=VALUE,…]",
    multiple=True,
    help="Arm a fault before the first request; an unknown name lists them.",
)


class SandboxNotInstalled(OutsideError):
    """The server libraries of the ``sandbox`` extra are not here."""

    code = "sandbox_not_installed"

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"The sandbox needs {missing}, which is not installed.",
            fix=_installation_of(_server_libraries()),
        )


def _server_libraries() -> list[str]:
    """What the extra asks for, one by one: an index need not have this package, and cannot be asked for its extra."""
    from packaging.requirements import Requirement

    try:
        wanted = [Requirement(text) for text in requires(OUR_DISTRIBUTION) or ()]
    except PackageNotFoundError:  # a checkout that is not installed
        return ["starlette", "uvicorn"]
    return [f"{one.name}{one.specifier}" for one in wanted if one.marker and one.marker.evaluate({"extra": "sandbox"})]


def _installation_of(libraries: Sequence[str]) -> str:
    """The command that puts them into the interpreter that runs this."""
    python, words = shlex.quote(sys.executable), " ".join(map(shlex.quote, libraries))
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install --python {python} {words}"
    return f"{python} -m pip install {words}"


@declare(
    "sandbox canon",
    home=HomeNeed.ANY,
    data=Endpoints,
    is_event_stream=True,
    examples=("canon-ops sandbox canon --auto-approve", "canon-ops sandbox canon --fault send-429:every=5 --json"),
)
@click.option("--port", type=PORT, default=0, show_default=True, help="Port of the API; 0 takes a free one.")
@click.option("--stream-port", type=PORT, default=0, show_default=True, help="Port of the stream; 0 takes a free one.")
@click.option(
    "--environment",
    type=click.Choice(list(PROJECTS)),
    default="canon-dev-v1",
    show_default=True,
    help="The environment that it says it is.",
)
@click.option("--auto-approve", is_flag=True, help="Approve registrations without a person.")
@FAULTS
@READY_FILE
def canon_command(
    context: Context,
    port: int,
    stream_port: int,
    environment: str,
    auto_approve: bool,
    faults: tuple[str, ...],
    ready_file: Path | None,
) -> Result:
    """Serve the Canon API and stream on loopback until stopped.

    Prints where it listens, a key that opens nothing real, and who lives there. Ctrl-C or SIGTERM stops it.
    """
    try:
        from canon_ops.sandbox.run import run_canon
    except ModuleNotFoundError as exc:
        raise SandboxNotInstalled(exc.name or "a library") from exc

    def announce(endpoints: Endpoints) -> None:
        context.emit(Result(endpoints, (Fields(tuple(endpoints.as_dict().items())),)))
        answers = SetupAnswers(
            environment=endpoints.environment_id,
            base_url=endpoints.api,
            stream_url=endpoints.stream,
            owner_phone=endpoints.owner_phone,
        )
        context.say(f"Register an agent here: {context.home.own_command(answers.as_words())}")
        if not auto_approve:
            header = f"-H 'X-Sandbox-Token: {endpoints.admin_token}'"
            context.say(f"Approve the oldest request: curl -X POST {header} -d '{{}}' {endpoints.admin}/approve")
        context.say("Serving until Ctrl-C.")

    if ready_file is not None:
        require_place(ready_file)
    options = CanonOptions(
        environment_id=environment,
        port=port,
        stream_port=stream_port,
        auto_approve=auto_approve,
        faults=faults,
        ready_file=ready_file,
    )
    raise _ending(run_canon(options, announce))


@declare(
    "sandbox borgee",
    data=BorgeeEndpoints,
    is_event_stream=True,
    examples=(
        "canon-ops sandbox borgee --no-mention",
        "canon-ops sandbox borgee --fault push-close:every=5,times=none --json",
    ),
)
@click.option("--port", type=PORT, default=0, show_default=True, help="Port of the websocket; 0 takes a free one.")
@click.option(
    "--admin-port", type=PORT, default=0, show_default=True, help="Port of the human side; 0 takes a free one."
)
@click.option("--no-mention", is_flag=True, help="Send the agent every message of its channels, mentioned or not.")
@click.option(
    "--echo",
    type=click.Choice(["no", "before", "after"]),
    default="no",
    show_default=True,
    help="Send an agent's own messages back to it, before or after the answer to its action.",
)
@FAULTS
@READY_FILE
def borgee_command(
    context: Context,
    port: int,
    admin_port: int,
    no_mention: bool,
    echo: Literal["no", "before", "after"],
    faults: tuple[str, ...],
    ready_file: Path | None,
) -> Result:
    """Serve Borgee's websocket on loopback until stopped.

    Prints where it listens, the key of an agent that opens nothing real, and who lives there. Ctrl-C or SIGTERM stops
    it.
    """
    try:
        from borgee_hermes.loopback.run import run_borgee
    except ModuleNotFoundError as exc:
        raise SandboxNotInstalled(exc.name or "a library") from exc

    def announce(endpoints: BorgeeEndpoints) -> None:
        context.emit(Result(endpoints, (Fields(tuple(endpoints.as_dict().items())),)))
        context.say("Serving until Ctrl-C.")

    if ready_file is not None:
        require_place(ready_file)
    options = BorgeeOptions(
        port=port,
        admin_port=admin_port,
        require_mention=not no_mention,
        echo_self=echo,
        faults=faults,
        ready_file=ready_file,
    )
    raise _ending(run_borgee(options, announce))


@declare(
    "sandbox model",
    data=ModelEndpoints,
    is_event_stream=True,
    examples=("canon-ops sandbox model --answer 'Hello.' --answer '[slow 2] And again.'",),
)
@click.option("--port", type=PORT, default=0, show_default=True, help="Port; 0 takes a free one.")
@click.option("--answer", "answers", metavar="TEXT", multiple=True, help="An answer, one a message, in this order.")
@click.option(
    "--default-answer",
    metavar="TEXT",
    default="You said: {text}",
    show_default=True,
    help="What is said when no answer is left; {text} is the user's text.",
)
@READY_FILE
def model_command(
    context: Context, port: int, answers: tuple[str, ...], default_answer: str, ready_file: Path | None
) -> Result:
    """Serve a scripted chat model on loopback until stopped.

    It speaks the protocol of an OpenAI-compatible endpoint. Directives in a user's text, or in an answer, change what
    happens: [say TEXT] [tool NAME {json}] [long N] [slow S] [wait S] [http CODE].
    """
    try:
        from canon_ops.sandbox.run import run_model
    except ModuleNotFoundError as exc:
        raise SandboxNotInstalled(exc.name or "a library") from exc

    def announce(endpoints: ModelEndpoints) -> None:
        context.emit(Result(endpoints, (Fields(tuple(endpoints.as_dict().items())),)))
        context.say("Serving until Ctrl-C.")

    if ready_file is not None:
        require_place(ready_file)
    options = ModelOptions(port=port, answers=answers, default_answer=default_answer, ready_file=ready_file)
    raise _ending(run_model(options, announce))


def _ending(number: signal.Signals) -> BaseException:
    """Being stopped is how these commands end; the exit code says by what."""
    return KeyboardInterrupt() if number is signal.SIGINT else Terminated()
