"""Everything about a release that can be checked before it is published; ``make release-check``.

In order, each step on what the one before it left in ``dist/``:

1. wheel and source archive are built twice, from two copies of the tree in folders of different names and under
   different umasks, with ``SOURCE_DATE_EPOCH`` of the commit: equal bytes. The wheel is built once more from the source
   archive: equal bytes again.
2. ``twine check --strict``: the index would take them.
3. the wheel is installed into a fresh environment, and ``cyclonedx-py`` writes what is there as CycloneDX JSON.
4. ``pip-audit`` asks a vulnerability service about exactly those versions. Where none can be reached, the summary says
   that nothing was audited; with ``--require-audit`` that is a failure.

The last lines are the summary, and ``SHA256SUMS`` names what belongs to the release.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tests.support.environments import CHECKOUT, Environment

__all__ = ["Audit", "Failed", "audit_verdict", "checksums", "differences"]

TOOLS = Environment("release", requirements=("cyclonedx-bom>=7,<8", "pip-audit>=2.9", "twine>=6"))
DIST = CHECKOUT / "dist"
LIMIT_S = 900
_SERVICES = ("pypi", "osv")
_UNREACHABLE = (
    "ConnectionError", "ConnectionResetError", "ConnectTimeout", "ReadTimeout", "ProxyError", "SSLError", "Max retries",
    "ServiceError", "NewConnectionError", "NameResolutionError",
)  # fmt: skip


class Failed(Exception):
    """The release is not fit; the text says why."""


class Audit(Enum):
    """What became of the question for known vulnerabilities."""

    CLEAN = "no known vulnerability"
    FOUND = "known vulnerabilities"
    NOT_DONE = "NOT AUDITED: no vulnerability service answered"


@dataclass(frozen=True, slots=True)
class Done:
    """A program that ended."""

    code: int
    out: str
    err: str


def audit_verdict(code: int, out: str, err: str) -> Audit:
    """What an answer of pip-audit amounts to.

    Args:
        code: 0 without findings, 1 with findings and for every error.
        out: its JSON document, empty when it failed before it had one.

    Raises:
        Failed: it failed, and not for want of a service.
    """
    try:
        rows = json.loads(out)["dependencies"]
    except (ValueError, KeyError, TypeError):
        if any(word in err for word in _UNREACHABLE):
            return Audit.NOT_DONE
        raise Failed(f"pip-audit ended with {code} and no document:\n{err[-2000:]}") from None
    if any(row.get("vulns") for row in rows):
        return Audit.FOUND
    unknown = [row["name"] for row in rows if "skip_reason" in row]
    if unknown and len(unknown) == len(rows):
        return Audit.NOT_DONE  # an index that serves packages and no advisories: it says "none known" of everything
    if unknown:
        raise Failed(f"pip-audit did not ask about {', '.join(unknown)}")
    return Audit.CLEAN


def differences(first: Mapping[str, bytes], second: Mapping[str, bytes]) -> list[str]:
    """The names whose bytes differ, or that only one of two builds has."""
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


def checksums(files: Sequence[Path]) -> str:
    """The text of ``SHA256SUMS``, as ``sha256sum --check`` reads it."""
    rows = sorted((file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files)
    return "".join(f"{digest}  {name}\n" for name, digest in rows)


def main(words: Sequence[str] | None = None) -> int:
    """Run the steps; 0 when the release is fit."""
    parser = argparse.ArgumentParser(prog="python -m scripts.release_check", description=__doc__)
    parser.add_argument("--require-audit", action="store_true", help="fail when nothing could be audited")
    parser.add_argument("--commit", default="HEAD", help="what is released (default: HEAD)")
    asked = parser.parse_args(words)
    try:
        audit = check_release(asked.commit)
    except Failed as failure:
        print(f"release-check: {failure}", file=sys.stderr)
        return 1
    print(f"audit: {audit.value}")
    return 1 if audit is Audit.FOUND or (asked.require_audit and audit is Audit.NOT_DONE) else 0


def check_release(commit: str) -> Audit:
    """All steps for one commit; what is built stands in ``dist/`` afterwards.

    Raises:
        Failed: a step says no.
    """
    tools = TOOLS.make(say=print).parent
    epoch = _run(["git", "show", "--no-patch", "--format=%ct", commit], cwd=CHECKOUT).out.strip()
    dirty = _run(["git", "status", "--porcelain"], cwd=CHECKOUT).out
    if dirty and commit == "HEAD":
        print("note: the working tree has changes; what is checked is the commit")
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        folder = Path(scratch)
        built = _build_twice(commit, epoch, folder)
        files = _put_into_dist(built)
        print(f"reproducible: {', '.join(built)} (SOURCE_DATE_EPOCH={epoch})")
        _run([str(tools / "twine"), "check", "--strict", *map(str, files)])
        print("twine check: passed")
        wheel = next(file for file in files if file.suffix == ".whl")
        product = _installed(wheel, folder / "product")
        sbom = _write_sbom(tools, product, wheel, epoch)
        print(f"SBOM: {sbom.name}, {len(json.loads(sbom.read_bytes())['components'])} components")
        DIST.joinpath("SHA256SUMS").write_text(checksums([*files, sbom]), encoding="utf-8")
        return _audit(tools, product, folder)


def _build_twice(commit: str, epoch: str, folder: Path) -> dict[str, bytes]:
    """Wheel and source archive by name, after they have been built three ways."""
    archive = subprocess.run(
        ["git", "archive", "--format=tar", commit], cwd=CHECKOUT, check=True, capture_output=True, timeout=LIMIT_S
    ).stdout
    first = _built(archive, folder / "a", epoch, umask=0o022)
    second = _built(archive, folder / "b-with-a-longer-name", epoch, umask=0o077)
    if wrong := differences(first, second):
        raise Failed(f"two builds of one commit differ: {', '.join(wrong)}")
    (sdist,) = [data for name, data in first.items() if name.endswith(".tar.gz")]
    again = _built(sdist, folder / "from-sdist", epoch, umask=0o022, kinds=("wheel",))
    wheel = {name: data for name, data in first.items() if name.endswith(".whl")}
    if wrong := differences(wheel, again):
        raise Failed(f"the source archive does not build the same wheel: {', '.join(wrong)}")
    return first


def _built(
    archive: bytes, folder: Path, epoch: str, *, umask: int, kinds: Sequence[str] = ("sdist", "wheel")
) -> dict[str, bytes]:
    """Unpack, build, and give what came out, by name."""
    folder.mkdir()
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    inside = list(folder.iterdir())
    tree = inside[0] if len(inside) == 1 else folder
    out = folder.with_name(f"{folder.name}-out")
    for kind in kinds:
        command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
        _run(command, cwd=tree, environ={**os.environ, "SOURCE_DATE_EPOCH": epoch}, umask=umask)
    return {file.name: file.read_bytes() for file in sorted(out.iterdir())}


def _put_into_dist(built: Mapping[str, bytes]) -> list[Path]:
    """Nothing else of ours stays there: what is published is what was checked."""
    DIST.mkdir(exist_ok=True)
    for old in (*DIST.glob("canon_ops-*"), DIST / "SHA256SUMS"):
        old.unlink(missing_ok=True)
    for name, data in built.items():
        DIST.joinpath(name).write_bytes(data)
    return [DIST / name for name in built]


def _installed(wheel: Path, folder: Path) -> Path:
    """The interpreter of an environment that holds the wheel, what it needs, and nothing else, pip included."""
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, str(wheel)])
    return python


def _write_sbom(tools: Path, product: Path, wheel: Path, epoch: str) -> Path:
    """CycloneDX 1.6 JSON beside the wheel; the same commit on the same index gives the same bytes."""
    file = DIST / f"{wheel.name.split('-py3')[0]}.cdx.json"
    _run(
        [
            str(tools / "cyclonedx-py"), "environment", "--pyproject", str(CHECKOUT / "pyproject.toml"),
            "--mc-type", "application", "--spec-version", "1.6", "--output-format", "JSON", "--output-reproducible",
            "--validate", "--output-file", str(file), str(product),
        ],
        environ={**os.environ, "SOURCE_DATE_EPOCH": epoch},
    )  # fmt: skip
    return file


def _audit(tools: Path, product: Path, folder: Path) -> Audit:
    """Ask one service after the other about the versions that are installed; the first that answers counts."""
    pip = [sys.executable, "-m", "pip", "--python", str(product), "--disable-pip-version-check"]
    frozen = _run([*pip, "freeze", "--exclude", "canon-ops"]).out
    pins = folder / "pins.txt"
    pins.write_text(frozen, encoding="utf-8")
    verdict = Audit.NOT_DONE
    for service in _SERVICES:
        done = _run(
            [
                str(tools / "pip-audit"), "--requirement", str(pins), "--no-deps", "--disable-pip", "--format", "json",
                "--vulnerability-service", service, "--timeout", "20", "--progress-spinner", "off",
            ],
            may_fail=True,
        )  # fmt: skip
        verdict = audit_verdict(done.code, done.out, done.err)
        if verdict is Audit.FOUND:
            print(done.out)
        if verdict is not Audit.NOT_DONE:
            break
    return verdict


def _run(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    umask: int = -1,
    may_fail: bool = False,
) -> Done:
    done = subprocess.run(
        command, cwd=cwd, env=environ, umask=umask, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    if done.returncode and not may_fail:
        raise Failed(f"{' '.join(command)}\n{(done.stderr or done.stdout)[-3000:]}")
    return Done(done.returncode, done.stdout, done.stderr)


if __name__ == "__main__":
    sys.exit(main())
