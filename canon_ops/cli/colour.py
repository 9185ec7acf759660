"""Whether a stream gets colour: one pure decision, taken for each stream by itself.

The first rule that speaks wins::

    --color always|never      the caller said so
    NO_COLOR non-empty        off
    FORCE_COLOR               "0" or empty: off; anything else: on
    CLICOLOR_FORCE            "0" or empty says nothing; anything else: on
    CLICOLOR=0                off
    TERM=dumb                 off
    otherwise                 on when the stream is a terminal

Source: command-line contract, section 4.
"""

from __future__ import annotations

from collections.abc import Mapping

from canon_ops.hints import Literal

__all__ = ["ColourChoice", "wants_colour"]

ColourChoice = Literal["auto", "always", "never"]


def wants_colour(choice: ColourChoice, environ: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Decide for one stream; ``environ`` is the process environment."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if "FORCE_COLOR" in environ:
        return environ["FORCE_COLOR"] not in ("", "0")
    if environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    if environ.get("CLICOLOR") == "0" or environ.get("TERM") == "dumb":
        return False
    return is_terminal
