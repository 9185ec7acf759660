"""The editor of ``.env``: lines, quoting, duplicates, encodings; and the three readers it writes for."""

from __future__ import annotations

import contextlib
import io
import random
import shutil
import subprocess
from pathlib import Path

import dotenv
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from canon_ops.errors import ExitCode
from canon_ops.files.dotenv_editor import BadName, DotenvDocument, UnreadableEnv, UnwritableValue
from canon_ops.files.dotenv_readers import Reader, hermes_values, quotings, shell_value
from tests.support.tools import needs


def after(data: bytes, name: str, value: str) -> bytes:
    return DotenvDocument.parse(data).set(name, value).data


@pytest.mark.parametrize(
    ("before", "name", "value", "expected"),
    [
        pytest.param(
            b"BORGEE_API_KEY=old1\nOTHER=1\nexport BORGEE_API_KEY=old2\n",
            "BORGEE_API_KEY",
            "new",
            b"BORGEE_API_KEY=old1\nOTHER=1\nexport BORGEE_API_KEY=new\n",
            id="BR-21 the last copy is the effective one and is edited",
        ),
        pytest.param(
            b"export CANON_AGENT=desk\n", "CANON_AGENT", "front", b"export CANON_AGENT=front\n", id="BR-22 export stays"
        ),
        pytest.param(b"A=1\n", "V", "bgr_a#b", b"A=1\nV='bgr_a#b'\n", id="BR-23 a hash"),
        pytest.param(b"A=1\n", "V", "bgr a # b", b"A=1\nV='bgr a # b'\n", id="BR-23 blanks and a hash"),
        pytest.param(b"A=1\n", "V", "C:\\keys\\x", b"A=1\nV='C:\\keys\\x'\n", id="BR-23 backslashes"),
        pytest.param(b"A=1\n", "V", "it's", b'A=1\nV="it\'s"\n', id="BR-23 a quote"),
        pytest.param(b"A=1\n", "V", 'say "hi"', b"A=1\nV='say \"hi\"'\n", id="BR-23 double quotes"),
        pytest.param(b"A=1\n", "V", "", b"A=1\nV=''\n", id="BR-23 empty"),
        pytest.param(b"A=1\n", "V", "trailing ", b"A=1\nV='trailing '\n", id="BR-23 a blank at the end"),
        pytest.param(b"NAME=caf\xe9\nA=1\n", "A", "2", b"NAME=caf\xe9\nA=2\n", id="BR-25 other bytes are copied"),
        pytest.param(b"A=1", "B", "2", b"A=1\nB=2\n", id="BR-26 nothing is glued"),
        pytest.param(b"A=1\r\nC=3\r\n", "B", "2", b"A=1\r\nC=3\r\nB=2\r\n", id="BR-26 CRLF files get CRLF"),
        pytest.param(b"A=1\r\nC=3\r\n", "A", "2", b"A=2\r\nC=3\r\n", id="BR-26 CRLF lines stay CRLF"),
        pytest.param(b"A=1", "A", "2", b"A=2", id="no line end is made up for a line that stays the last"),
        pytest.param(b"", "A", "1", b"A=1\n", id="an empty file"),
        pytest.param(b"# only\n", "A", "1", b"# only\nA=1\n", id="a file of comments"),
        pytest.param(b"CANON_AGENT: desk\nKEY\nit''s\n", "A", "1", b"CANON_AGENT: desk\nKEY\nit''s\nA=1\n", id="BR-28"),
        pytest.param(b"A=1 # note\nB=2\n", "A", "3", b"# note\nA=3\nB=2\n", id="a comment beside moves above"),
        pytest.param(b"A='1' # note", "A", "3", b"# note\nA='3'", id="a comment beside a quoted value"),
        pytest.param(b"A = 1\n", "A", "2", b"A=2\n", id="blanks around = end a shell's assignment"),
        pytest.param(b"  export  A='x' \n", "A", "y", b"  export A='y'\n", id="indent and export"),
        pytest.param(b'A="one\ntwo"\nB=1\n', "A", "2", b'A="2"\nB=1\n', id="a value over lines is replaced whole"),
        pytest.param(b"A=1\nA\n", "A", "2", b"A=1\nA=2\n", id="a bare name would undo the line before"),
        pytest.param(
            b"# x\nAB=1\n#A=0\n", "A", "2", b"# x\nAB=1\n#A=0\nA=2\n", id="other names and comments are not A"
        ),
        pytest.param(b"\xef\xbb\xbfA=1\nB=2\n", "B", "3", b"\xef\xbb\xbfA=1\nB=3\n", id="a byte-order mark stays"),
        pytest.param(
            b"\xef\xbb\xbfA=1\n",
            "A",
            "3",
            b"\xef\xbb\xbf\nA=3\n",
            id="the gateway takes a mark for a part of the name",
        ),
    ],
)
def test_lines_from_the_field(before: bytes, name: str, value: str, expected: bytes) -> None:
    """Each line ends up as a careful person would have written it, and every other byte is as before."""
    edited = DotenvDocument.parse(before).set(name, value)

    assert edited.data == expected
    assert edited.get(name) == value


