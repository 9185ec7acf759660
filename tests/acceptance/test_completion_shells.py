"""Completion as bash, zsh and fish themselves do it: the generated scripts, the real program, a home with contents."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from canon_ops.cli.completion.outline import Node, outline
from canon_ops.cli.completion.scripts import scripts
from canon_ops.operate.completion_place import Shell
from tests.support.shells import SCRIPTS, ask_bash, ask_fish, shell_environ, zsh_screen
from tests.support.terminal import ENTER, Screen
from tests.support.tools import needs

Ask = Callable[[Sequence[str]], list[list[str]]]
NODES = outline()
GROUPS = [node for node in NODES if node.members]
LEAVES = [node for node in NODES if not node.members]

CONFIG = """\
plugins:
  enabled: [canon-hermes]
streaming:
  enabled: true
"""
AGENTS = {
    "ops": {"clientType": "hermes", "agentId": "agent_1", "agentName": "Ops", "environmentId": "canon-dev-v1"},
    "theirs": {"clientType": "codex", "agentId": "agent_2"},
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's home with a Hermes home, a Hermes profile and two Canon profiles, one of another client."""
    (tmp_path / ".hermes" / "profiles" / "work").mkdir(parents=True)
    (tmp_path / ".hermes" / "config.yaml").write_text(CONFIG)
    (tmp_path / ".canon").mkdir()
    (tmp_path / ".canon" / "agents.json").write_text(json.dumps(AGENTS))
    return tmp_path


@pytest.fixture
def files(tmp_path: Path) -> dict[Shell, Path]:
    """The script of each shell."""
    found: dict[Shell, Path] = {}
    for shell, texts in scripts().items():
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
            found.setdefault(shell, tmp_path / name)
    return found


@pytest.fixture(params=[pytest.param("bash", marks=needs("bash")), pytest.param("fish", marks=needs("fish"))])
def ask(request: pytest.FixtureRequest, files: dict[Shell, Path], home: Path) -> Ask:
    """Asks one of the shells that answer in bulk."""
    environ = shell_environ(home)
    if request.param == "bash":
        return lambda lines: ask_bash(files[Shell.BASH], lines, environ)
    return lambda lines: ask_fish(files[Shell.FISH], lines, environ)


def line(node: Node, *more: str) -> str:
    """A command line of the node, ready for its next word."""
    return " ".join(["canon-ops", *node.path.split(), *more])


def test_every_group_offers_its_members(ask: Ask) -> None:
    """Program and groups: exactly the names of the tree."""
    answers = ask([line(node, "") for node in GROUPS])

    assert [set(answer) for answer in answers] == [{offer.text for offer in node.members} for node in GROUPS]


def test_every_command_offers_its_options(ask: Ask) -> None:
    """A dash brings every long option of the command, its own and the common ones."""
    answers = ask([line(node, "--") for node in LEAVES])

    for node, answer in zip(LEAVES, answers, strict=True):
        assert set(answer) == {offer.text for offer in node.options if offer.text.startswith("--")}, node.path


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("canon-ops config get stream", {"streaming", "streaming.enabled"}),
        ("canon-ops config get --color al", {"always"}),
        ("canon-ops config get --color=ne", {"never"}),
        ("canon-ops profile show o", {"ops"}),
        ("canon-ops profile show t", set()),
        ("canon-ops doctor -p ", {"default", "work"}),
        ("canon-ops doctor --profile=w", {"work"}),
        ("canon-ops doctor --area plu", {"plugin"}),
        ("canon-ops doctor --only host.v", {"host.version"}),
        ("canon-ops setup canon --environment canon-d", {"canon-dev-v1"}),
        ("canon-ops setup --use-profile ", {"ops"}),
        ("canon-ops setup --canon-profile ops --environment canon-p", {"canon-prod-v1"}),
        ("canon-ops setup --agent-i", {"--agent-id"}),
        ("canon-ops config set --type jso", {"json"}),
        ("canon-ops config set x y --type=jso", {"json"}),
        ("canon-ops config get -- stream", {"streaming", "streaming.enabled"}),
        ("canon-ops schema show canon-ops.config.g", {"canon-ops.config.get/1"}),
        ("canon-ops completion show z", {"zsh"}),
        ("canon-ops config nosuch ", set()),
        ("canon-ops config get a b c ", set()),
    ],
)
def test_a_value_is_offered_where_it_belongs(ask: Ask, typed: str, offered: set[str]) -> None:
    """Members, choices, profiles, keys and checks, behind options in every spelling."""
    (answer,) = ask([typed])

    values = {word.rpartition("=")[2] if "=" in word else word for word in answer}  # fish offers the word as a whole
    known = {word for word in values if typed.rsplit(" ", 1)[1].rpartition("=")[2] in word}
    assert offered <= known
    assert known == offered or typed.endswith("stream")  # known keys of the table may join those of the file


