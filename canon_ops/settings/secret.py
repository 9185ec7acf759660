"""A secret that cannot be printed by accident, and the eraser for text that may hold one.

The value leaves a :class:`Secret` only through :meth:`Secret.reveal`; searching the code for that word finds every
place that handles the bare text.
"""

from __future__ import annotations

from collections.abc import Iterable

from canon_ops.hints import NoReturn
from canon_ops.lean import late_pattern
from canon_ops.settings.telling import hide_logins

__all__ = ["SECRET_MARK", "Secret", "numbered_mark", "redact"]

SECRET_MARK = "[REDACTED]"  # noqa: S105 - what stands in place of one; Borgee 2.4, docs/decisions/0071
_HINT_CHARS = 4  # command-line contract, section 4: at most the last four characters
_MIN_CHARS_FOR_HINT = 16  # four characters of a shorter secret would be too large a part of it

# Keys that are recognisable by themselves, whether or not we were told about them.
_KEY_SHAPES = late_pattern(r"(?:agk|bgr)_[A-Za-z0-9_-]{6,}|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{8,}")


class Secret:
    """Text that shows itself as ``[REDACTED]``: what is printed may end in a log, a pipe or a JSON document.

    Only a terminal may show the last characters, and asks for them: :meth:`hint`.

    It compares and hashes by value, is false when empty, and refuses to be pickled or copied into JSON.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The bare text: for a request header or a private file, for nothing else."""
        return self._value

    def hint(self) -> str:
        """What people may see of it, on a terminal and nowhere else: ``…a1b2``, nothing of a short one."""
        if len(self._value) >= _MIN_CHARS_FOR_HINT:
            return "…" + self._value[-_HINT_CHARS:]
        return str(self)

    def __repr__(self) -> str:
        return f"Secret({self})"

    def __str__(self) -> str:
        return SECRET_MARK if self._value else "[empty]"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        from hmac import compare_digest  # here: it loads OpenSSL, and few compare

        return compare_digest(self._as_bytes(), other._as_bytes())

    def _as_bytes(self) -> bytes:
        return self._value.encode("utf-8", "surrogatepass")

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is not pickled")


def numbered_mark(number: int) -> str:
    """What stands for one of several secrets of a diff, in the order in which they were met: so a change is seen."""
    return SECRET_MARK if number == 1 else f"{SECRET_MARK[:-1]} {number}]"


def redact(text: str, secrets: Iterable[Secret | str] = ()) -> str:
    """Replace every given secret in ``text``, and what looks like a key or a URL's password, by ``[REDACTED]``.

    Args:
        secrets: those that are known to the caller; the longest is replaced first, so that one that contains another
            leaves nothing behind. Empty ones are ignored.
    """
    known = sorted(
        {secret if isinstance(secret, Secret) else Secret(secret) for secret in secrets if secret},
        key=lambda secret: len(secret.reveal()),
        reverse=True,
    )
    for secret in known:
        text = text.replace(secret.reveal(), SECRET_MARK)
    return _KEY_SHAPES.sub(SECRET_MARK, hide_logins(text, lambda _secret: SECRET_MARK))