def test_nothing_to_do_is_the_same_document() -> None:
    """The value that is there is not written again."""
    document = DotenvDocument.parse(b"A='1'\nB=2\n")

    assert document.set("A", "1") is document
    assert document.remove("C") is document


def test_a_value_that_readers_take_differently_is_written_again() -> None:
    """The same value in a form that Hermes' own parser misreads (a comment beside) is not left like that."""
    assert after(b"A=1 # note\n", "A", "1") == b"# note\nA=1\n"


def test_remove_takes_every_assignment() -> None:
    """After unset no earlier copy comes back to life."""
    assert DotenvDocument.parse(b"A=1\n# c\n\nB=2\nexport A=3").remove("A").data == b"# c\n\nB=2\n"


def test_duplicates_are_removed_only_when_asked() -> None:
    """BR-21: set leaves earlier copies; lint --fix removes them and keeps the effective one."""
    document = DotenvDocument.parse(b"A=1\nA=2\nB=3\nexport A=4\n")

    assert document.without_duplicates("A").data == b"B=3\nexport A=4\n"
    assert document.without_duplicates("B") is document


@pytest.mark.parametrize(
    ("data", "encoding"),
    [("A=1".encode("utf-16"), "UTF-16"), ("A=1".encode("utf-16-le"), "UTF-16LE"), ("A=1".encode("utf-32"), "UTF-32")],
)
def test_wide_encodings_are_refused_with_the_way_out(data: bytes, encoding: str) -> None:
    """UTF-16 and UTF-32 files are not edited; the message has the command that converts them."""
    with pytest.raises(UnreadableEnv, match=encoding) as caught:
        DotenvDocument.parse(data)

    assert "iconv" in str(caught.value.fix)


@pytest.mark.parametrize("value", ["a\nb", "a\r", "a\x00b", "\x1b[0m"])
def test_line_breaks_and_control_characters_are_refused(value: str) -> None:
    """A newline in a value is refused: one reader in three carries it."""
    with pytest.raises(UnwritableValue):
        after(b"", "A", value)


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A B", "A=B", "É"])
def test_names_that_no_shell_takes_are_refused(name: str) -> None:
    """Names are letters, digits and underscores."""
    with pytest.raises(BadName) as caught:
        after(b"", name, "x")

    assert caught.value.exit_code is ExitCode.USAGE


def test_a_value_that_only_the_shell_misreads_can_waive_it() -> None:
    """C5: a value that no quoting carries to all readers is refused, naming who differs; the shell may be waived."""
    document = DotenvDocument.parse(b"")

    with pytest.raises(UnwritableValue, match="a shell would read") as caught:
        document.set("A", "it's $5")

    assert "--readers" in str(caught.value.fix)
    edited = document.set("A", "it's $5", readers=(Reader.DOTENV, Reader.HERMES))
    assert edited.get("A") == hermes_values(edited.data.decode())["A"] == "it's $5"


def test_a_reference_is_not_a_text() -> None:
    """C5: the gateway fills in ${...} whatever the quotes, so such a text cannot be stored."""
    with pytest.raises(UnwritableValue, match="the gateway"):
        after(b"", "A", "${HOME}/x")


def test_a_credential_outside_ascii_is_refused() -> None:
    """The gateway drops such characters from keys: what arrives would be another key."""
    with pytest.raises(UnwritableValue, match="the gateway"):
        after(b"", "BORGEE_API_KEY", "schlüssel")


def test_a_stray_quote_that_swallows_lines_is_noticed() -> None:
    """BR-28: an open quote in another line may take the new one in; then nothing is changed and the line is named."""
    with pytest.raises(UnwritableValue):
        DotenvDocument.parse(b"A='open\nB=1\n").set("C", "it # s")


