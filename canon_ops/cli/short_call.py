"""The plain form of the calls that scripts make by the hundred, carried out without click.

``canon-ops config set KEY VALUE`` has nothing to parse: words, and at most switches. Importing click and declaring the
command for it takes a quarter of the whole run (docs/decisions/0016-plain-edits-start-fast.md). So such a call is
recognised here; any other form of it, with ``--type`` or an ``=``, a word too many or a variable that answers for an
option, is none and goes to click. A test holds each call against what click makes of the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from canon_ops.cli.context import Context
from canon_ops.cli.output import Result
from canon_ops.cli.session import CommonOptions, Session, WriteOptions
from canon_ops.hermes.home_need import HomeNeed
from canon_ops.hints import Any
from canon_ops.lean import dataclass, field, patterns_put_off

__all__ = ["PLAIN_CALLS", "ShortCall", "short_call"]

# Each command and how many words it takes.
PLAIN_CALLS = {
    ("config", "get"): 1,
    ("config", "set"): 2,
    ("config", "unset"): 1,
    ("config", "add"): 2,
    ("config", "remove"): 2,
}
_COMMON = {
    "--json": "json",
    "--plain": "plain",
    "--no-input": "no_input",
    "-y": "yes",
    "--yes": "yes",
    "-q": "quiet",
    "--quiet": "quiet",
    "-v": "verbose",
    "--verbose": "verbose",
}
_WRITING = {"--dry-run": "dry_run", "--diff": "diff"}
_VARIABLES = "CANON_OPS_"  # any of these may answer for an option


@dataclass(frozen=True, slots=True)
class ShortCall:
    """A call that needs no parser.

    Attributes:
        words: the command's.
        values: its arguments, as they were given.
        write: None for a command that writes nothing.
    """

    words: tuple[str, str]
    values: tuple[str, ...]
    options: CommonOptions = field(default_factory=CommonOptions)
    write: WriteOptions | None = None

    def carry_out(self, session: Session) -> Result:
        """Do what the command does with these words; raises what it raises."""
        session.words, session.is_parsed, session.options = self.words, True, self.options
        if self.write is not None:
            session.home_need = HomeNeed.NAMED
            session.redact.before_quoting(session.learn_secrets_of_home)
        return _functions()[self.words[1]](Context(session), *self.values, self.write or WriteOptions())


def short_call(arguments: Sequence[str], environ: Mapping[str, str]) -> ShortCall | None:
    """The call in ``arguments``; None when it is not one of the plain ones."""
    words = (arguments[0], arguments[1]) if len(arguments) > 1 else ("", "")
    if words not in PLAIN_CALLS or any(name.startswith(_VARIABLES) for name in environ):
        return None
    values = tuple(word for word in arguments[2:] if not word.startswith("-"))
    switches = [word for word in arguments[2:] if word.startswith("-")]
    writes = words != ("config", "get")
    if len(values) != PLAIN_CALLS[words] or not all(value.isprintable() for value in values):
        return None
    if not all(switch in _COMMON or (writes and switch in _WRITING) for switch in switches):
        return None
    common: dict[str, Any] = {_COMMON[switch]: True for switch in switches if switch in _COMMON}
    writing: dict[str, Any] = {_WRITING[switch]: True for switch in switches if switch in _WRITING}
    return ShortCall(words, values, CommonOptions(**common), WriteOptions(**writing) if writes else None)


def _functions() -> dict[str, Callable[..., Result]]:
    with patterns_put_off():
        import yaml  # noqa: F401 - for the next line, in two thirds of the time
    from canon_ops.cli import config_edits as edits

    return {
        "get": lambda context, key, _write: edits.get_value(context, key),
        "set": lambda context, key, value, write: edits.set_value(context, key, value, write, argument=value),
        "unset": edits.unset_key,
        "add": edits.add_item,
        "remove": edits.remove_item,
    }
