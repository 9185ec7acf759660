"""The .env reader, held against python-dotenv and against Hermes itself."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from dotenv.parser import parse_stream

from canon_ops.settings.dotenv import DotenvEntry, decode_dotenv, lay_over, read_dotenv, read_lines
from canon_ops.settings.encodings import to_utf8
from canon_ops.settings.problems import UnreadableDotenv
from tests.support.hosts import THIS_HOST

FILES = {
    "plain": b"A=1\nB=two\n",
    "no newline at the end": b"A=1\nB=2",
    "crlf": b"A=1\r\nB='x\r\ny'\r\n# c\r\nC=3\r\n",
    "lone carriage returns": b"A=1\rB=2\r",
    "export": b"export CANON_AGENT=desk\nexport\tB=2\nexportC=3\nexport = 4\nexport D\n",
    "blanks around the sign": b"A = 1\n B\t=\t2 \n",
    "inline comment": b"A=abc # note\nB=a#b\nC=a\t#b\nD='q' # c\nE=\"q\"#c\nF= #x\nG=#x\n",
    "quotes": b'A=\'it\\\'s\'\nB="say \\"hi\\""\nC=\'a\\nb\'\nD="a\\nb\\t\\\\"\nE=it\'s\nF=say "hi"\n',
    "windows path": b"A=C:\\keys\\x\nB=\"C:\\keys\\x\"\nC='C:\\keys\\x'\n",
    "a name over two lines": b"'A\r\nB'=1\r\n",
    "several lines": b"A=\"one\ntwo\"\nB='one\n\ntwo'\nC=3\n",
    "empty values": b"A=\nB=''\nC=\"\"\nD\nE= \nF\n",
    "duplicates": b"A=1\nB=1\nexport A=2\nA\n",
    "not assignments": b"CANON_AGENT: desk\nKEY\nA=\"open\nit''s\nB=2\n=x\n==\n'k' = v\n'open=1\nC='x'y\nD=4\n",
    "text after a quote": b'A="x" y\nB=2\n',
    "unicode": "A=שלום\nB=a\u00a0#b\nC\u00a0=1\nD=x\u2028y\nE=\x0cff\n".encode(),
    "latin-1": b"NAME=caf\xe9\nA=1\n",
    "byte-order mark": b"\xef\xbb\xbfA=1\nB=2\n",
    "utf-16": "A=é\nB=2\n".encode("utf-16"),
    "nul": b"A=1\x002\n",
    "variables": b"A=1\nB=${A}\nC=${NONE:-d}\nD='${A}'\nE=${HOME_X}\nF=$A\nG=${A:-d}\nH\nI=${H:-d}\nJ=${J}\nK=${}\n",
    "only comments": b"# a\n\n   \n#b",
    "empty": b"",
    "backslash at the end": b'A="x\\',
}


def expected_text(data: bytes) -> str:
    """What Hermes hands to python-dotenv: decoded, marks and NULs gone, line ends translated by text mode."""
    return decode_dotenv(data).replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize("data", FILES.values(), ids=FILES.keys())
def test_statements_are_those_of_python_dotenv(data: bytes) -> None:
    """Every statement has python-dotenv's name, value and verdict, and all together cover the text."""
    text = decode_dotenv(data)

    lines = read_lines(text)

    bindings = list(parse_stream(io.StringIO(expected_text(data))))
    assert [(line.name, line.value, line.error) for line in lines] == [(b.key, b.value, b.error) for b in bindings]
    assert "".join(text[line.start : line.end] for line in lines) == text


HOST_PROGRAM = """
import json, os, sys
from hermes_cli.env_loader import load_hermes_dotenv
found = {}
for name, home in json.load(sys.stdin).items():
    os.environ.clear()
    os.environ.update(json.loads(sys.argv[1]), HERMES_HOME=home)
    load_hermes_dotenv(hermes_home=home)
    found[name] = dict(os.environ)
print(json.dumps(found))
"""


