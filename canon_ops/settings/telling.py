"""What is secret by its name or its place: the one rule for diffs, answers, lists and arguments.

A text is secret where

- the name it stands under tells (``api_key``, ``Authorization``, ``GH_PAT``), in any spelling, also as items of a list;
- it is the password of a URL, or the token that stands alone before its ``@``;
- it follows a telling argument: ``[--token, abc]``, ``--token=abc``, ``tool --token abc``;
- it follows a telling header or variable in one text: ``Authorization: Bearer abc``, ``GH_TOKEN=abc``;
- it is the password in ``curl -u name:password``, or behind ``-u`` in a list of arguments; two numbers there are a
  user and a group.

What only points elsewhere (``${VARIABLE}``, a name that ends in ``_env`` or ``_file``) is no secret. The rule is about
values that people wrote into their files; a *sentence* is only cleaned of logins (:func:`hide_logins`), since the words
``--api-key-file FILE`` in a cure are no secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from canon_ops.hints import Any
from canon_ops.lean import late_pattern

__all__ = ["hide_in_text", "hide_logins", "hide_secrets", "is_telling", "secret_parts"]

Hide = Callable[[str], str]

_TELLING = late_pattern(
    r"((API|AUTH|ACCESS|PRIVATE|SECRET|SIGNING|ENCRYPTION)_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?"
    r"|(^|_)(PASS|PWD|PAT|DSN|AUTHORIZATION|COOKIE|BEARER))(_[A-Z0-9]+)?$"
)
# A web key is public by design and shown in endpoint snapshots; a name, a file or a limit is not what it is about.
_PUBLIC = late_pattern(
    r"FIREBASE_?API_?KEY$|_(REF|ENV|VAR|FILE|PATH|TYPE|LIMIT|BUDGET|COUNT|TTL|SECONDS|MINUTES|ANALYTICS)$"
)
_HUMP = late_pattern(r"(?<=[a-z0-9])(?=[A-Z])")
_REFERENCE = late_pattern(r"\$\{[^}]*\}|\$[A-Za-z_]\w*")

# No scheme is longer; without a limit a long word would be tried from each of its letters to its end.
_USER_INFO = late_pattern(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,31})://(?P<user>[^\s/:@\"'<>]*)(?::(?P<password>[^\s/\"'<>]+))?@"
)
_WORD = r"\"[^\"]*\"|'[^']*'"
_QUERY = late_pattern(r"(?P<before>[?&](?P<name>[\w.-]+)=)(?P<value>[^&\s#\"']+)")
_ASSIGNED = late_pattern(rf"(?P<before>(?<![\w/.-])-{{0,2}}(?P<name>[A-Za-z_][\w-]*)=)(?P<value>{_WORD}|[^\s\"'&]+)")
_FOLLOWED = late_pattern(rf"(?P<before>(?<!\S)-{{1,2}}(?P<name>[A-Za-z][\w-]*)\s+)(?P<value>{_WORD}|[^\s\"'-]\S*)")
_HEADER = late_pattern(r"(?P<before>(?:^|(?<=[\"']))(?P<name>[A-Za-z][\w-]*):\s+)(?P<value>[^\"'\r\n]+)")
# What curl takes a name and a password for; the short ones may touch it, or end a row of switches (-su).
_LOGIN = late_pattern(r"-[a-zA-Z]{0,4}[uU]|--(?:proxy-|tls)?user")
_NAME_AND_PASSWORD = late_pattern(r"(?P<before>[^\s\"':=/]*:)(?!//)(?P<value>[^\s\"']+)")
_LOGGED_IN = late_pattern(
    r"(?P<before>(?<!\S)[\"']?(?:-[a-zA-Z]{0,4}[uU]\s*|--(?:proxy-|tls)?user[\s=]+)[\"']?[^\s\"':=/]*:)(?!//)"
    r"(?P<value>[^\s\"']+)"
)
_USER_AND_GROUP = late_pattern(r"[0-9]*:[0-9]+")
_ARGUMENT = late_pattern(r"-{1,2}([A-Za-z][\w-]*)")


@lru_cache(maxsize=4096)  # a file has the same names over and over
def is_telling(name: str) -> bool:
    """Whether a name tells that its value is secret, in any spelling: ``CANON_API_KEY``, ``api-key``, ``apiKey``."""
    upper = _HUMP.sub("_", name).replace("-", "_").upper()
    return bool(_TELLING.search(upper)) and not _PUBLIC.search(upper)


def hide_secrets(path: Sequence[object], value: Any, hide: Hide) -> Any:
    """``value`` with every secret part of a text replaced by what ``hide`` makes of it.

    Args:
        path: leads to ``value``; the last name in it counts.
    """
    name = next((part for part in reversed(path) if isinstance(part, str) and not part.isdecimal()), None)
    return _hidden(value, name is not None and is_telling(name), hide)


def secret_parts(path: Sequence[object], value: Any) -> list[str]:
    """Every secret text in ``value``, in order."""
    found: list[str] = []

    def take(text: str) -> str:
        found.append(text)
        return text

    hide_secrets(path, value, take)
    return found


def _hidden(value: Any, is_secret: bool, hide: Hide) -> Any:
    if isinstance(value, str):  # most are
        return _hide_whole(value, hide) if is_secret else hide_in_text(value, hide)
    if isinstance(value, Mapping):
        return {key: _hidden(item, is_telling(str(key)), hide) for key, item in value.items()}
    if isinstance(value, list | tuple):
        follows = [False, *(isinstance(item, str) and _asks(item) for item in value)]
        logins = [False, *(isinstance(item, str) and _LOGIN.fullmatch(item) is not None for item in value)]
        return [
            _hide_password(item, hide)
            if login and isinstance(item, str)
            else _hidden(item, is_secret or (before and not _is_argument(item)), hide)
            for before, login, item in zip(follows, logins, value, strict=False)
        ]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return hide(str(value)) if is_secret and is_number else value


def _asks(item: str) -> bool:
    """Whether a list's item is an argument whose value comes next."""
    found = _ARGUMENT.fullmatch(item)
    return found is not None and is_telling(found[1])


