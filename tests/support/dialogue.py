"""A program that asks each kind of question, and two for a yes or no: ``python -m tests.support.dialogue``.

It prints the answers as JSON. Its words are the options of the command line that matter to a dialogue: ``--yes``,
``--no-input``.
"""

from __future__ import annotations

import json
import os
import sys

from canon_ops.cli.errors import failure_of
from canon_ops.cli.prompts import prompts_for
from canon_ops.cli.session import CommonOptions, Program, Session
from canon_ops.cli.streams import process_streams
from canon_ops.operate.prompts import Choice, Question

COLOURS = (Choice("r", "Red", "like a rose"), Choice("g", "Green"), Choice("b", "Blue"))


def main() -> int:
    session = Session(Program("dialogue"), sys.argv[1:], os.environ, process_streams(os.environ))
    session.options = CommonOptions(yes="--yes" in sys.argv, no_input="--no-input" in sys.argv)
    prompts = prompts_for(session)
    try:
        prompts.note("Six questions.")
        answers = {
            "name": prompts.text(
                Question("Name?", "--name", help="Letters only."),
                validate=lambda text: None if text.isalpha() else f"{text} is no name.",
            ),
            "place": prompts.text(Question("Place?", "--place"), default="Bonn"),
            "colour": prompts.choose(Question("Colour?", "--colour"), COLOURS, default="g"),
            "key": prompts.secret(Question("Key?", "--key-stdin")).hint(),
            "sure": prompts.confirm(Question("Sure?", "--yes"), default=False),
            "really": prompts.confirm(Question("Really?", "--yes"), default=True),
        }
        with prompts.progress("Thinking"):
            session.streams.out.write(json.dumps(answers, separators=(",", ":")) + "\n")
    except BaseException as exc:
        failure = failure_of(exc)
        session.say(f"{failure.problem.message} {failure.problem.fix or ''}".strip())
        return failure.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
