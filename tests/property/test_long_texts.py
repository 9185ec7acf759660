"""No text that a stranger writes takes more than linear time: a message of blanks must not stop a gateway.

Each function gets each shape at a length where the square of it would take minutes. The table is the list of what reads
somebody else's text; a new reader belongs into it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from borgee_hermes.bpp.errors import ProtocolError
from borgee_hermes.bpp.incoming import read_frame
from canon_hermes_plugin.inbound.corrections import corrected_in
from canon_hermes_plugin.inbound.inert import inert_body, inert_name
from canon_ops.cli.redaction import Redactor
from canon_ops.cli.terminal import visible
from canon_ops.errors import CanonOpsError
from canon_ops.files.yaml_path import parse_path
from canon_ops.hermes.gateway_log import LogReader
from canon_ops.settings.dotenv import _references, lay_over, read_dotenv
from canon_ops.settings.secret import redact
from canon_ops.settings.telling import hide_in_text
from canon_ops.wire.messages import inline_text
from canon_ops.wire.splitting import split
from canon_ops.wire.sse import SseDecoder

LENGTH = 40_000
SECONDS = 3.0  # of processor time; the square takes from ten seconds up

ATOMS = (
    " ", "\t ", "\n", "\r\n", "a", "a ", "=", "a=", ":", "a:", "://", "a://b:", "http://a:", "http://", "@", "#",
    "\\", "/", '"', "'", '\\"', "${", "${a:-", "${a:", "$", "{", "}", "[", "]", "a.", "a[0]", "-", "--a ", "-u a:",
    "curl -u ", "Bearer ", "agk_", "?a=", "Authorization: ", "export ", "A='b' x\n", 'A="b\n', "data:\n",
    "event: a\n", "\u2028", "\N{ROCKET}", "\N{COMBINING ACUTE ACCENT}", "\x1b", "2026-01-01 00:00:00 INFO a: b\n",
    '{"a":', "[1,",
)  # fmt: skip
AROUND = (("", ""), ("a", "b"), ("A=x", "y"), ('A="', ""), ("A='", "'"), ("curl ", "://"))


def log(text: str) -> None:
    reader = LogReader()
    reader.feed(text)
    reader.flush()


READERS: dict[str, Callable[[str], object]] = {
    "a body in the background": inert_body,
    "a name": inert_name,
    "a correction in a burst": lambda text: corrected_in("\n".join([text] * 4), text, "x"),
    "an inline text": inline_text,
    "a text without its secrets": redact,
    "a text of a configuration": lambda text: hide_in_text(text, lambda _: "x"),
    "a line of a diff": Redactor({}).line,
    "a text on a screen": visible,
    "a .env file": lambda text: lay_over({}, read_dotenv(text.encode())),
    "a path of the configuration": parse_path,
    "a stream": lambda text: SseDecoder().feed(text.encode()),
    "a frame of Borgee": read_frame,
    "an answer in parts": split,
    "a log": log,
}


class Stuck(Exception):
    """It took too long."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Interrupt the block when it has used so much processor time."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise Stuck

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_no_text_takes_more_than_linear_time(read: Callable[[str], object]) -> None:
    """A long row of anything, whatever stands around it, is read or refused within its time."""
    stuck = []
    for atom in ATOMS:
        for before, after in AROUND:
            try:
                with at_most(SECONDS):
                    read(before + atom * (LENGTH // len(atom)) + after)
            except Stuck:
                stuck.append((before, atom, after))
            except (CanonOpsError, ProtocolError, ValueError):
                continue

    assert stuck == []


def by_the_pattern(value: str) -> list[tuple[int, int, str, str]]:
    """What python-dotenv's own pattern finds."""
    import re

    found = re.finditer(r"\$\{([^}:]*)(?::-([^}]*))?\}", value)
    return [(one.start(), one.end(), one[1], one[2] or "") for one in found]


@given(st.text(alphabet="${}:-ab", max_size=40))
def test_references_are_those_of_the_pattern(value: str) -> None:
    """Finding them in one walk finds the same."""
    assert list(_references(value)) == by_the_pattern(value)