def test_files_and_folders_are_offered_where_they_are_meant(ask: Ask, home: Path) -> None:
    """An option for a file offers files, one for a folder offers folders only."""
    (home / "kit").mkdir()
    (home / "kit-answers.toml").write_text("")

    files, folders = ask([f"canon-ops setup canon --answers {home}/kit", f"canon-ops doctor --hermes-home {home}/kit"])

    assert {Path(each).name for each in files} == {"kit", "kit-answers.toml"}
    assert {Path(each).name for each in folders} == {"kit"}


def test_the_home_of_the_line_is_asked(ask: Ask, home: Path) -> None:
    """A profile named earlier on the line decides whose keys are offered."""
    (home / ".hermes" / "profiles" / "work" / "config.yaml").write_text("only_at_work: 1\n")

    answers = ask(["canon-ops config get only_", "canon-ops config get -p work only_"])

    exact = [[word for word in answer if word.startswith("only_")] for answer in answers]  # fish also offers likenesses
    assert exact == [[], ["only_at_work"]]


@needs("bash")
def test_bash_completes_at_a_key_press(files: dict[Shell, Path], home: Path) -> None:
    """An interactive bash: one Tab finishes words, and the finished command runs."""
    environ = {**shell_environ(home), "PS1": "ready> ", "COLUMNS": "120", "BASH_SILENCE_DEPRECATION_WARNING": "1"}
    with Screen(["bash", "--norc", "--noprofile", "-i"], environ, columns=120, echo=True) as screen:
        screen.wait_for("ready>")
        screen.type(f"source {files[Shell.BASH]}{ENTER}")
        screen.wait_for(lambda text: text.count("ready>") == 2)
        screen.type("canon-ops conf\t")
        screen.wait_for("ready> canon-ops config")
        screen.type("ge\t")
        screen.wait_for("canon-ops config get")
        screen.type("plugins.ena\t")
        screen.wait_for("canon-ops config get plugins.enabled")
        screen.type(ENTER)
        screen.wait_for('["canon-hermes"]')


@needs("zsh")
def test_zsh_offers_members_options_and_values(files: dict[Shell, Path], home: Path, tmp_path: Path) -> None:
    """An interactive zsh: every group's members with their sentences, options, choices and asked values."""
    with zsh_screen(files[Shell.ZSH], shell_environ(home), tmp_path) as screen:

        def offered(typed: str, *expected: str) -> None:
            screen.type("\x0c")  # a clean screen
            screen.type(f"{typed}\t\t")
            screen.wait_for(lambda text: all(word in text.split() for word in expected))
            screen.type("\x15")

        for node in GROUPS:
            names = [offer.text for offer in node.members]
            if len(names) > 1:
                offered(line(node, ""), *names)
        offered("canon-ops config get --c", "--color")
        offered("canon-ops config get --color ", "auto", "always", "never")
        offered("canon-ops config get streaming", "streaming.enabled")
        offered("canon-ops doctor -p ", "default", "work")
        offered("canon-ops setup --store ", "file", "keyring")


