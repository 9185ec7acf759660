"""A wheel put together from an installation is the wheel that was installed."""

from __future__ import annotations

import io
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from canon_ops.operate.package.wheel import NotAWheel, PackageAltered, Wheel, from_installed
from tests.support.fake_host import make_environment, site_of
from tests.support.small_wheels import UV, offline_environ, our_wheel, small_wheel

EMPTY_ZIP = b"PK\x05\x06" + b"\0" * 18


@pytest.fixture
def python(tmp_path: Path) -> Path:
    return make_environment(tmp_path / "env")


def put(python: Path, file: Path, tmp_path: Path) -> Path:
    """Install a wheel with uv; the folder of its metadata."""
    subprocess.run(
        [UV, "pip", "install", "--quiet", "--no-deps", "--python", python, file],
        env=offline_environ(tmp_path),
        check=True,
        timeout=60,
    )
    (info,) = site_of(python).glob(f"{'-'.join(file.name.split('-')[:2])}.dist-info")
    return info


def test_the_way_there_and_back(python: Path, tmp_path: Path) -> None:
    """Contents, digests, scripts and data files survive; the installer's own traces do not come along."""
    stem = "canon_ops-1.0"
    file = small_wheel(
        tmp_path / "dist",
        "canon-ops",
        "1.0",
        {
            "canon_ops/__init__.py": "x = 1\n",
            "canon_ops/deep/data.bin": "\x01\n",
            f"{stem}.data/data/share/man/man1/canon-ops.1": ".TH\n",
            f"{stem}.data/scripts/helper": "#!python\nprint(1)\n",
        },
        entry_points="[console_scripts]\ncanon-ops = canon_ops:main\n",
    )
    original = Wheel.read(file)
    info = put(python, file, tmp_path)
    (site_of(python) / "canon_ops" / "__pycache__").mkdir()
    (site_of(python) / "canon_ops" / "__pycache__" / "x.pyc").write_bytes(b"")

    rebuilt = from_installed(info, prefix=tmp_path / "env", intact=True)

    assert (rebuilt.name, rebuilt.version, rebuilt.file_name) == ("canon-ops", "1.0", original.file_name)
    assert rebuilt.digests == original.digests
    assert rebuilt.is_installed_as(info)
    assert (tmp_path / "env" / "share" / "man" / "man1" / "canon-ops.1").exists()


def test_the_same_files_give_the_same_bytes(python: Path, tmp_path: Path) -> None:
    """Two environments, one digest."""
    file = our_wheel(tmp_path / "dist", "1.0")
    other = make_environment(tmp_path / "other")

    first = from_installed(put(python, file, tmp_path), prefix=tmp_path / "env", intact=True)
    second = from_installed(put(other, file, tmp_path), prefix=tmp_path / "other", intact=True)

    assert first.sha256 == second.sha256


@pytest.mark.parametrize("spoil", ["changed", "missing", "no list"])
def test_an_altered_installation_is_not_carried_further(spoil: str, python: Path, tmp_path: Path) -> None:
    """The file at fault is named; what only has to be put back later is taken as it is."""
    info = put(python, our_wheel(tmp_path / "dist", "1.0"), tmp_path)
    file = site_of(python) / "canon_ops" / "__init__.py"
    if spoil == "changed":
        file.write_text("patched = True\n")
    elif spoil == "missing":
        file.unlink()
    else:
        file = info
        (info / "RECORD").unlink()

    with pytest.raises(PackageAltered) as caught:
        from_installed(info, prefix=tmp_path / "env", intact=True)

    assert caught.value.file == str(file)
    if spoil == "changed":
        kept = from_installed(info, prefix=tmp_path / "env", intact=False)
        assert (
            kept.digests["canon_ops/__init__.py"]
            != Wheel.read(tmp_path / "dist" / kept.file_name).digests["canon_ops/__init__.py"]
        )


def test_other_contents_are_seen(python: Path, tmp_path: Path) -> None:
    """The same version from other files is not what is installed."""
    info = put(python, our_wheel(tmp_path / "dist", "1.0"), tmp_path)
    other = Wheel.read(our_wheel(tmp_path / "other-dist", "1.0", plugin="def register(ctx): return 1\n"))

    assert not other.is_installed_as(info)


@pytest.mark.parametrize(
    ("name", "data"), [("a.whl", b"no zip"), ("a.txt", b""), ("a.whl", b"PK\x05\x06" + b"\0" * 18)]
)
def test_what_is_no_wheel_is_said_to_be_none(name: str, data: bytes, tmp_path: Path) -> None:
    """Something else, also an empty archive, is refused in one sentence."""
    (tmp_path / name).write_bytes(data)

    with pytest.raises(NotAWheel, match=r"is not a wheel\."):
        Wheel.read(tmp_path / name)


def bomb() -> bytes:
    """Notes of eighty megabytes in a small archive."""
    paper = io.BytesIO()
    with zipfile.ZipFile(paper, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("a-1.dist-info/RECORD", "")
        with archive.open("a-1.dist-info/METADATA", "w", force_zip64=True) as member:
            for _ in range(80):
                member.write(b"0" * 1024 * 1024)
    return paper.getvalue()


def with_a_flag(flag: int) -> bytes:
    """An archive whose members want something: a password, or a compression nobody has."""
    paper = io.BytesIO()
    with zipfile.ZipFile(paper, "w") as archive:
        archive.writestr("a-1.dist-info/RECORD", "")
        archive.writestr("a-1.dist-info/METADATA", "Name: a\nVersion: 1\n")
    data = bytearray(paper.getvalue())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = 0
        while (start := data.find(mark, start)) >= 0:
            data[start + offset + (2 if flag > 1 else 0)] = flag
            start += 4
    return bytes(data)


@pytest.mark.parametrize(
    "make", [bomb, lambda: with_a_flag(1), lambda: with_a_flag(99)], ids=["bomb", "password", "unknown"]
)
def test_a_hostile_archive_is_no_wheel(make: Callable[[], bytes]) -> None:
    """Its notes are read up to a limit, and what cannot be unpacked is refused in the same sentence."""
    with pytest.raises(NotAWheel, match=r"is not a wheel\."):
        Wheel.parse(make(), "a-1-py3-none-any.whl")
