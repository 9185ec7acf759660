"""No secret leaves through a stream, whoever printed it: the last line of defence, behind the :class:`Secret` type.

Two kinds are found: values that this run was given (environment variables with a telling name, keys that were read or
typed), and anything that looks like a key of Canon or Borgee. Keys of the sandbox open nothing and stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

__all__ = ["SECRET_MARK", "Redactor"]

SECRET_MARK = "[secret]"  # noqa: S105 - what stands in place of one
_SHORTEST = 8  # a shorter value is as likely a word of the sentence as the secret
_TELLING_NAME = re.compile(r"(API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_[A-Z0-9]+)?$")
# A web key is public by design and shown in endpoint snapshots; a reference says where a key is, not what it is.
_PUBLIC_NAME = re.compile(r"FIREBASE_?API_?KEY$|_REF$")
_ASSIGNMENT = re.compile(
    r"""(?P<before>\s*(?:\#+\s*)?(?:-\s+|export\s+)?["']?(?P<name>\w+)["']?\s*(?:=|:\s)\s*)(?P<value>\S.*?)(?P<end>\s*)""",
    re.DOTALL,
)
_KEY_SHAPE = re.compile(r"(?:agk|bgr)_(?!live_sandbox_)[A-Za-z0-9_-]{6,}|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{8,}")


def _is_telling(name: str) -> bool:
    """Whether a name tells that its value is secret, in any spelling: ``CANON_API_KEY``, ``api_key``, ``apiKey``."""
    upper = name.upper()
    return bool(_TELLING_NAME.search(upper)) and not _PUBLIC_NAME.search(upper)


class Redactor:
    """Replaces every known secret in a text.

    Args:
        environ: variables with telling names are secrets from the start.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._values: set[str] = set()
        self._masked: dict[str, int] = {}  # values behind telling names in diffs, in the order in which they were met
        self._lesson: Callable[[], None] | None = None
        self.learn(environ)

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
            if _is_telling(name):
                self.add(value)

    def add(self, value: str) -> None:
        """Hide ``value`` from now on, unless it is too short to tell from an ordinary word."""
        for part in {value, *(line.strip() for line in value.splitlines())}:  # a diff shows a long text line by line
            if len(part) >= _SHORTEST and not part.startswith(("agk_live_sandbox_", "bgr_live_sandbox_")):
                self._values.add(part)

    def learn_tree(self, path: Sequence[str | int], value: object) -> None:
        """Take what a configuration tree holds below telling keys; ``path`` leads to ``value``."""
        match value:
            case str():
                if path and _is_telling(str(path[-1])):
                    self.add(value)
            case Mapping():
                for key, item in value.items():
                    self.learn_tree([*path, str(key)], item)
            case list() | tuple():
                for item in value:
                    self.learn_tree(path, item)

    def line(self, text: str) -> str:
        """Mask one line of a diff: known secrets, and whatever stands behind a telling name.

        Different values get different marks (``[secret]``, ``[secret 2]``), so that the change of a secret is seen.
        """
        self.catch_up()
        found = _ASSIGNMENT.fullmatch(text)
        if found and _is_telling(found["name"]):
            number = self._masked.setdefault(found["value"], len(self._masked) + 1)
            mark = SECRET_MARK if number == 1 else f"[secret {number}]"
            return f"{found['before']}{mark}{found['end']}"
        return self(text)

    def __call__(self, text: str) -> str:
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, SECRET_MARK)
        return _KEY_SHAPE.sub(SECRET_MARK, text)
