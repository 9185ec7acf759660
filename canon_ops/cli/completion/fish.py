"""The script for fish: one condition for the whole program, since fish evaluates each of them at every key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from canon_ops.cli.completion.outline import PROGRAMS, Node, Offer
from canon_ops.cli.completion.tables import HEADER, argument_rows, default_rows, taken_rows

__all__ = ["fish_script"]

_WALK = """\
function __canon_ops
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    set -l where ''
    set -l count 0
    set -l plain ''
    set -l takes ''
    set -l program $words[1]
    for word in $words[2..-1]
        if test -n "$takes"
            set takes ''
        else if test -n "$plain"
            set count (math $count + 1)
        else if test "$word" = --
            set plain 1
        else if string match -q -- '-*' $word
            set where (__canon_ops_join "$where" (__canon_ops_default "$where"))
            string match -q -- '*=*' $word; or set takes (__canon_ops_takes "$where $word")
        else if __canon_ops_members "$where" | string match -q -- "$word"\\t'*'
            set where (__canon_ops_join "$where" $word)
        else
            set count (math $count + 1)
        end
    end
    if test -n "$takes"
        __canon_ops_offer '' $takes
    else if string match -q -- '--*=*' $cur; and test -z "$plain"
        set -l option (string replace -r '=.*' '' -- $cur)
        set where (__canon_ops_join "$where" (__canon_ops_default "$where"))
        __canon_ops_offer "$option=" (__canon_ops_takes "$where $option")
    else if string match -q -- '-*' $cur; and test -z "$plain"
        set where (__canon_ops_join "$where" (__canon_ops_default "$where"))
        __canon_ops_options "$where"
    else
        set -l members (__canon_ops_members "$where")
        if test (count $members) -gt 0
            test $count -eq 0; and printf '%s\\n' $members
        else
            __canon_ops_offer '' (__canon_ops_argument "$where "(math $count + 1))
        end
    end
end

function __canon_ops_join
    string join ' ' -- (string match -v -- '' $argv)
end

# The candidates for one value: what stands before it in its word, and what it may be.
function __canon_ops_offer -S
    set -l kind (string split ' ' -- $argv[2])
    switch "$kind[1]"
        case words
            printf "$argv[1]%s\\n" $kind[2..-1]
        case ask
            printf "$argv[1]%s\\n" ($program __complete $kind[2] $words[2..-1] 2>/dev/null)
        case files
            __fish_complete_path (string replace -r '^--[^=]*=' '' -- $cur)
        case folders
            __fish_complete_directories (string replace -r '^--[^=]*=' '' -- $cur) ''
    end
end
"""


def fish_script(nodes: Sequence[Node]) -> str:
    """The whole file."""
    parts = [
        f"# fish completion for canon-ops. {HEADER}\n",
        _WALK,
        _lists("members", [(node, node.members) for node in nodes]),
        _switch("default", default_rows(nodes)),
        _lists("options", [(node, node.options) for node in nodes]),
        _switch("takes", taken_rows(nodes)),
        _switch("argument", argument_rows(nodes)),
        "".join(f"complete -c {program} -e\ncomplete -c {program} -f -a '(__canon_ops)'\n" for program in PROGRAMS),
    ]
    return "\n".join(parts)


def _switch(name: str, rows: Iterable[tuple[list[str], str]]) -> str:
    lines = [f"function __canon_ops_{name}", '    switch "$argv[1]"']
    for patterns, value in rows:
        whole = [_quoted(pattern.replace("'", "")) for pattern in patterns]  # a quoted star is fish's pattern
        lines += [f"        case {' '.join(whole)}", f"            echo {_quoted(value)}"]
    return "\n".join([*lines, "    end", "end", ""])


def _lists(name: str, rows: Iterable[tuple[Node, Sequence[Offer]]]) -> str:
    lines = [f"function __canon_ops_{name}", '    switch "$argv[1]"']
    for node, offers in rows:
        if offers:
            lines += [f"        case {_quoted(node.path)}", "            printf '%s\\t%s\\n' \\"]
            pairs = [f"                {_quoted(offer.text)} {_quoted(offer.help)}" for offer in offers]
            lines.append(" \\\n".join(pairs))
    return "\n".join([*lines, "    end", "end", ""])


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
