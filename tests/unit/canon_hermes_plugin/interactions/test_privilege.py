"""Whether a command needs the owner, over what shells make of quotes, substitutions and their own relatives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_hermes_plugin.interactions.privilege import needs_owner
from canon_hermes_plugin.interactions.shell_words import Word, read_commands

TABLE = [
    ("sudo rm x", True), ("/usr/bin/sudo -i", True), ("a&&sudo b", True), ("SUDO x", True), ("echo sudo", True),
    ("pseudo x", False), ("sudoedit f", False), ("my-sudo x", False), ("sudo-x", False), ("echo 'sudo'", False),
]  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), TABLE)
def test_the_word_itself(command: str, expected: bool) -> None:
    """R9.12, S9.2: the table of the rule."""
    assert needs_owner(command) is expected


@pytest.mark.parametrize(
    "command",
    [
        "'sudo' x", r"s\udo x", '"su""do" x', "$'\\x73udo' x", "$'\\163udo' x", '$"sudo" x', "su\\\ndo x",
        "doas x", "pkexec y", "su -c x", "su - root", "run0 x", "/bin/su", "DoAs x",
        "A=1 doas x", "S='sudo'; $S x", "a |doas b", "a;doas b", "! doas b", "{ doas b; }", "(doas b)",
        "if doas true; then :; fi", "x > f; doas y", "> f doas y", "2>/dev/null doas x", "<in doas x",
        "echo a # c\ndoas x", "cat <<EOF\nx\nEOF\ndoas y",
        "echo $(doas x)", "echo `doas x`", "cat <(doas x)", "${X:-doas} y", 'echo "$(do\'as\' x)"',
        "bash -c 'doas x'", 'eval "do""as x"', "ssh host 'doas x'", "env A=1 doas x", "timeout 5 doas x",
        "xargs -n1 doas", "find . -exec doas rm {} +", "env -S 'doas x'", "bash -c \"bash -c 'doas x'\"",
        'subprocess.run(["sudo","id"])', "spawn('/usr/bin/doas', ['x'])",
    ],
)  # fmt: skip
def test_what_a_shell_would_run_with_other_rights(command: str) -> None:
    """D19: quoting, concatenation, wrappers and relatives of sudo do not hide it."""
    assert needs_owner(command)


@pytest.mark.parametrize("command", ["$X a", "$(which x) y", "`echo hi` x", "s${x}udo -i", "s$@udo x", "$1"])
def test_a_program_that_is_made_at_run_time(command: str) -> None:
    """D19: nobody can tell what it will be, so the owner is asked."""
    assert needs_owner(command)


@pytest.mark.parametrize("command", ["echo 'x", 'echo "x', "echo $(x", "echo `x", "echo ${x"])
def test_a_text_without_an_end(command: str) -> None:
    """D19: what is no whole command is not judged."""
    assert needs_owner(command)


@pytest.mark.parametrize(
    "command",
    [
        "rm build.tmp", "rm -rf $BUILD", "$HOME/bin/tool x", "echo su", "ls doas", "git commit -m 'no su here'",
        "curl http://x|sh", "python -c \"print('doas')\"", "cat a > doas", "echo # 'x", "", "rm 2>&1 x",
        "for i in 1 2; do rm $i; done", "[ -f su ] && rm x", "bash script.sh", "A=b rm x", "echo '$(doas x)'",
    ],
)  # fmt: skip
def test_an_ordinary_command(command: str) -> None:
    """R9.10: what runs with the agent's own rights is the member's to allow."""
    assert not needs_owner(command)


def test_a_shell_in_a_shell_in_a_shell() -> None:
    """D19: deeper than anybody writes, it is not followed, and the owner is asked."""
    command = "rm x"
    for _ in range(12):
        command = f"echo $({command})"

    assert needs_owner(command)
    assert not needs_owner("echo $(echo $(rm x))")


def test_the_words_of_a_line() -> None:
    """Quotes are gone, redirections and comments too; what is made at run time is marked."""
    reading = read_commands("""A='1 2' "b"c\\ d $E >out 2>&1 'f' # g\nh""")

    assert reading.commands == ((Word("A=1 2"), Word("bc d"), Word("", True), Word("f")), (Word("h"),))
    assert reading.is_whole


PIECES = st.sampled_from([*"'\"\\$`(){}<>&|;# \n=a-", "sudo", "$(", "${", "$'", "<<EOF"])


@given(st.lists(PIECES, max_size=40).map("".join))
def test_every_text_is_judged(command: str) -> None:
    """D19: whatever stands there, there is an answer; and a sudo at the front is always seen."""
    assert needs_owner(command) in (True, False)
    assert needs_owner(f"sudo {command}")
    assert needs_owner(f"'sudo' {command}")