@pytest.mark.host
def test_the_environment_is_the_one_that_hermes_ends_up_with(tmp_path: Path) -> None:
    """The host's own loader, in a process of its own, gives the same environment for every file it can read."""
    environ = {"HOME_X": "from the process", "A": "old", "F": "old", "CANON_API_KEY": "agk_lïve"}
    homes: dict[str, str] = {}
    for number, (name, data) in enumerate(FILES.items()):
        home = tmp_path / str(number)
        home.mkdir()
        (home / ".env").write_bytes(data)
        homes[name] = str(home)

    run = subprocess.run(
        [sys.executable, "-c", HOST_PROGRAM, json.dumps(environ)],
        input=json.dumps(homes),
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    theirs = json.loads(run.stdout)
    for name, data in FILES.items():
        if name in THIS_HOST.unlike_env:
            continue
        entries = read_dotenv(data)
        ours, _ = lay_over(environ, entries)
        names = {entry.name for entry in entries} | set(environ)
        expected = {key: value for key, value in theirs[name].items() if key in names}
        assert {key: value for key, value in ours.items() if key in names} == expected, name


def test_the_last_assignment_of_a_name_wins_and_the_others_say_so() -> None:
    """BR-21: each earlier occurrence carries the line of the one that counts."""
    entries = read_dotenv(b"# keys\n\nCANON_AGENT=a\nB=1\nexport CANON_AGENT=b\nCANON_AGENT='c'\n")

    assert entries == (
        DotenvEntry("CANON_AGENT", "a", 3, overridden_by=6),
        DotenvEntry("B", "1", 4),
        DotenvEntry("CANON_AGENT", "b", 5, export=True, overridden_by=6),
        DotenvEntry("CANON_AGENT", "c", 6),
    )


def test_lines_are_counted_where_people_see_them() -> None:
    """Blank lines, comments, values over several lines and CRLF all count as an editor counts them."""
    entries = read_dotenv(b'\r\n# x\r\nA="1\r\n2"\r\n\r\n  B=3\r\nbad line here\r\nC=4')

    assert [(entry.name, entry.line) for entry in entries] == [("A", 3), ("B", 6), ("C", 8)]


def test_lines_that_the_gateway_skips_are_marked() -> None:
    """BR-28: text that is no assignment is an error with its line, a bare name sets nothing."""
    lines = read_lines('A: desk\nKEY\nB="open\nC=1\n')

    assert [(line.name, line.value, line.line, line.error) for line in lines] == [
        (None, None, 1, True),
        ("KEY", None, 2, False),
        (None, None, 3, True),
        ("C", "1", 4, False),
    ]


def test_the_environment_says_which_line_set_a_name() -> None:
    """The effective entry of each name comes along; a bare name takes nothing over."""
    merged, set_by = lay_over({"A": "process", "B": "process"}, read_dotenv(b"A=1\nA=2\nB\n"))

    assert merged == {"A": "2", "B": "process"}
    assert {name: entry.line for name, entry in set_by.items()} == {"A": 2}


def test_python_dotenv_can_be_switched_off() -> None:
    """With PYTHON_DOTENV_DISABLED the gateway ignores the file, and so do we."""
    merged, set_by = lay_over({"PYTHON_DOTENV_DISABLED": "Yes"}, read_dotenv(b"A=1\n"))

    assert merged == {"PYTHON_DOTENV_DISABLED": "Yes"}
    assert set_by == {}


def test_credentials_keep_only_their_ascii_characters() -> None:
    """A key pasted with an invisible mark arrives without it, from the file and from the process alike."""
    merged, _ = lay_over({"CANON_API_KEY": "agk\u200b1", "NAME": "é"}, read_dotenv("B_TOKEN=t\u202ax\n".encode()))

    assert merged == {"CANON_API_KEY": "agk1", "NAME": "é", "B_TOKEN": "tx"}


@pytest.mark.parametrize("encoding", ["utf-32-le", "utf-32-be"])
def test_utf_32_is_refused_with_the_way_to_convert_it(encoding: str) -> None:
    """Nobody reads UTF-32, so the error says how the file becomes UTF-8."""
    data = "\ufeffA=1\n".encode(encoding)

    with pytest.raises(UnreadableDotenv, match="UTF-32") as caught:
        read_dotenv(data, file="/h/.env")

    assert caught.value.fix == to_utf8("UTF-32", "/h/.env")
