"""The script for zsh: the same walk as bash's, with the sentences beside the candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from canon_ops.cli.completion.outline import PROGRAMS, Node, Offer
from canon_ops.cli.completion.tables import HEADER, argument_rows, default_rows, taken_rows

__all__ = ["zsh_script"]

_WALK = """\
_canon-ops() {
    local cur=$words[CURRENT] where="" plain="" takes="" default="" word
    local -i count=0 i
    local -a offers
    for ((i = 2; i < CURRENT; i++)); do
        word=$words[i]
        if [[ -n $takes ]]; then
            takes=""
        elif [[ -n $plain ]]; then
            count+=1
        elif [[ $word == -- ]]; then
            plain=1
        elif [[ $word == -* ]]; then
            _canon_ops_default
            where=${where:+$where${default:+ }}$default
            [[ $word == *=* ]] || _canon_ops_takes $word
        else
            _canon_ops_members
            if (( ${offers[(I)$word:*]} )); then
                where=${where:+$where }$word
            else
                count+=1
            fi
        fi
    done
    if [[ -n $takes ]]; then
        _canon_ops_offer ${=takes}
    elif [[ $cur == --*=* && -z $plain ]]; then
        _canon_ops_default
        where=${where:+$where${default:+ }}$default
        _canon_ops_takes ${cur%%=*}
        compset -P '*='
        _canon_ops_offer ${=takes}
    elif [[ $cur == -* && -z $plain ]]; then
        _canon_ops_default
        where=${where:+$where${default:+ }}$default
        _canon_ops_options
        _describe -o -t options option offers
    else
        _canon_ops_members
        if (( $#offers )); then
            (( count )) || _describe -t commands command offers
        else
            _canon_ops_argument $((count + 1))
            _canon_ops_offer ${=takes}
        fi
    fi
}

# _canon_ops_offer KIND WORD...: the candidates for one value.
_canon_ops_offer() {
    local kind=$1 line value
    local -a found
    (( $# )) && shift
    case $kind in
        words) compadd -- "$@" ;;
        ask)
            for line in "${(@f)$(${~${(Q)words[1]}} __complete $1 "${(@Q)words[2,CURRENT-1]}" 2>/dev/null)}"; do
                [[ -n $line ]] || continue
                value=${${line%%$'\\t'*}//:/\\\\:}
                found+=("$value:${line#*$'\\t'}")
            done
            _describe -t values value found
            ;;
        files) _files ;;
        folders) _files -/ ;;
        *) _message 'a value' ;;
    esac
}
"""


# A file in fpath is loaded as the function itself; a sourced one has to be registered, which compinit brings (BR-48).
_ENTRY = """\
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    {function} "$@"
elif (( $+functions[compdef] )); then
    compdef {function} {programs}
else
    print -u2 "To complete canon-ops, first say: autoload -Uz compinit && compinit"
fi
"""


def zsh_script(nodes: Sequence[Node]) -> str:
    """The whole file."""
    parts = [
        f"#compdef {' '.join(PROGRAMS)}\n# zsh completion for canon-ops. {HEADER}\n",
        _WALK,
        _lists("members", [(node, node.members) for node in nodes]),
        _function("default", "$where", "default", default_rows(nodes)),
        _lists("options", [(node, node.options) for node in nodes]),
        _function("takes", "$where $1", "takes", taken_rows(nodes)),
        _function("argument", "$where $1", "takes", argument_rows(nodes)),
        _ENTRY.format(function=f"_{PROGRAMS[0]}", programs=" ".join(PROGRAMS)),
    ]
    return "\n".join(parts)


def _function(name: str, subject: str, variable: str, rows: Iterable[tuple[list[str], str]]) -> str:
    lines = [f"_canon_ops_{name}() {{", f'    {variable}=""', f'    case "{subject}" in']
    lines += [f"        {'|'.join(patterns)}) {variable}='{value}' ;;" for patterns, value in rows]
    return "\n".join([*lines, "    esac", "}", ""])


def _lists(name: str, rows: Iterable[tuple[Node, Sequence[Offer]]]) -> str:
    lines = [f"_canon_ops_{name}() {{", "    offers=()", '    case "$where" in']
    for node, offers in rows:
        if offers:
            lines += [f"        '{node.path}')", "            offers=("]
            lines += [f"                {_quoted(_described(offer))}" for offer in offers]
            lines += ["            )", "            ;;"]
    return "\n".join([*lines, "    esac", "}", ""])


def _described(offer: Offer) -> str:
    colons: Callable[[str], str] = lambda text: text.replace(":", "\\:")  # noqa: E731
    return f"{colons(offer.text)}:{offer.help}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
