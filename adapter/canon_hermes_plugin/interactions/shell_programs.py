"""The programs that matter to whoever asks with whose rights a command runs: tables, and nothing else.

Source: canon-adapter R9.12, D19; docs/decisions/0052.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "CODE",
    "COPIES",
    "EVALUATING",
    "LITERAL",
    "PRIVILEGED",
    "PROMPTS",
    "READERS",
    "RESERVED",
    "RUNNING_OPTIONS",
    "SHELLS",
    "STARTUP",
    "STORING",
    "UNASKED",
    "WRAPPERS",
]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


PRIVILEGED: Final = _names("""
    sudo doas pkexec su runuser run0 dzdo pfexec gosu su-exec gksu gksudo kdesu kdesudo machinectl
    sudo-rs su-rs ksu sux lxsudo beesu systemd-run setuidgid s6-setuidgid
    pbrun pmrun sesudo calife gnomesu xdg-su ktsuss gsudo runas
""")

# Words of the grammar behind which a command begins.
RESERVED: Final = _names("{ } ! if then elif do done else fi while until esac time coproc")

# They run a text that they are given, or read it.
SHELLS: Final = _names("""
    sh bash dash zsh ksh mksh ash fish rbash busybox toybox eval source . trap at batch crontab script ssh expect
""")

# They run the rest of their line; with the options that take the next word as their value, and how many other words
# stand in front of the program.
WRAPPERS: Final[dict[str, tuple[frozenset[str], int]]] = {
    "env": (_names("-u -C -S --unset --chdir"), 0),
    "nohup": (frozenset(), 0),
    "nice": (_names("-n --adjustment"), 0),
    "ionice": (_names("-c -n -p --class --classdata"), 0),
    "time": (_names("-f -o --format --output"), 0),
    "timeout": (_names("-s -k --signal --kill-after"), 1),
    "xargs": (_names("-a -d -E -I -L -n -P -s --arg-file --delimiter --max-args --max-procs"), 0),
    "exec": (_names("-a"), 0),
    "command": (frozenset(), 0),
    "builtin": (frozenset(), 0),
    "stdbuf": (_names("-i -o -e"), 0),
    "setsid": (frozenset(), 0),
    "setarch": (frozenset(), 1),
    "taskset": (frozenset(), 1),
    "chrt": (frozenset(), 1),
    "chroot": (frozenset(), 1),
    "unshare": (frozenset(), 0),
    "nsenter": (_names("-t -S -G"), 0),
    "strace": (_names("-e -o -p -s"), 0),
    "ltrace": (_names("-e -o -p -s"), 0),
    "watch": (_names("-n --interval"), 0),
    "flock": (_names("-w -E"), 1),
    "unbuffer": (frozenset(), 0),
    "parallel": (_names("-j -N -n --jobs"), 0),
    "entr": (frozenset(), 0),
    "coproc": (frozenset(), 0),
    "prlimit": (frozenset(), 0),
    "catchsegv": (frozenset(), 0),
    "script": (_names("-c"), 0),
}

# Programs with a language of their own: what calls a program in it looks like anything.
CODE: Final = _names("""
    python python2 python3 perl ruby node nodejs deno bun php lua luajit tclsh wish awk gawk mawk nawk sed vim vi ex
    nvim emacs ed gdb lldb R Rscript julia octave guile osascript make gmake
""")

# They look at their arguments, or say them; a name there is a word like any other.
READERS: Final = _names("""
    echo printf ls dir cat tac head tail less more grep egrep fgrep rg ag wc stat file man info apropos whatis which
    whereis type test [ [[ true false : cd pushd popd mkdir rmdir rm touch diff cmp comm sort uniq cut tr nl basename
    dirname realpath readlink du df date sleep exit return pwd id whoami groups hostname uname
""")

# Those that do more: with an option they run its value, in however few letters it is written.
RUNNING_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "sort": ("--c",),
    "man": ("-P", "-H", "--p", "--h"),
    "rg": ("--pre", "--hostname-bin"),
}

# Parts of the shell that look into an argument, or into the value of a variable, for what they can substitute.
EVALUATING: Final = _names("[[ [ test let declare typeset local export readonly unset printf read mapfile readarray")

# Files that a program runs without being told; lower-case.
UNASKED: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh"), _names(".bashrc .bash_profile .bash_login .profile .zshrc")),
    **dict.fromkeys(("make", "gmake"), _names("makefile gnumakefile")),
}

# Variables that name a file which a shell runs when it starts.
STARTUP: Final = _names("BASH_ENV ENV")

# Variables in which a shell looks for substitutions by itself.
PROMPTS: Final = _names("PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND")

# They put what they read into a variable.
STORING: Final = _names("read mapfile readarray")

# What they write is what stands in the command itself.
LITERAL: Final = _names("echo printf cat : true sleep cd set")

# They make a file, whose name is among their words.
COPIES: Final = _names("tee curl wget cp mv dd install ln sed awk")
