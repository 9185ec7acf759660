"""Command lines that a real shell judges: whether a program of other rights runs in them.

The program is ``doas``, because the bare word ``sudo`` counts wherever it stands. The lines stand in the folder
``shell_lines``, separated by a line that is ``%``; ``$BIN`` is the folder in which the stand-in for the program lies.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["HARMLESS", "RUNNING", "UNKNOWABLE", "ShellJudge", "made_lines"]

FOLDER: Final = Path(__file__).parent / "shell_lines"


def _entries(name: str) -> tuple[str, ...]:
    return tuple((FOLDER / name).read_text(encoding="utf-8").removesuffix("\n").split("\n%\n"))


RUNNING: Final = _entries("running.txt")
UNKNOWABLE: Final = _entries("unknowable.txt")  # what runs is made by what nobody can read in the line
HARMLESS: Final = _entries("harmless.txt")


_SPELLED: Final = (
    "doas", "'doas'", "do'as'", '"do"as', "d\\oas", "$'do\\x61s'", "{doas,x}", "$BIN/do?s", "$BIN/doas", "${A}as",
    "$A$B", "$(echo doas)", "`echo do`as", "$C", "${C}", '"$C"', "do${D}as", "${E:-doas}",
)  # fmt: skip
_FIRST: Final = (
    "", "A=do ", "A=do; B=as; C=doas; ", "A=do B=as C=doas\n", "export A=do C=doas; ", "C=do; C+=as; ",
    "read C <<< doas; ", "C='doas x'; ", "printf -v C %s doas; ", "set -- doas; C=$1; ", "A=do; C=${A}as; ",
)  # fmt: skip
_AROUND: Final = (
    "@ x", "env @ x", "nohup @", "command @", "exec @", "timeout 3 @", "nice -n1 @", "eval @ x", 'eval "@ x"',
    'bash -c "@ x"', "sh -c '@ x'", "echo @ | sh", "echo '@ x' | bash", "printf '%s' @ | sh", "xargs @ <<< x",
    "find . -maxdepth 0 -exec @ \\;", "bash <<< @", 'bash <<< "@ x"', "bash <<E\n@ x\nE\n", "cat <<E | sh\n@ x\nE\n",
    "( @ )", "{ @ x; }", "! @", "f() { @; }; f", "function f { @; }; f", "if @; then :; fi", "echo $(@ x)",
    'echo "`@`"', "cat <(@ x)", "true && @", "x | @", "time @", "echo @ > s; . ./s", "trap @ EXIT", "2>&1 @", "> f @",
    "<<< y @", "echo hi; @", "echo hi & @", "case x in x) @;; esac", "[[ 1 ]] && @", 'echo "@ x" | tee s | sh',
    "while :; do @; break; done", "A=1 @", "env -i @", "echo x | xargs -n1 @", "bash -c '@'", "env bash -c '@ x'",
    "echo @ | xargs env", "eval '@'", "source /dev/stdin <<< '@'", "awk 'BEGIN{system(\"@ x\")}'", "stdbuf -o0 @",
)  # fmt: skip
_TOKENS: Final = (
    "doas", "do", "as", "'", '"', "\\", "$", "`", "(", ")", "{", "}", "<", ">", "&", "|", ";", "#", " ", "\n", "=", "A",
    "$A", "${A", "$(", "<<E", "\nE\n", "<<<", "$'", "\\x61", "echo", "env", "eval", "bash", "-c", "sh", "*", "?", "[",
    "]", ",", "..", "!", "case", "in", "esac", "if", "then", "fi", "for", "done", "function", "f", "x", "-", "xargs",
    "printf", "%s", "A=doas", "A=do",
)  # fmt: skip


def made_lines(*, seed: int, count: int) -> list[str]:
    """Lines that nobody wrote: half of them spell the name and put it somewhere, half are pieces in any order."""
    rng = random.Random(seed)
    return [_placed(rng) if at % 2 else _strewn(rng) for at in range(count)]


def _placed(rng: random.Random) -> str:
    line = rng.choice(_SPELLED)
    for _ in range(rng.choice([1, 1, 2, 2, 3])):
        line = rng.choice(_AROUND).replace("@", line)
    return rng.choice(_FIRST) + line


def _strewn(rng: random.Random) -> str:
    return "".join(rng.choice(_TOKENS) + rng.choice(["", " "]) for _ in range(rng.randint(2, 12)))


@dataclass(frozen=True, slots=True)
class ShellJudge:
    """A real bash with a stand-in for ``doas`` on its path, which leaves a trace where it runs."""

    root: Path

    @classmethod
    def at(cls, root: Path) -> ShellJudge:
        """Make its folders in ``root``."""
        judge = cls(root)
        judge.programs.mkdir()
        for name in ("doas", "sudo"):
            program = judge.programs / name
            program.write_text(f'#!/bin/sh\n: > "{judge._trace}"\n')
            program.chmod(0o755)
        return judge

    @property
    def programs(self) -> Path:
        return self.root / "bin"

    @property
    def _trace(self) -> Path:
        return self.root / "ran"

    def runs(self, command: str) -> bool:
        """Whether the program ran; each command has an empty folder of its own."""
        self._trace.unlink(missing_ok=True)
        folder = self.root / "work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        path = f"{self.programs}:/usr/bin:/bin:{Path(shutil.which('python3') or '/usr/bin/python3').parent}"
        subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env={"PATH": path, "HOME": str(folder), "BIN": str(self.programs)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=20,
            check=False,
        )
        return self._trace.exists()