def test_a_file_that_is_not_utf8_takes_only_ascii() -> None:
    """BR-25: one file, one encoding; the readers would disagree about a character beyond ASCII."""
    with pytest.raises(UnwritableValue, match="not UTF-8"):
        after(b"NAME=caf\xe9\n", "A", "é")


# -- the readers ----------------------------------------------------------------------------------------------------

values = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp"), blacklist_characters="\u0085"), max_size=20
)
tricky = st.text(st.sampled_from("ab \"'\\$`#=;&|<>(){}[]*?!~%^:,./@+-\t é"), max_size=12)


SHELL_ALPHABET = "ab \"'\\$`#=;&|<>(){}[]*?!~%^:,./@+-\té"


def shell_samples(count: int) -> list[str]:
    rng = random.Random(7)
    return ["".join(rng.choice(SHELL_ALPHABET) for _ in range(rng.randrange(10))) for _ in range(count)]


def read_by_shell(shell: str, written: list[str], folder: Path) -> list[str]:
    """What a real shell assigns for each of these, each in a variable of its own."""
    file = folder / "env"
    file.write_text("".join(f"V{number}={text}\n" for number, text in enumerate(written)))
    names = " ".join(f'"$V{number}"' for number in range(len(written)))
    done = subprocess.run(
        [shell, "-c", f"set -a; . \"$1\"; printf '%s\\001' {names}", "sh", str(file)],
        capture_output=True,
        env={"PATH": "/nowhere"},
        check=True,
    )
    assert not done.stderr
    return done.stdout.decode().split("\x01")[:-1]


@pytest.mark.host
@given(st.one_of(values, tricky))
@example("a\\")
@example("\\'")
@example("a\\\\b")
@settings(max_examples=400, deadline=None)
def test_what_is_written_reads_back_in_python_dotenv_and_hermes(value: str) -> None:
    """BR-23: whatever is accepted, the gateway's library and Hermes' own parser read exactly that."""
    from hermes_cli.config import _parse_env_value

    try:
        data = DotenvDocument.parse(b"A='x'\nV=old\nB=\"y\"\n").set("V", value).data
    except UnwritableValue:
        return
    assert dotenv.dotenv_values(stream=io.StringIO(data.decode()))["V"] == value
    line = next(line for line in data.decode().split("\n") if line.startswith("V="))
    assert _parse_env_value(line[2:]) == value
    assert hermes_values(data.decode())["V"] == value


@pytest.mark.parametrize("shell", [pytest.param(name, marks=needs(name)) for name in ("sh", "bash", "dash", "zsh")])
def test_what_is_written_reads_back_in_shells(shell: str, tmp_path: Path) -> None:
    """BR-23: the same for ``set -a; . file`` in each shell."""
    path = shutil.which(shell)
    assert path is not None
    accepted, written = [], []
    for value in shell_samples(400):
        with contextlib.suppress(UnwritableValue):
            written.append(after(b"", "V", value).decode().removeprefix("V=").removesuffix("\n"))
            accepted.append(value)

    assert read_by_shell(path, written, tmp_path) == accepted
    assert len(accepted) > 200


def test_the_model_of_the_shell_never_promises_too_much(tmp_path: Path) -> None:
    """Where the model says what a shell reads, a real one reads that, for every way of quoting."""
    ways = [written for value in shell_samples(400) for written in quotings(value)]
    promised = [(written, value) for written in ways if (value := shell_value(written)) is not None]

    assert read_by_shell("/bin/sh", [written for written, _ in promised], tmp_path) == [value for _, value in promised]
    assert len(promised) > 400


@pytest.mark.parametrize("text", ["A=1\nB=2\n", "export A=1\nB=2\n", "A='1'\r\nB=2\r\n"])
def test_a_mark_goes_apart_from_the_name_that_is_edited(text: str) -> None:
    """It stays the first thing of the file; the gateway reads the name, and there is no second one."""
    document = DotenvDocument.parse(b"\xef\xbb\xbf" + text.encode())

    edited, removed = document.set("A", "3"), document.remove("A")

    assert (document.get("A"), edited.get("A"), edited.get("B")) == (None, "3", "2")
    assert edited.data.startswith(b"\xef\xbb\xbf") and edited.data.count(b"A=") == 1
    assert removed.data.startswith(b"\xef\xbb\xbf") and b"A=" not in removed.data
    assert document.remove("C") is document
    assert document.set("B", "5").data == b"\xef\xbb\xbf" + text.replace("B=2", "B=5").encode()
