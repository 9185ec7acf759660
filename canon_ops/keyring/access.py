"""Asking the keyring, with a limit: the parent of :mod:`canon_ops.keyring.child`.

Every question is a short-lived process of its own session, killed with all its children when three seconds are over or
when the caller is interrupted. The secret goes through a pipe, never through an argument or the environment: a variable
of the caller's that holds the one to be stored is not passed on. A keyring that is off, missing or silent stays so for
the life of the :class:`Keyring`: nobody waits twice.

Nothing here falls back to another store; the caller decides what a missing keyring means, and says so.

All calls block for at most the limit; a gateway makes them on a thread.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from canon_ops.errors import CredentialError, OutsideError
from canon_ops.settings.profiles import KeyReference
from canon_ops.settings.secret import Secret

__all__ = [
    "KEYRING_VARIABLE",
    "Keyring",
    "KeyringEntryMissing",
    "KeyringFailed",
    "KeyringLocked",
    "KeyringMissing",
    "KeyringOff",
    "KeyringProblem",
    "KeyringSilent",
]

LIMIT_S = 3.0  # command-line contract, creds; decisions C1
KEYRING_VARIABLE = "CANON_OPS_KEYRING"

_PROTOCOL = 1
_REAP_S = 1.0  # a killed process that the kernel still holds is left to it
_OFF = frozenset({"off", "0", "false", "no"})


class KeyringProblem(OutsideError):
    """The keyring cannot be used now."""

    code: ClassVar[str] = "keyring"


class KeyringOff(KeyringProblem):
    """It was switched off."""

    code: ClassVar[str] = "keyring_off"


class KeyringMissing(KeyringProblem):
    """There is none, or only one that does not deserve the name."""

    code: ClassVar[str] = "keyring_missing"


class KeyringSilent(KeyringProblem):
    """It did not answer in time, most likely because it waits for a person to unlock it."""

    code: ClassVar[str] = "keyring_silent"
    retryable: ClassVar[bool] = True


class KeyringLocked(KeyringProblem):
    """It is locked, and nobody unlocked it."""

    code: ClassVar[str] = "keyring_locked"
    retryable: ClassVar[bool] = True


class KeyringFailed(KeyringProblem):
    """It answered with a failure of its own."""

    code: ClassVar[str] = "keyring_failed"


class KeyringEntryMissing(CredentialError):
    """It works, and does not hold what a reference points to."""

    code: ClassVar[str] = "keyring_entry_missing"


@dataclass(slots=True)
class Keyring:
    """The keyring as the processes of one environment see it.

    Args:
        environ: of the child; ``CANON_OPS_KEYRING=off`` in it switches the keyring off.
        limit_s: for each question.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    limit_s: float = LIMIT_S
    _hopeless: KeyringProblem | None = field(default=None, init=False, repr=False)

    def probe(self) -> str:
        """The backend's name.

        Raises:
            KeyringOff, KeyringMissing, KeyringSilent, KeyringLocked, KeyringFailed.
        """
        return str(self._ask({"ask": "probe"})["backend"])

    def find(self, reference: KeyReference) -> Secret | None:
        """What the keyring holds there; None when it holds nothing.

        Raises:
            KeyringProblem: as :meth:`probe`.
        """
        text = self._ask(_question("get", reference)).get("secret")
        return Secret(text) if isinstance(text, str) and text else None

    def get(self, reference: KeyReference, *, fix: str) -> Secret:
        """What the keyring holds there.

        Args:
            fix: what helps when it holds nothing.

        Raises:
            KeyringEntryMissing: it holds nothing.
            KeyringProblem: as :meth:`probe`.
        """
        secret = self.find(reference)
        if secret is None:
            raise KeyringEntryMissing(f"The keyring has no entry {reference.text}", fix=fix)
        return secret

    def put(self, reference: KeyReference, secret: Secret) -> None:
        """Store ``secret`` there, and make sure that it can be read again.

        Raises:
            KeyringProblem: as :meth:`probe`.
        """
        self._ask({**_question("put", reference), "secret": secret.reveal()})

    def delete(self, reference: KeyReference) -> bool:
        """Remove the entry; gives whether there was one.

        Raises:
            KeyringProblem: as :meth:`probe`.
        """
        return bool(self._ask(_question("delete", reference)).get("deleted"))

    def _ask(self, question: Mapping[str, str]) -> dict[str, Any]:
        if self._hopeless is not None:
            raise self._hopeless
        try:
            return self._answer_of(question)
        except (KeyringOff, KeyringMissing, KeyringSilent) as problem:
            self._hopeless = problem
            raise

    def _answer_of(self, question: Mapping[str, str]) -> dict[str, Any]:
        if self.environ.get(KEYRING_VARIABLE, "").strip().lower() in _OFF:
            raise KeyringOff(f"The keyring is switched off ({KEYRING_VARIABLE})", fix=f"unset {KEYRING_VARIABLE}")
        text = self._run(json.dumps({"v": _PROTOCOL, **question}), self._environ_without(question.get("secret")))
        try:
            answer = json.loads(text)
            if answer["v"] != _PROTOCOL:
                raise ValueError(answer["v"])
        except (ValueError, KeyError, TypeError) as exc:
            raise KeyringFailed("The keyring's helper process ended without an answer", fix=_WITHOUT_IT) from exc
        if (why := answer.get("why")) is not None:
            raise _problem(why, str(answer.get("detail", "")))
        return dict(answer)

    def _environ_without(self, secret: str | None) -> dict[str, str]:
        return {name: value for name, value in self.environ.items() if not secret or secret not in value}

    def _run(self, question: str, environ: Mapping[str, str]) -> str:
        """The child's output; whatever happens, no process of its session stays."""
        command = [sys.executable, "-P", "-m", "canon_ops.keyring.child"]  # -P: the working folder holds no modules
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environ,
                start_new_session=True,
                text=True,
                encoding="utf-8",
            )
        except OSError as exc:
            raise KeyringFailed(
                f"The keyring's helper process could not be started: {exc.strerror}", fix=_WITHOUT_IT
            ) from exc
        try:
            return process.communicate(question, timeout=self.limit_s)[0]
        except subprocess.TimeoutExpired as exc:
            raise KeyringSilent(
                f"The keyring did not answer within {self.limit_s:g} seconds; it may wait to be unlocked",
                fix=f"unlock it and run this again, or set {KEYRING_VARIABLE}=off",
            ) from exc
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Kill what is left of the child's session, and reap the child."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_REAP_S)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _question(ask: str, reference: KeyReference) -> dict[str, str]:
    return {"ask": ask, "service": reference.service, "account": reference.account}


_WITHOUT_IT = "try again, or keep the key in a file: canon-ops creds move --to file"


def _problem(why: str, detail: str) -> KeyringProblem:
    match why:
        case "missing":
            return KeyringMissing(
                f"There is no keyring to use here (found: {detail})",
                fix="start a Secret Service (gnome-keyring, KWallet), or keep keys in a file: setup --store file",
            )
        case "locked":
            return KeyringLocked(f"The keyring is locked ({detail})", fix="unlock it and run this again")
        case _:
            return KeyringFailed(f"The keyring failed: {detail}", fix=_WITHOUT_IT)
