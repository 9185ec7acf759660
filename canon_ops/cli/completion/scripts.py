"""The scripts of all shells by name, as they lie in ``completions/`` and in the wheel.

bash and fish look for a script by the name of the command that is completed, so the other two names of the program have
a script each that reads the first one; zsh reads the names from the first line.
"""

from __future__ import annotations

from collections.abc import Mapping

from canon_ops.cli.completion.bash import bash_script
from canon_ops.cli.completion.fish import fish_script
from canon_ops.cli.completion.outline import PROGRAMS, outline
from canon_ops.cli.completion.tables import HEADER
from canon_ops.cli.completion.zsh import zsh_script
from canon_ops.operate.completion_place import Shell

__all__ = ["scripts"]

# The folder of the script that is read, with its slash; a word for it came with fish 3.2 only.
_FISH_FOLDER = "(string replace -r '[^/]*$' '' -- (status filename))"


def scripts() -> Mapping[Shell, Mapping[str, str]]:
    """Shell → file name → text; the names are those under which the shell looks for them."""
    nodes = outline()
    first, *others = PROGRAMS
    bash = {name: f'# bash completion for {name}. {HEADER}\n. "${{BASH_SOURCE[0]%/*}}/{first}"\n' for name in others}
    fish = {
        f"{name}.fish": f"# fish completion for {name}. {HEADER}\nsource {_FISH_FOLDER}{first}.fish\n"
        for name in others
    }
    return {
        Shell.BASH: {first: bash_script(nodes), **bash},
        Shell.ZSH: {f"_{first}": zsh_script(nodes)},
        Shell.FISH: {f"{first}.fish": fish_script(nodes), **fish},
    }
