"""Where completion scripts go, and that only our own are replaced or removed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from canon_ops.hermes.homes import resolve_home
from canon_ops.operate.completion_place import Place, Shell, place_of, state_of
from canon_ops.operate.shell_completion import ForeignScript, install_scripts, uninstall_scripts
from canon_ops.operate.writing import Writing

SCRIPTS = {
    "canon-ops": "# bash completion for canon-ops.\n:\n",
    "canon-hermes": "# bash completion for canon-hermes.\n",
}

Find = Callable[[Shell], Place]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


@pytest.fixture
def find(environ: dict[str, str]) -> Find:
    return lambda shell: place_of(shell, environ)


@pytest.fixture
def writing(environ: dict[str, str]) -> Writing:
    return Writing(resolve_home(environ), environ, "completion install")


def files_of(folder: Path) -> dict[str, bytes]:
    """Everything that a person would see; our own notes are left out."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: data for name, data in found.items() if ".canon-ops/" not in name}


@pytest.mark.parametrize(
    ("shell", "variables", "folder"),
    [
        (Shell.BASH, {}, ".local/share/bash-completion/completions"),
        (Shell.BASH, {"XDG_DATA_HOME": "{home}/data"}, "data/bash-completion/completions"),
        (Shell.BASH, {"BASH_COMPLETION_USER_DIR": "{home}/mine"}, "mine/completions"),
        (Shell.ZSH, {}, ".local/share/zsh/site-functions"),
        (Shell.FISH, {}, ".config/fish/completions"),
        (Shell.FISH, {"XDG_CONFIG_HOME": "{home}/conf"}, "conf/fish/completions"),
    ],
)
def test_each_shell_has_its_folder(tmp_path: Path, shell: Shell, variables: dict[str, str], folder: str) -> None:
    """The variables that the shells themselves obey decide."""
    told = {name: text.format(home=tmp_path) for name, text in variables.items()}

    assert place_of(shell, {"HOME": str(tmp_path), **told}).folder == tmp_path / folder


def test_installing_removing_and_installing_again(find: Find, writing: Writing, tmp_path: Path) -> None:
    """State by state; the second time changes nothing, and removing leaves nothing behind."""
    assert state_of(find(Shell.BASH), SCRIPTS) == "absent"

    assert install_scripts(writing, find(Shell.BASH), SCRIPTS, edit_rc=False).changed
    assert state_of(find(Shell.BASH), SCRIPTS) == "current"
    assert not install_scripts(writing, find(Shell.BASH), SCRIPTS, edit_rc=False).changed
    assert (
        state_of(find(Shell.BASH), {**SCRIPTS, "canon-ops": "# bash completion for canon-ops.\nnewer\n"}) == "outdated"
    )

    assert uninstall_scripts(writing, find(Shell.BASH), SCRIPTS).changed
    assert files_of(tmp_path) == {}
    assert not uninstall_scripts(writing, find(Shell.BASH), SCRIPTS).changed


@pytest.mark.parametrize("before", [b"", b"alias ll='ls -l'\n", b"no line end", "ümlaut\r\n".encode()])
def test_rc_gets_one_block_and_loses_it_again(find: Find, writing: Writing, tmp_path: Path, before: bytes) -> None:
    """Bytes of the user's configuration stay; a second --rc adds nothing."""
    rc = tmp_path / ".zshrc"
    rc.write_bytes(before)
    scripts = {"_canon-ops": "#compdef canon-ops\n# zsh completion for canon-ops.\n"}

    install_scripts(writing, find(Shell.ZSH), scripts, edit_rc=True)
    once = rc.read_bytes()
    install_scripts(writing, find(Shell.ZSH), scripts, edit_rc=True)

    assert once.startswith(before)
    assert rc.read_bytes() == once
    assert once.count(b"site-functions") == 1
    assert find(Shell.ZSH).is_loaded

    uninstall_scripts(writing, find(Shell.ZSH), scripts)
    assert rc.read_bytes().rstrip(b"\n") == before.rstrip(b"\n")


def test_without_rc_no_configuration_is_touched(find: Find, writing: Writing, tmp_path: Path) -> None:
    """A zsh that does not look there is reported, not edited."""
    (tmp_path / ".zshrc").write_text("mine\n")

    install_scripts(writing, find(Shell.ZSH), {"_canon-ops": "# zsh completion for canon-ops.\n"}, edit_rc=False)

    assert (tmp_path / ".zshrc").read_text() == "mine\n"
    assert not find(Shell.ZSH).is_loaded


def test_another_programs_script_is_never_overwritten_or_removed(find: Find, writing: Writing, tmp_path: Path) -> None:
    """One foreign file stops the whole command; the others are not written either."""
    folder = find(Shell.BASH).folder
    folder.mkdir(parents=True)
    (folder / "canon-hermes").write_text("# somebody else's\n")

    with pytest.raises(ForeignScript):
        install_scripts(writing, find(Shell.BASH), SCRIPTS, edit_rc=False)
    with pytest.raises(ForeignScript):
        uninstall_scripts(writing, find(Shell.BASH), SCRIPTS)

    assert state_of(find(Shell.BASH), SCRIPTS) == "foreign"
    assert [path.name for path in folder.iterdir()] == ["canon-hermes"]
