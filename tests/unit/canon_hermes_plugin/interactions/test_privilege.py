"""Whether a command needs the owner, over what shells make of quotes, substitutions and their own relatives."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canon_hermes_plugin.interactions.privilege import needs_owner
from canon_hermes_plugin.interactions.shell_patterns import TooMany, braces_out
from canon_hermes_plugin.interactions.shell_words import read_commands
from tests.support.shell_judge import HARMLESS, RUNNING, UNKNOWABLE, ShellJudge, made_lines

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


@pytest.mark.parametrize("name", ["sudo-rs", "su-rs", "ksu", "systemd-run", "pbrun", "sesudo", "gsudo", "runas"])
def test_relatives_by_name(name: str) -> None:
    """D19: what a system has instead of sudo, or beside it."""
    assert needs_owner(f"/usr/bin/{name} id")
    assert not needs_owner(f"echo {name}")


@pytest.mark.parametrize("how", ["-e '{}'", "<<E\n{}\nE\n", "-l AppleScript -e '{}'"])
def test_an_administrators_rights_on_a_mac(how: str) -> None:
    """D19: AppleScript has its own way of asking for them, in words."""
    script = 'do shell script "rm -rf /Library/x" with  Administrator privileges'
    assert needs_owner("osascript " + how.format(script))
    assert not needs_owner("osascript " + how.format('display dialog "hello"'))


@pytest.mark.parametrize("blank", ["\r", "\v", "\f", "\xa0", "\u3000", "\x1c"])
def test_what_only_looks_like_a_blank_ends_no_word(blank: str) -> None:
    """D19: a shell knows blank and tab, so behind any other sign ``#`` is a letter, and what follows it is run."""
    assert needs_owner(f"echo a{blank}#; doas x")
    assert not needs_owner("echo a\t#; doas x")


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
        "cat a > doas", "echo # 'x", "", "rm 2>&1 x", "for i in 1 2; do rm $i; done", "[ -f su ] && rm x",
        "bash script.sh", "A=b rm x", "echo '$(doas x)'",
    ],
)  # fmt: skip
def test_an_ordinary_command(command: str) -> None:
    """R9.10: what runs with the agent's own rights is the member's to allow."""
    assert not needs_owner(command)


# --- a real shell is the judge --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> ShellJudge:
    return ShellJudge.at(tmp_path_factory.mktemp("shell"))


def test_whatever_ran_was_seen(judge: ShellJudge) -> None:
    """D19: each of these lines runs the program under a real bash, and is the owner's to allow."""
    unseen = [command for command in RUNNING if not needs_owner(command)]
    idle = [command for command in RUNNING[::4] if not judge.runs(command)]  # the rest: `make fuzz`

    assert (unseen, idle) == ([], [])


def test_what_cannot_be_known_is_the_owners() -> None:
    """Decision 52: what a line runs comes from elsewhere, or stands in another language."""
    assert [command for command in UNKNOWABLE if not needs_owner(command)] == []


def test_a_line_that_only_speaks_of_it(judge: ShellJudge) -> None:
    """R9.10: the name in a text, a file's name or a question is no program, and under a real bash it does not run."""
    assert [command for command in HARMLESS if needs_owner(command)] == []
    assert [command for command in HARMLESS[::6] if judge.runs(command)] == []


def test_lines_that_nobody_thought_of(judge: ShellJudge) -> None:
    """D19: what is found harmless is run; and of those that are seen, many do run, so the question is a real one."""
    lines = made_lines(seed=19, count=250)

    harmless = [command for command in lines if not needs_owner(command)]

    assert [command for command in harmless if judge.runs(command)] == []
    assert sum(judge.runs(command) for command in lines[:20]) > 5


@pytest.mark.long
@pytest.mark.timeout(900)
def test_very_many_lines(judge: ShellJudge) -> None:
    """The whole of the above, over many seeds."""
    idle = [command for command in RUNNING if not judge.runs(command)]
    loud = [command for command in HARMLESS if judge.runs(command)]
    unseen = [
        command
        for seed in range(20)
        for command in made_lines(seed=seed, count=2_000)
        if not needs_owner(command) and judge.runs(command)
    ]

    assert (idle, loud, unseen) == ([], [], [])


