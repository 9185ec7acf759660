"""The script for bash, 3.2 and newer: no associative array, no ``mapfile``, ``compopt`` only where it exists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from canon_ops.cli.completion.outline import PROGRAMS, Node
from canon_ops.cli.completion.tables import HEADER, argument_rows, default_rows, taken_rows

__all__ = ["bash_script"]

_WALK = """\
_canon_ops() {
    local cur=${COMP_WORDS[COMP_CWORD]} path="" count=0 plain="" takes="" reply="" word i
    COMPREPLY=()
    [[ $cur == "=" ]] && cur=""  # readline parts --option=value in three
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == "=" ]]; then
            continue
        elif [[ -n $takes ]]; then
            takes=""
        elif [[ -n $plain ]]; then
            count=$((count + 1))
        elif [[ $word == "--" ]]; then
            plain=1
        elif [[ $word == -* ]]; then
            _canon_ops_default
            path=${path:+$path${reply:+ }}$reply
            _canon_ops_takes "$word"
        else
            _canon_ops_members
            case " $reply " in
                *" $word "*) path=${path:+$path }$word ;;
                *) count=$((count + 1)) ;;
            esac
        fi
    done
    if [[ -n $takes ]]; then
        _canon_ops_offer $takes
    elif [[ $cur == -* && -z $plain ]]; then
        _canon_ops_options
        _canon_ops_filter $reply
        _canon_ops_default
        if [[ -n $reply ]]; then
            path="$path $reply"
            _canon_ops_options
            _canon_ops_filter $reply
        fi
    else
        _canon_ops_members
        if [[ -n $reply ]]; then
            [[ $count -gt 0 ]] || _canon_ops_filter $reply
        else
            _canon_ops_argument $((count + 1))
            _canon_ops_offer $takes
        fi
    fi
}

# _canon_ops_offer KIND WORD...: the candidates for one value.
_canon_ops_offer() {
    local kind=$1 line program=${COMP_WORDS[0]}
    [[ $# -gt 0 ]] && shift
    case $kind in
        words) _canon_ops_filter "$@" ;;
        ask)
            [[ $program == "~/"* ]] && program=$HOME/${program#"~/"}
            while IFS= read -r line; do
                _canon_ops_filter "${line%%$'\\t'*}"
            done < <("$program" __complete "$1" "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
            ;;
        files | folders)
            type compopt >/dev/null 2>&1 && compopt -o filenames 2>/dev/null
            while IFS= read -r line; do
                COMPREPLY+=("$line")
            done < <([[ $kind == files ]] && compgen -f -- "$cur" || compgen -d -- "$cur")
            ;;
    esac
}

# _canon_ops_filter WORD...: keep those that begin with what was typed, quoted as the shell needs them.
_canon_ops_filter() {
    local candidate quoted
    for candidate; do
        if [[ $candidate == "$cur"* ]]; then
            printf -v quoted %q "$candidate"
            COMPREPLY+=("$quoted")
        fi
    done
}
"""


def bash_script(nodes: Sequence[Node]) -> str:
    """The whole file."""
    parts = [
        f"# bash completion for canon-ops. {HEADER}\n",
        _WALK,
        _function("members", "$path", "reply", _each(nodes, lambda node: [offer.text for offer in node.members])),
        _function("default", "$path", "reply", default_rows(nodes)),
        _function("options", "$path", "reply", _each(nodes, lambda node: [offer.text for offer in node.options])),
        _function("takes", "$path $1", "takes", taken_rows(nodes)),
        _function("argument", "$path $1", "takes", argument_rows(nodes)),
        f"complete -F _canon_ops {' '.join(PROGRAMS)}\n",
    ]
    return "\n".join(parts)


def _each(nodes: Sequence[Node], texts: Callable[[Node], Sequence[str]]) -> list[tuple[list[str], str]]:
    return [([f"'{node.path}'"], " ".join(found)) for node in nodes if (found := texts(node))]


def _function(name: str, subject: str, variable: str, rows: Iterable[tuple[list[str], str]]) -> str:
    lines = [f"_canon_ops_{name}() {{", f'    {variable}=""', f'    case "{subject}" in']
    lines += [f"        {' | '.join(patterns)}) {variable}='{value}' ;;" for patterns, value in rows]
    return "\n".join([*lines, "    esac", "}", ""])