def _is_argument(item: object) -> bool:
    return isinstance(item, str) and _ARGUMENT.fullmatch(item) is not None


def _hide_password(text: str, hide: Hide) -> str:
    """The password of ``name:password``, which follows an option for it; two numbers are a user and a group."""
    found = _NAME_AND_PASSWORD.fullmatch(text)
    if found is None or _USER_AND_GROUP.fullmatch(text):
        return hide_in_text(text, hide)
    return found["before"] + _hide_whole(found["value"], hide)


def _hide_whole(text: str, hide: Hide) -> str:
    return text if not text or _REFERENCE.fullmatch(text) else hide(text)


def hide_in_text(text: str, hide: Hide) -> str:
    """A text that is no secret as a whole, with the secret parts of it hidden."""
    if "=" not in text and ":" not in text and "-" not in text:
        return text

    def behind_a_name(found: re.Match[str]) -> str:
        name = found["name"]
        if not is_telling(name) and not (found["before"][0] in "?&" and name.lower() == "key"):
            return found[0]
        return found["before"] + _hide_whole(found["value"], hide)

    text = hide_logins(text, hide)
    for pattern in (_HEADER, _QUERY, _ASSIGNED, _FOLLOWED):
        text = pattern.sub(behind_a_name, text)
    return text


def hide_logins(text: str, hide: Hide) -> str:
    """The password of every URL and of every ``curl -u`` hidden; and what stands alone before a web address' ``@``."""
    if "curl" in text:
        text = _LOGGED_IN.sub(lambda found: found["before"] + _hide_whole(found["value"], hide), text)
    if "://" not in text:
        return text

    def without(found: re.Match[str]) -> str:
        scheme, user, password = found["scheme"], found["user"], found["password"]
        if password is not None:
            return f"{scheme}://{user}:{_hide_whole(password, hide)}@"
        return f"{scheme}://{_hide_whole(user, hide)}@" if scheme.lower() in ("http", "https") else found[0]

    return _USER_INFO.sub(without, text)
