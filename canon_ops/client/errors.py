"""How a request to Canon fails, sorted by who has to act.

    RequestFailed               what happened is in .outcome; the retry policies sort it
    ├── ApiError                the server answered with an error status
    │   ├── Unauthorized        401: the key is not accepted                 exit 4
    │   ├── Forbidden           403: the key is known and not welcome        exit 4
    │   ├── ServiceTrouble      408, 425, 429, 5xx: passes by itself         retryable
    │   └── Redirected          3xx: never followed, the key would travel    exit 3
    ├── TransportFailure        no whole answer came                         retryable
    ├── NothingCanBeSent        this process cannot even begin a request
    └── MalformedAnswer         an answer came that nobody can read; what the server did is unknown

Source: Canon wire 2.2-2.5; canon-adapter Appendices A, B.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from canon_ops.errors import CredentialError, ExitCode, OutsideError, UnreachableError
from canon_ops.wire.retry import Outcome, Policy, TransportKind, certainly_not_handled, is_retryable

__all__ = [
    "LOOK_AT_THE_NETWORK",
    "ApiError",
    "Forbidden",
    "MalformedAnswer",
    "NothingCanBeSent",
    "Redirected",
    "RequestFailed",
    "ServiceTrouble",
    "TransportFailure",
    "Unauthorized",
    "api_error",
]

MESSAGE_CHARACTERS = 500  # Canon wire 2.3
LOOK_AT_THE_NETWORK = "canon-ops doctor --area net"

# 403 answers about what was asked for; the key itself is good. Source: Canon wire 2.4.
_ACT_REFUSED = frozenset({
    "OUTBOUND_APPROVAL_REQUIRED",
    "OUTBOUND_COMMUNICATION_CLOSED",
    "MESSAGE_ADMISSION_REQUIRED",
    "RUNTIME_INTERACTION_ADMISSION_STALE",
    "RUNTIME_INTERACTION_GENERATION_STALE",
})  # fmt: skip


class RequestFailed(OutsideError):
    """A request that brought nothing usable back.

    Args:
        outcome: the same as a value, for :mod:`canon_ops.wire.retry`.
        retry_after_s: the pause that the server asked for; None when it asked for none.

    Attributes:
        may_have_landed: something of it may be on the server. ``outcome`` is that of the last attempt, and an answer
            that an earlier one has lost is no less in doubt because the next found nobody.
    """

    def __init__(
        self, what: str, *, outcome: Outcome, retry_after_s: float | None = None, fix: str | None = None
    ) -> None:
        super().__init__(what, fix=fix)
        self.outcome = outcome
        self.retry_after_s = retry_after_s
        self.may_have_landed = not certainly_not_handled(outcome)


class ApiError(RequestFailed):
    """The server refused.

    ``code`` is the program's word for scripts, as on every error of ours; the server's own word is ``api_code``.
    """

    code = "canon_refused"

    def __init__(
        self,
        status: int,
        api_code: str | None,
        message: str,
        retry_after_s: float | None = None,
        *,
        request: str = "the request",
        fix: str | None = None,
    ) -> None:
        named = f" ({api_code})" if api_code else ""
        said = f": {message}" if message else ""
        super().__init__(
            f"Canon answered {request} with status {status}{named}{said}",
            outcome=Outcome(status=status),
            retry_after_s=retry_after_s,
            fix=fix,
        )
        self.status = status
        self.api_code = api_code
        self.message = message


class Unauthorized(ApiError, CredentialError):
    """The key is missing, wrong or revoked."""

    code = "key_refused"
    exit_code = ExitCode.CREDENTIAL


class Forbidden(ApiError, CredentialError):
    """The key is known and not welcome, whatever is asked for.

    A 403 about one act, not about the key, is a plain :class:`ApiError`.
    """

    code = "key_forbidden"
    exit_code = ExitCode.CREDENTIAL


class ServiceTrouble(ApiError):
    """Canon cannot do it now; the same request may succeed later."""

    code = "canon_trouble"
    retryable = True


class Redirected(ApiError):
    """Something on the way points elsewhere. We do not go there, and what was asked for was not done."""

    code = "redirected"


class TransportFailure(RequestFailed, UnreachableError):
    """No whole answer came back. ``kind`` says how far it got."""

    def __init__(self, kind: TransportKind, *, request: str, detail: str = "") -> None:
        more = f" ({detail})" if detail else ""
        super().__init__(
            f"No answer to {request}: {kind.value}{more}.", outcome=Outcome(transport=kind), fix=LOOK_AT_THE_NETWORK
        )
        self.kind = kind


class NothingCanBeSent(RequestFailed):
    """The process environment keeps the HTTP library from starting; it stays so until somebody changes that."""

    code = "http_unusable"

    def __init__(self, request: str, why: str, check: str) -> None:
        super().__init__(
            f"No request can be made, not even {request}: {why}.",
            outcome=Outcome(transport=TransportKind.OTHER),
            fix=f"canon-ops doctor --only {check}",
        )


class MalformedAnswer(RequestFailed):
    """A success that cannot be read: not JSON, or more than anybody would send. It is not repeated."""

    code = "malformed_answer"

    def __init__(self, request: str, why: str) -> None:
        super().__init__(
            f"Canon's answer to {request} {why}; whether it was carried out is unknown.",
            outcome=Outcome(),
            fix=LOOK_AT_THE_NETWORK,
        )


def api_error(
    status: int,
    api_code: str | None,
    message: str,
    retry_after_s: float | None = None,
    *,
    request: str = "the request",
    location: str | None = None,
) -> ApiError:
    """The error for a status outside 200…299; ``location`` is where a redirect points to."""
    kind: type[ApiError] = ApiError
    fix = None
    if 300 <= status < 400:
        kind, message = Redirected, f"it points to {_origin(location)}, and redirects are not followed"
        fix = "check the configured Canon endpoints: canon-ops doctor"
    elif status == 401:
        kind, fix = Unauthorized, "canon-ops setup canon"
    elif status == 403 and api_code not in _ACT_REFUSED:
        kind, fix = Forbidden, "canon-ops setup canon"
    elif is_retryable(Policy.READ, Outcome(status=status)):
        kind, fix = ServiceTrouble, f"try again in a moment, or look at Canon: {LOOK_AT_THE_NETWORK}"
    return kind(status, api_code, message, retry_after_s, request=request, fix=fix)


def _origin(location: str | None) -> str:
    """Where a redirect points to, without the path and the query, which may hold a token."""
    try:
        place = urlsplit(location or "")
        return f"{place.scheme}://{place.hostname}" if place.scheme and place.hostname else "another path"
    except ValueError:
        return "another address"
