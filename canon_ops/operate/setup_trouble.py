"""What a server says to an answer, at once: a person may try again, answer otherwise, or stop.

Nobody is asked where nobody is there: the trouble is then raised as it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TypeVar

from canon_ops.client.errors import ApiError, RequestFailed
from canon_ops.client.health import EnvironmentMismatch, ServiceUnavailable
from canon_ops.errors import CanonOpsError, ExitCode, RefusedError
from canon_ops.operate.prompts import Choice, GoneBack, MissingAnswer, Question
from canon_ops.operate.rewinding import Rewinding

__all__ = ["ask_what_now", "reach_it", "until_it_works"]

T = TypeVar("T")
_OF_CANON = (EnvironmentMismatch, RequestFailed, ServiceUnavailable)


def reach_it(service: str, url: str, answers_for: str | None = None) -> str:
    """What helps when one of Canon's services does not answer, or answers for another environment.

    The address was just given and is configured nowhere yet, so the doctor would look at another one.

    Args:
        answers_for: the environment that was found there instead. For the stream it says nothing: the API is looked at
            before it, and was the right one.
    """
    option = {"API": "--base-url", "stream": "--stream-url"}[service]
    if answers_for is not None and service == "API":
        return f"--environment {answers_for}, which is what answers there; another address: {option} URL"
    return f"see from this machine what answers there: curl -sS {shlex.quote(url)}; another address: {option} URL"


def until_it_works(
    prompts: Rewinding, attempt: Callable[[], T], *, among: tuple[type[CanonOpsError], ...] = _OF_CANON
) -> T:
    """Carry out ``attempt``; when the server was not reached, or does not agree, ask what now.

    Args:
        among: the errors that a person is asked about; those of Canon, if nothing is said.

    Raises:
        GoneBack: the person answers otherwise.
        CanonOpsError: one of ``among``: they stop, or nobody can be asked.
    """
    while True:
        try:
            return attempt()
        except among as trouble:
            ask_what_now(prompts, trouble)


def ask_what_now(prompts: Rewinding, trouble: CanonOpsError, *, about: str | None = None) -> None:
    """Ask what becomes of ``trouble``; returns when the person tries again. Esc goes back, as it does everywhere.

    Args:
        about: the option whose question is asked anew when the person answers otherwise; None for the newest one.

    Raises:
        GoneBack: the person answers otherwise.
        CanonOpsError: ``trouble``: they stop, or nobody can be asked.
    """
    again = Choice("again", "Try again")
    otherwise = Choice("back", "Answer the question before otherwise")
    stop = Choice("stop", "Stop here", "nothing was written")
    choices = [again, *([otherwise] if prompts.can_go_back else []), stop]
    is_verdict = (
        isinstance(trouble, ApiError | EnvironmentMismatch | RefusedError) or trouble.exit_code is ExitCode.CREDENTIAL
    )
    if is_verdict and prompts.can_go_back:
        choices = [otherwise, again, stop]  # the same request would get the same answer
    question = Question("What now?", "other answers", trouble.what, can_go_back=prompts.can_go_back)
    try:
        answer = prompts.aside.choose(question, choices)
    except MissingAnswer:
        raise trouble from None
    except GoneBack:
        answer = "back"
    if answer == "back":
        if about is not None:
            prompts.reopen(about)
        raise GoneBack
    if answer == "stop":
        raise trouble