def test_a_shell_in_a_shell_in_a_shell() -> None:
    """D19: deeper than anybody writes, it is not followed, and the owner is asked."""
    command = "rm x"
    for _ in range(12):
        command = f"echo $({command})"

    assert needs_owner(command)
    assert not needs_owner("echo $(echo $(rm x))")


def test_the_words_of_a_line() -> None:
    """Quotes are gone, redirections and comments too; what is made at run time is marked."""
    reading = read_commands("""A='1 2' "b"c\\ d $E >out 2>&1 'f' # g\nh <<<i""")

    first, second = reading.commands
    assert [(word.text, word.is_made) for word in first.words] == [
        ("A=1 2", False), ("bc d", False), ("", True), ("f", False),
    ]  # fmt: skip
    assert ([word.text for word in second.words], second.inputs, first.targets) == (["h"], ("i",), ("out", "1"))
    assert reading.is_whole


def test_a_text_that_a_command_reads() -> None:
    """POSIX 2.7.4: a here-document is no command; what is substituted in it is, unless its end is quoted."""
    open_text, closed = read_commands("cat <<E\n$(id) x\nE\nls"), read_commands("cat <<-'E' | wc\n\t$(id)\n\tE\n")

    assert [[word.text for word in one.words] for one in open_text.commands] == [["cat"], ["ls"]]
    assert (open_text.commands[0].inputs, open_text.inner) == (("$(id) x",), ("id",))
    assert ([one.is_fed for one in closed.commands], closed.inner, closed.is_whole) == ([False, True], (), True)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("a{b,c}d", ["abd", "acd"]), ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]), ("{a}", ["{a}"]), ("a{", ["a{"]),
        ("{a,{b,c}}", ["a", "b", "c"]), ("{a..c}", ["a", "b", "c"]), (r"\{a,b}", [r"\{a,b}"]), ("{,x}", ["", "x"]),
    ],
)  # fmt: skip
def test_braces(pattern: str, words: list[str]) -> None:
    """D19: as bash multiplies them out."""
    assert braces_out(pattern) == words


def test_more_braces_than_are_looked_at() -> None:
    """D19: what becomes very many words is the owner's."""
    with pytest.raises(TooMany):
        braces_out("{a,b}" * 12)
    assert needs_owner("{a,b}" * 12)


PIECES = st.sampled_from([*"'\"\\$`(){}<>&|;# \n=a-", "sudo", "$(", "${", "$'", "<<EOF"])


@pytest.mark.parametrize(
    "command",
    [
        "echo a$X; bash b; " * 3_000, "bash " + "x" * 100_000, "eval \"eval 'eval \\\"a b\\\"'\" " * 400, "[" * 20_000,
        "{a,{b,{c," * 200, "$(" * 3_000 + ")" * 3_000, "bash " + "'a b' " * 5_000, "env " * 9_000, "{a,b}" * 5_000,
        "xargs -I% env % " * 2_000, "s\\x{0000000000" * 2_600, "cp a b; sh ?; " * 2_600, "${s" * 13_000,
    ],
    ids=[
        "long", "one word", "eval", "brackets", "braces", "substitutions", "arguments", "wrappers", "many braces",
        "marks", "open braces", "files", "open expansions",
    ],
)  # fmt: skip
def test_a_command_that_is_made_to_be_read_for_long(command: str) -> None:
    """The gateway's loop asks: however it is written, the answer comes soon."""
    began = time.process_time()
    needs_owner(command)

    assert time.process_time() - began < 2  # a quarter of a second, on a machine that does something else besides


@given(st.lists(PIECES, max_size=40).map("".join))
def test_every_text_is_judged(command: str) -> None:
    """D19: whatever stands there, there is an answer; and a sudo at the front is always seen."""
    assert needs_owner(command) in (True, False)
    assert needs_owner(f"sudo {command}")
    assert needs_owner(f"'sudo' {command}")
