"""No secret leaves through a stream, whoever printed it: the last line of defence, behind the :class:`Secret` type.

Two kinds are found: values that this run was given (environment variables with a telling name, keys that were read or
typed), and anything that looks like a key of Canon or Borgee. Keys of the sandbox open nothing and stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from canon_ops.hints import Any
from canon_ops.lean import late_pattern
from canon_ops.settings.secret import SECRET_MARK, numbered_mark
from canon_ops.settings.telling import hide_logins, hide_secrets, is_telling, secret_parts

__all__ = ["Redactor"]

_SHORTEST = 8  # a shorter value is as likely a word of the sentence as the secret
_SHORTEST_IN_DIFF = 3  # there a short one is hidden where it stands alone
_FOLDERS = ("PWD", "OLDPWD")  # of the shell: where it works, although a setting of that name would be a password
_ASSIGNMENT = late_pattern(
    r"""(?P<before>\s*(?:\#+\s*)?(?:-\s+|export\s+)?["']?(?P<name>[\w-]+)["']?\s*(?:=|:\s)\s*)(?P<value>\S(?:.*\S)?)(?P<end>\s*)""",
    re.DOTALL,
)
_CUT = late_pattern(r"\u2026|\.\.\.")
_KEY_SHAPE = late_pattern(r"(?:agk|bgr)_(?!live_sandbox_)[A-Za-z0-9_-]{6,}|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{8,}")


class Redactor:
    """Replaces every known secret in a text.

    Args:
        environ: variables with telling names are secrets from the start.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._values: set[str] = set()
        self._short: set[str] = set()
        self._masked: dict[str, int] = {}  # values behind telling names in diffs, in the order in which they were met
        self._lesson: Callable[[], None] | None = None
        self.learn({name: value for name, value in environ.items() if name not in _FOLDERS})

    def before_quoting(self, lesson: Callable[[], None]) -> None:
        """Let ``lesson`` teach this the secrets of files, when it is needed: see :meth:`catch_up`."""
        self._lesson = lesson

    def catch_up(self) -> None:
        """Take the lesson that was put off, now that something will be said that may quote a file."""
        lesson, self._lesson = self._lesson, None
        if lesson is not None:
            lesson()

    def learn(self, variables: Mapping[str, str]) -> None:
        """Take the values of the variables whose names tell that they are secret."""
        for name, value in variables.items():
            if is_telling(name):
                self.add(value)

    def add(self, value: str) -> None:
        """Hide ``value`` from now on, unless it is too short to tell from an ordinary word."""
        for part in {value, *(line.strip() for line in value.splitlines())}:  # a diff shows a long text line by line
            if part.startswith(("agk_live_sandbox_", "bgr_live_sandbox_")):
                continue
            if len(part) >= _SHORTEST:
                self._values.add(part)
            elif len(part) >= _SHORTEST_IN_DIFF:
                self._short.add(part)

    def learn_tree(self, path: Sequence[str | int], value: object) -> None:
        """Take what a configuration tree holds that its name or place makes secret; ``path`` leads to ``value``."""
        for text in secret_parts(path, value):
            self.add(text)

    def tree(self, path: Sequence[str | int], value: Any) -> Any:
        """``value`` as it may be shown: what its name or place makes secret is masked as in a diff, however short."""
        self.learn_tree(path, value)
        return hide_secrets(path, value, self._mark)

    def line(self, text: str) -> str:
        """Mask one line of a diff: known secrets, and whatever stands behind a telling name.

        Different values get different marks (``numbered_mark``), so that the change of a secret is seen.
        """
        self.catch_up()
        found = _ASSIGNMENT.fullmatch(text)
        if found and is_telling(found["name"]):
            return f"{found['before']}{self._mark(found['value'])}{found['end']}"
        text = hide_logins(text, self._mark)
        for value in sorted(self._values, key=len, reverse=True):
            if value in text:
                text = text.replace(value, self._mark(value))
        text = self(text)
        for value in sorted(self._short, key=len, reverse=True):
            if value in text:
                text = re.sub(rf"(?<![\w-]){re.escape(value)}(?![\w-])", self._mark(value), text)
        return text

    def _mark(self, value: str) -> str:
        return numbered_mark(self._masked.setdefault(value, len(self._masked) + 1))

    def __call__(self, text: str) -> str:
        text = hide_logins(text, lambda _secret: SECRET_MARK)
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, SECRET_MARK)
        return self._without_beginnings(_KEY_SHAPE.sub(SECRET_MARK, text))

    def _without_beginnings(self, text: str) -> str:
        """A text that was cut short may end in the middle of a secret, where its value is not found any more."""
        if "\u2026" not in text and "..." not in text:
            return text
        done, rest = "", 0
        for dots in _CUT.finditer(text):
            done, rest = f"{self._without_beginning(done + text[rest : dots.start()])}{dots[0]}", dots.end()
        return done + text[rest:]

    def _without_beginning(self, cut: str) -> str:
        for value in self._values:
            for kept in range(len(value) - 1, _SHORTEST - 1, -1):
                if cut.endswith(value[:kept]):
                    return f"{cut[:-kept]}{SECRET_MARK}"
        return cut
