"""Setup as a program of its own, so that tests can kill it: ``python -m tests.support.registering ANSWERS.json``.

The file holds the answers of :class:`SetupAnswers` and, under ``die_before``, the phase before which the program kills
itself with SIGKILL, as a power cut would. Notes go to stderr; the phases that were reached go to stdout.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from canon_ops.errors import CanonOpsError
from canon_ops.hermes.homes import resolve_home
from canon_ops.operate.prompts import Unattended
from canon_ops.operate.registration_steps import Registration
from canon_ops.operate.setup_answers import SetupAnswers
from canon_ops.operate.setup_canon import SetupPlace, setup_canon


def main() -> int:
    answers = json.loads(Path(sys.argv[1]).read_text())
    die_before = answers.pop("die_before", None)

    def watch(state: Registration) -> None:
        print(state.phase.value, flush=True)  # noqa: T201  # the test reads it
        if state.phase.value == die_before:
            os.kill(os.getpid(), signal.SIGKILL)

    place = SetupPlace(resolve_home(os.environ), os.environ, poll_s=0.02)
    prompts = Unattended(lambda text: print(text, file=sys.stderr, flush=True))  # noqa: T201
    try:
        setup_canon(place, SetupAnswers(**answers), prompts, watch=watch)
    except KeyboardInterrupt:
        return 130
    except CanonOpsError as exc:
        print(f"{exc.code}: {exc.what}", file=sys.stderr)  # noqa: T201
        return int(exc.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
