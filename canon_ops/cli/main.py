"""The entry points of the command line, and the answers that need no command.

``--version``, the list of commands and what a completion script asks are answered here with almost nothing imported:
starting them may cost half of ``import click`` on top of it and no more (tests/benchmarks/bench_cli_start.py). All else
goes to run.py.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence

from canon_ops import __version__
from canon_ops.cli.leaving import leave
from canon_ops.cli.streams import OutputLost, Streams, plug_closed_descriptors, process_streams

__all__ = ["canon_hermes", "main", "run_as", "start"]


# Container objects between two collections. Starting makes tens of thousands that all stay; looking through them again
# and again (the default is 700) costs a tenth of a short command.
_COLLECT_AFTER = 200_000


def main() -> int:
    """Run ``canon-ops`` with the arguments and streams of this process, and end it."""
    return leave(run_as("canon-ops", "", sys.argv[1:]))


def canon_hermes() -> int:
    """Run the same program under the name that Canon's documentation uses: the platform is canon."""
    return leave(run_as("canon-hermes", "canon", sys.argv[1:]))


def run_as(program: str, platform: str, arguments: Sequence[str]) -> int:
    """Run one command line with the streams and the environment of this process; see :func:`start`."""
    if sys.platform == "win32":
        sys.stderr.write("canon-ops runs on Linux and macOS; Windows is not supported.\n")
        return 3
    plug_closed_descriptors()
    gc.set_threshold(_COLLECT_AFTER)
    try:
        return start(program, platform, arguments, os.environ, process_streams(os.environ))
    finally:
        gc.freeze()  # the interpreter looks through all of them twice more when it ends, for as long as an import takes


def start(program: str, platform: str, arguments: Sequence[str], environ: Mapping[str, str], streams: Streams) -> int:
    """Carry out one command line.

    Args:
        program: the name under which it was started.
        platform: what that name implies where a platform is not named; or empty.
        environ: the process environment; click's own look-ups go to ``os.environ``, so outside of tests it is that.

    Returns:
        The exit code; everything that had to be said has been written.
    """
    page = _page(program, arguments, environ)
    if page is None:
        from canon_ops.cli.run import run

        return run(program, platform, arguments, environ, streams)
    try:
        streams.out.write(page)
    except OutputLost as exc:
        streams.err.write(f"Error: {exc.what}\n")
        return exc.exit_code
    return 0


def _page(program: str, arguments: Sequence[str], environ: Mapping[str, str]) -> str | None:
    if list(arguments[:1]) == ["__complete"]:
        from canon_ops.cli.completion.answer import answer

        return answer(arguments[1:], environ)
    if list(arguments) == ["--version"]:
        return f"{program} {__version__}\n"
    if list(arguments) in ([], ["-h"], ["--help"]):
        from canon_ops.cli.lazy import help_of_root

        return help_of_root(program)
    return None