@pytest.mark.parametrize("shell", [pytest.param(each, marks=needs(each.value)) for each in (Shell.BASH, Shell.FISH)])
@pytest.mark.parametrize("name", ["canon-hermes", "canon-hermes-plugin"])
def test_the_other_names_read_the_script_beside_them(
    shell: Shell, name: str, files: dict[Shell, Path], home: Path
) -> None:
    """The program's other names have a script of one line each, and complete the same."""
    ask, ending = (ask_bash, "") if shell is Shell.BASH else (ask_fish, ".fish")

    (answer,) = ask(files[shell].with_name(name + ending), [f"{name} conf"], shell_environ(home))

    assert [word.split("\t")[0] for word in answer] == ["config"]


@needs("zsh")
def test_zsh_completes_a_single_candidate_at_once(files: dict[Shell, Path], home: Path, tmp_path: Path) -> None:
    """One Tab, and the word stands there; ``--option=`` too."""
    with zsh_screen(files[Shell.ZSH], shell_environ(home), tmp_path) as screen:
        screen.type("canon-ops conf\t")
        screen.wait_for("canon-ops config")
        screen.type("ge\tplugins.ena\t")
        screen.wait_for("canon-ops config get plugins.enabled")
        screen.type("--color=alw\t")
        screen.wait_for("--color=always")


@needs("zsh")
@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("", ("", "To complete canon-ops, first say: autoload -Uz compinit && compinit\n")),
        ("autoload -Uz compinit && compinit -u -D;", ("_canon-ops _canon-ops _canon-ops\n", "")),
    ],
    ids=["without-compinit", "with-compinit"],
)
def test_zsh_takes_a_sourced_script(before: str, said: tuple[str, str], files: dict[Shell, Path], home: Path) -> None:
    """BR-48: sourced from a start-up file it registers itself or says what is missing; the shell goes on."""
    asked = "$_comps[canon-ops] $_comps[canon-hermes] $_comps[canon-hermes-plugin]"
    code = f"{before} source {files[Shell.ZSH]}; print -r -- {asked}"

    done = subprocess.run(
        ["zsh", "-f", "-c", code], env=shell_environ(home), capture_output=True, text=True, check=False, timeout=60
    )

    assert done.returncode == 0
    assert (done.stdout.strip(), done.stderr) == (said[0].strip(), said[1])


@pytest.mark.parametrize(
    "newer",
    [
        r"\bmapfile\b", r"\breadarray\b", r"declare -A", r"local -[nA]", r"\$\{\w+(,,|\^\^|@)", r"&>>", r"\|&", r";;?&",
        r"\bcoproc\b", r"printf -v \w+\[", r"-v \w+ \]\]",
    ],
)  # fmt: skip
def test_the_bash_script_uses_nothing_newer_than_3_2(newer: str) -> None:
    """macOS ships bash 3.2; what came later must not stand in the script."""
    text = "".join(scripts()[Shell.BASH].values())

    assert not re.search(newer, text)


@pytest.mark.parametrize(
    "newer",
    [
        r"\bstatus (dirname|basename|features)\b", r"\bset -(f|-function)\b", r"\bstring (collect|pad|shorten)\b",
        r"\bstring match .*(--groups-only|-\w*g)\b", r"\bpath [a-z]+ ", r"\$\(", r"^\s*\w+=\S* \w", r"&>",
        r"\bcommandline (-\w*x|--tokens-expanded)\b",
    ],
)  # fmt: skip
def test_the_fish_scripts_use_nothing_newer_than_3_0(newer: str) -> None:
    """BR-48: an old fish ends a file at the first option that it does not know; the texts of our help do not count."""
    code = [re.sub(r"'(?:\\.|[^'\\])*'", "''", text) for text in scripts()[Shell.FISH].values()]

    assert not re.search(newer, "\n".join(code), re.MULTILINE)


def test_the_program_is_found_beside_the_python_of_the_tests() -> None:
    """These tests complete with the real script, not with another one on PATH."""
    assert (SCRIPTS / "canon-ops").exists()
