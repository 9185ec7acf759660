"""The cures for files that are not plain UTF-8, run by a real shell: what the gateway read before, it reads after."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest
import yaml

from canon_ops.errors import CanonOpsError
from canon_ops.files.dotenv_editor import DotenvDocument
from canon_ops.files.dotenv_lint import lint_dotenv
from canon_ops.files.yaml_reader import read_yaml
from canon_ops.settings.dotenv import lay_over, read_dotenv
from canon_ops.settings.encodings import as_utf8, plain_line_ends, wide_encoding

ENV = "# grüße\nCANON_API_KEY=agk_live_sandbox_1\nTZ=UTC\n"
ASCII = ENV.replace("ü", "ue").replace("ß", "ss")


def read_by_gateway(data: bytes) -> dict[str, str]:
    return lay_over({}, read_dotenv(data))[0]


def cure_of(data: bytes, file: Path) -> str:
    """What the editor or the linter advises."""
    try:
        DotenvDocument.parse(data, str(file))
    except CanonOpsError as error:
        return str(error.fix)
    return next(str(each.fix) for each in lint_dotenv(data, file=str(file)) if each.code == "env_not_utf8")


def pasted(cure: str) -> None:
    subprocess.run(["/bin/sh", "-c", cure], check=True, timeout=10)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(ENV.encode().replace(b"UTC", b"U\x00TC"), id="a NUL in a value"),
        pytest.param(b"\x00" + ENV.encode(), id="a NUL in front"),
        pytest.param(ENV.encode() + b"\x00" * 4096, id="a tail of NULs, as a file system leaves it after a crash"),
        pytest.param(ASCII.encode().replace(b"=", b"\x00=\x00"), id="NULs in an even place and an odd one"),
        pytest.param(ENV.encode("latin-1").replace(b"UTC", b"U\x00TC"), id="a NUL in Latin-1"),
    ],
)
def test_a_nul_byte_costs_nothing_but_itself(data: bytes, tmp_path: Path) -> None:
    """The editor refuses the text, and the command that it gives removes the NULs and keeps every other byte."""
    file = tmp_path / "a b" / ".env"
    file.parent.mkdir()
    file.write_bytes(data)
    file.chmod(0o640)

    pasted(cure_of(data, file))

    assert file.read_bytes() == data.replace(b"\x00", b"")
    assert read_by_gateway(file.read_bytes()) == read_by_gateway(data)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [path.name for path in file.parent.iterdir()] == [".env"]


@pytest.mark.parametrize(
    "data",
    [
        *(pytest.param(ENV.encode(name), id=f"{name} with a mark") for name in ("utf-16", "utf-32")),
        pytest.param(b"\xfe\xff" + ENV.encode("utf-16-be"), id="utf-16-be with a mark"),
        *(pytest.param(ENV.encode(name), id=f"{name} without a mark") for name in ("utf-16-le", "utf-16-be")),
        pytest.param(ENV.encode("latin-1"), id="latin-1"),
    ],
)
def test_a_converted_file_is_the_same_text_in_utf_8(data: bytes, tmp_path: Path) -> None:
    """Byte for byte, and without a mark in front, which would belong to the first name."""
    file = tmp_path / ".env"
    file.write_bytes(data)

    pasted(cure_of(data, file))

    assert file.read_bytes() == ENV.encode()


def test_a_cure_that_fails_leaves_the_file_alone(tmp_path: Path) -> None:
    """UTF-16 that ends in the middle of a character is not converted, and not emptied."""
    file, data = tmp_path / ".env", ENV.encode("utf-16") + b"\x00"
    file.write_bytes(data)

    ran = subprocess.run(["/bin/sh", "-c", cure_of(data, file)], check=False, capture_output=True, timeout=10)

    assert ran.returncode != 0
    assert file.read_bytes() == data


def test_one_broken_line_does_not_spoil_the_letters_of_the_others(tmp_path: Path) -> None:
    """Converting the whole file from Latin-1 would make two letters of each that is right."""
    mixed = "# größer\nA: 1\n".encode() + b"# gr\xf6\xdfer\n"

    with pytest.raises(CanonOpsError) as caught:
        read_yaml(mixed, "/h/config.yaml")

    assert caught.value.fix == "write line 3 of /h/config.yaml again: the other lines are UTF-8, and it is not"
    assert cure_of(mixed.replace(b": ", b"="), Path("/h/.env")) == as_utf8(mixed, "/h/.env")


@pytest.mark.parametrize("name", ["utf-16", "utf-32"])
def test_a_wide_config_is_converted_from_what_it_is(name: str, tmp_path: Path) -> None:
    """Its mark says what it is in; as Latin-1 it would be nobody's text."""
    file = tmp_path / "config.yaml"
    file.write_bytes("größe: 1\n".encode(name))

    with pytest.raises(CanonOpsError) as caught:
        read_yaml(file.read_bytes(), str(file))
    subprocess.run(["/bin/sh", "-c", str(caught.value.fix)], check=True, timeout=10)

    assert read_yaml(file.read_bytes(), str(file)).value == {"größe": 1}


@pytest.mark.parametrize("text", ["a: 1\rb: |\r  x\r\r  y\r", "a: 1\r\nb: |\r\n  x\r  y\nc: 'z\r\r\n  z'\r"])
def test_plain_line_ends_mean_the_same(text: str, tmp_path: Path) -> None:
    """CR alone and CR with LF are one line end each: no value gets another line."""
    file = tmp_path / "config.yaml"
    file.write_bytes(text.encode())

    pasted(plain_line_ends(text, str(file)))

    assert b"\r" not in file.read_bytes()
    assert yaml.safe_load(file.read_bytes()) == yaml.safe_load(text)


@pytest.mark.parametrize(
    "data", [b"", b"\x00", b"\x00\x00", b"a\x00", ENV.encode(), b"\x00a=1\n", b"a=\x00\x00\x00\x00"]
)
def test_few_bytes_are_not_taken_for_a_wide_text_lightly(data: bytes) -> None:
    """Without a mark most characters must be ASCII with a NUL at the same side."""
    assert wide_encoding(data) == ("UTF-16LE" if data == b"a\x00" else None)
