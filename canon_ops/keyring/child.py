"""The program that talks to the keyring: one question as JSON on stdin, one answer as JSON on stdout, then it ends.

It runs in a process of its own because a keyring may wait for a person whom nobody can see, and because its libraries
fail in many ways (a bus that is gone, a locked collection, an unlock dialogue that was dismissed). Whatever happens
here becomes one of three words (``missing``, ``locked``, ``failed``), and the parent kills what takes too long.

A backend that forgets, fails or stores plain text is no keyring. A chain of backends is looked through for the first
that is one, so that a plain-text backend cannot stand in when the real one has a bad day.

::

    {"v": 1, "ask": "get", "service": "canon-ops", "account": "ops@1f2e3d4c"}
    {"v": 1, "backend": "SecretService Keyring", "secret": "…"}            # null when there is no such entry
    {"v": 1, "why": "locked", "detail": "KeyringLocked: …"}

Source: decisions C1, F5; command-line contract, creds; cases BR-43, BR-44.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from canon_ops.settings.secret import SECRET_MARK

PROTOCOL = 1

_NO_KEYRING_MODULES = ("keyring.backends.null", "keyring.backends.fail", "keyrings.alt.")
_LOCKED = {"KeyringLocked", "LockedException", "PromptDismissedException"}
_PROBE = ("canon-ops", "probe")  # an entry that nobody ever makes: looking for it shows whether the keyring answers
_DETAIL_CHARS = 200


class _Missing(Exception):
    """There is no backend that deserves the name."""


def main() -> None:
    """Answer the question on stdin."""
    answer_to, sys.stdout = sys.stdout, sys.stderr  # a backend that prints must not spoil the answer
    question = json.loads(sys.stdin.read())
    try:
        answer = _answer(question)
    except _Missing as exc:
        answer = {"why": "missing", "detail": str(exc)}
    except Exception as exc:  # every backend has its own errors; the kinds we tell apart have names
        answer = {"why": _kind(exc), "detail": _detail(exc, question.get("secret"))}
    json.dump({"v": PROTOCOL, **answer}, answer_to)
    answer_to.flush()


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    backend = _backend()
    answer: dict[str, Any] = {"backend": str(backend.name)}
    place = (question.get("service", ""), question.get("account", ""))
    match question["ask"]:
        case "probe":
            backend.get_password(*_PROBE)
            return answer
        case "get":
            return answer | {"secret": backend.get_password(*place)}
        case "put":
            backend.set_password(*place, question["secret"])
            if backend.get_password(*place) != question["secret"]:  # some backends swallow what they cannot keep
                return {"why": "failed", "detail": f"{backend.name} did not give back what it was given"}
            return answer
        case "delete":
            had = backend.get_password(*place) is not None
            if had:
                backend.delete_password(*place)
            return answer | {"deleted": had}
        case other:
            return {"why": "failed", "detail": f"unknown question {other!r}"}


def _backend() -> Any:
    import keyring
    from keyring.backends.chainer import ChainerBackend

    try:
        chosen = keyring.get_keyring()
    except Exception as exc:  # a backend that is configured by name and cannot be loaded
        raise _Missing(_detail(exc, None)) from exc
    members = list(chosen.backends) if isinstance(chosen, ChainerBackend) else [chosen]
    usable = [each for each in members if _is_keyring(type(each))]
    if not usable:
        names = ", ".join(f"{type(each).__module__}.{type(each).__qualname__}" for each in members)
        raise _Missing(names or "no backend")
    return usable[0]


def _is_keyring(backend: type) -> bool:
    module = f"{backend.__module__}."
    return not module.startswith(_NO_KEYRING_MODULES) and "plaintext" not in backend.__qualname__.lower()


def _kind(exc: Exception) -> str:
    names: set[str] = set()
    cause: BaseException | None = exc
    while cause is not None:  # a dismissed dialogue arrives inside an InitError
        names |= {kind.__name__ for kind in type(cause).__mro__}
        cause = cause.__cause__ or cause.__context__
    if "NoKeyringError" in names:
        return "missing"
    return "locked" if names & _LOCKED else "failed"


def _detail(exc: Exception, secret: str | None) -> str:
    text = f"{type(exc).__name__}: {exc}".replace("\n", " ")
    return (text.replace(secret, SECRET_MARK) if secret else text)[:_DETAIL_CHARS]


if __name__ == "__main__":
    main()
