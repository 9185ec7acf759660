"""No secret leaves through a stream, whoever printed it: the last line of defence, behind the :class:`Secret` type.

Two kinds are found: values that this run was given (environment variables with a telling name, keys that were read or
typed), and anything that looks like a key of Canon or Borgee. Keys of the sandbox open nothing and stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["SECRET_MARK", "Redactor"]

SECRET_MARK = "[secret]"  # noqa: S105 - what stands in place of one
_SHORTEST = 8  # a shorter value is as likely a word of the sentence as the secret
_TELLING_NAME = re.compile(r"(API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_[A-Z0-9]+)?$")
_PUBLIC_NAMES = frozenset({"CANON_FIREBASE_API_KEY"})  # a web key: public by design, shown in endpoint snapshots
_KEY_SHAPE = re.compile(r"(?:agk|bgr)_(?!live_sandbox_)[A-Za-z0-9_-]{6,}|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{8,}")


class Redactor:
    """Replaces every known secret in a text.

    Args:
        environ: variables with telling names are secrets from the start.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._values: set[str] = set()
        self.learn(environ)

    def learn(self, variables: Mapping[str, str]) -> None:
        """Take the values of the variables whose names tell that they are secret."""
        for name, value in variables.items():
            if name not in _PUBLIC_NAMES and _TELLING_NAME.search(name.upper()):
                self.add(value)

    def add(self, value: str) -> None:
        """Hide ``value`` from now on, unless it is too short to tell from an ordinary word."""
        if len(value) >= _SHORTEST and not value.startswith("agk_live_sandbox_"):
            self._values.add(value)

    def __call__(self, text: str) -> str:
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, SECRET_MARK)
        return _KEY_SHAPE.sub(SECRET_MARK, text)
