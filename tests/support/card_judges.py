"""Two validators of cards, each in a child of its own on the same interpreter: the published one, and ours.

The published package is a black box: it is installed without its dependencies into an environment of its own, asked by
its public names over a pipe, and its source is not read.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.environments import CHECKOUT, Environment, find_python

__all__ = ["PUBLISHED_VERSION", "Judge", "NoPython", "judges", "published_interpreter"]

PUBLISHED_VERSION = "0.16.2"
AT_A_TIME = 20
DRIVER = Path(__file__).with_name("card_driver.py")


class NoPython(Exception):
    """The published package needs a Python that is not on this machine."""


def published_interpreter() -> Path:
    """The interpreter of the environment with the published package alone; made when it is missing.

    Raises:
        NoPython: it has to be made, and Python 3.13 is missing.
        NotInstalled: the index cannot be reached.
    """
    base = find_python("3.13")
    package = f"canon-hermes-plugin=={PUBLISHED_VERSION}"
    name = f"canon-published-alone-{PUBLISHED_VERSION}"
    environment = Environment(name, python=base, without_dependencies=(package,))
    if base is None and not environment.is_made:
        raise NoPython(f"{package} needs Python 3.13")
    return environment.make()


class Judge:
    """A validator behind a pipe."""

    def __init__(self, python: Path, *folders: Path) -> None:
        self._process = subprocess.Popen(
            [str(python), "-I", str(DRIVER), *(map(str, folders) if folders else ["-"])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def about(self) -> dict[str, Any]:
        """Its limits, and its Python."""
        answer: dict[str, Any] = self._ask({"do": "about"})
        return answer

    def check(self, cards: Sequence[Any]) -> list[Any]:
        """A verdict for each card, or the name of what it raised."""
        answer: list[Any] = self._ask({"do": "check", "cards": cards})
        return answer

    def time_ns(self, cards: Sequence[Any]) -> int:
        """How long it takes to look at every card once, a few of them at a time."""
        texts = [json.dumps(cards[start : start + AT_A_TIME]) for start in range(0, len(cards), AT_A_TIME)]
        return int(self._ask({"do": "time", "cards": texts}))

    def _ask(self, order: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def stop(self) -> None:
        """It ends when its stdin does."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


@contextmanager
def judges() -> Iterator[tuple[Judge, Judge]]:
    """Ours and the published one, on the published one's interpreter.

    Raises:
        NoPython, NotInstalled: see :func:`published_interpreter`.
    """
    python = published_interpreter()
    both = Judge(python, CHECKOUT, CHECKOUT / "adapter"), Judge(python)
    try:
        yield both
    finally:
        for judge in both:
            judge.stop()
