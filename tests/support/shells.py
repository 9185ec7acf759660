"""Asking real shells what they would complete: bash and fish answer in bulk, zsh on a terminal.

Mark what uses them with :func:`tests.support.tools.needs`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.terminal import Screen

__all__ = ["ask_bash", "ask_fish", "shell_environ", "zsh_screen"]

SCRIPTS = Path(sys.executable).parent

_BASH = """\
source "$1"
while IFS= read -r line; do
    COMP_LINE=$line COMP_POINT=${#line}
    read -ra COMP_WORDS <<<"${line//=/ = }"
    [[ $line == *[" ="] ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    [[ $line == *= ]] && COMP_CWORD=$((COMP_CWORD - 1)) && unset 'COMP_WORDS[COMP_CWORD+1]'
    COMPREPLY=()
    _canon_ops
    printf '%s\\t' "${COMPREPLY[@]}"
    printf '\\n'
done
"""
_FISH = """\
source $argv[1]
while read -l line
    printf '%s\\t' (complete -C "$line" | string replace -r '\\t.*' '')
    echo
end
"""


def shell_environ(home: Path) -> dict[str, str]:
    """A process environment in which ``canon-ops`` is the one of these tests."""
    return {
        "PATH": f"{SCRIPTS}:{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "XDG_CACHE_HOME": str(home / ".cache"),
    }


def ask_bash(script: Path, lines: Sequence[str], environ: Mapping[str, str]) -> list[list[str]]:
    """What bash would offer at the end of each line."""
    return _ask(["bash", "--norc", "--noprofile", "-c", _BASH, "bash", str(script)], lines, environ)


def ask_fish(script: Path, lines: Sequence[str], environ: Mapping[str, str]) -> list[list[str]]:
    """What fish would offer at the end of each line."""
    return _ask(["fish", "--no-config", "-c", _FISH, str(script)], lines, environ)


@contextmanager
def zsh_screen(script: Path, environ: Mapping[str, str], folder: Path) -> Iterator[Screen]:
    """An interactive zsh on a large screen that completes as its manual sets it up."""
    functions = folder / "functions"
    functions.mkdir()
    shutil.copy(script, functions / "_canon-ops")
    (folder / ".zshrc").write_text(
        f"fpath=({functions} $fpath)\nautoload -Uz compinit && compinit -u -d {folder / 'dump'}\n"
        "PS1='ready> '\nLISTMAX=10000\nunsetopt PROMPT_SP AUTO_MENU\nsetopt NO_BEEP NO_LIST_AMBIGUOUS\n"
    )
    told = {**environ, "ZDOTDIR": str(folder)}
    with Screen(["zsh", "-d", "-i"], told, columns=160, rows=90) as screen:
        screen.wait_for("ready>")
        yield screen


def _ask(command: Sequence[str], lines: Sequence[str], environ: Mapping[str, str]) -> list[list[str]]:
    done = subprocess.run(
        command, input="".join(f"{line}\n" for line in lines), env=dict(environ), capture_output=True, text=True,
        check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    answers = [[word for word in answer.split("\t") if word] for answer in done.stdout.splitlines()]
    assert len(answers) == len(lines), done.stdout
    return answers
