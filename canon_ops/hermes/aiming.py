"""Advice for the home that the call was about.

The lower floors say ``canon-ops undo ID`` and know nothing of ``--profile``. Pasted as it stands, that would work on
another home than the one at fault. What the call was aimed by in its environment is there for the next one, too. Every
finding of a doctor or a status, and every ``fix`` of an answer, passes here, whichever floor wrote it.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from canon_ops.lean import late_pattern

__all__ = ["aimed"]

_OWN = late_pattern(r"canon-ops\s(?:[^'\"&|;<>\n#]|'[^']*'|\"[^\"]*\"|(?<=\S)#)+?(?=\s*(?:$|[&|;<>\n]|\s[#(]|,\s))")
_AIMED = late_pattern(r"\s(?:-p|--profile|--hermes-home)(?:[\s=]|$)")


def aimed(fix: str | None, *, profile: str | None, hermes_home: Path | None) -> str | None:
    """``fix`` with what the call was aimed by behind each of our commands that is not aimed yet.

    A fix that begins with a command of ours is one to paste as it stands, and so is what stands behind a colon to the
    end: ``approve it, then: canon-ops setup canon``. In any other sentence nothing is put in.
    """
    if hermes_home is not None:
        aim = f" --hermes-home {shlex.quote(str(hermes_home.absolute()))}"
    elif profile is not None:
        aim = f" --profile {shlex.quote(profile)}"
    else:
        return fix
    begins = -1 if fix is None else 0 if fix.startswith("canon-ops ") else fix.find(": canon-ops ")
    if fix is None or begins < 0:
        return fix
    return fix[:begins] + _OWN.sub(
        lambda found: found[0] if _AIMED.search(found[0]) else f"{found[0]}{aim}", fix[begins:]
    )
