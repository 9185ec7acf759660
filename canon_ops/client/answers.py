"""From a whole HTTP answer to JSON, or to the error that it means.

Source: Canon wire 2.2-2.4.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from canon_ops.client.errors import MESSAGE_CHARACTERS, ApiError, MalformedAnswer, api_error
from canon_ops.client.transport import Answer
from canon_ops.settings.secret import Secret, redact
from canon_ops.wire.fields import as_object, text_of
from canon_ops.wire.messages import inline_text
from canon_ops.wire.retry import retry_after_s

__all__ = ["json_answer", "refusal"]

_NOT_JSON = object()
_READ_CHARACTERS = 16 * 1024  # of what the server says: looked through for secrets; far less of it is quoted


def json_answer(answer: Answer, *, name: str, secrets: Sequence[Secret], now_ms: int) -> Any:
    """The JSON of a success; an empty body reads as an empty object.

    Args:
        name: what the request is called in errors.
        secrets: erased from whatever the server says.

    Raises:
        ApiError: the status is not 200…299.
        MalformedAnswer: a success that is not JSON.
    """
    if not 200 <= answer.status < 300:
        raise refusal(answer, name=name, secrets=secrets, now_ms=now_ms)
    parsed = _json(answer.content)
    if parsed is _NOT_JSON:
        raise MalformedAnswer(name, "is not JSON")
    return parsed


def refusal(answer: Answer, *, name: str, secrets: Sequence[Secret], now_ms: int) -> ApiError:
    """The error that ``answer`` means; its body need not be JSON. Arguments as for :func:`json_answer`."""
    body = as_object(_json(answer.content))
    said = text_of(body, "error") or answer.content.decode("utf-8", "replace")
    return api_error(
        answer.status,
        location=answer.headers.get("location"),
        api_code=text_of(body, "code"),
        message=inline_text(redact(said[:_READ_CHARACTERS], secrets)).strip()[:MESSAGE_CHARACTERS],
        retry_after_s=retry_after_s(answer.headers.get("retry-after"), body.get("retryAfter"), now_ms=now_ms),
        request=name,
    )


def _json(content: bytes) -> Any:
    if not content.strip():
        return {}
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return _NOT_JSON
