"""What kind of failure an HTTP status and an error body are.

Servers agree on little: the words of the message decide before the status does, since an exhausted quota comes as 429, a context overflow as 400, and a
content filter as either.
"""

import re
from collections.abc import Mapping

from multigraft.types import Failure, FailureKind, Json
from multigraft.wire.secret import struck

_CONTEXT = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum (?:model|sequence|input) length|max_tokens must be at least 1|max_model_len|longer than the model'?s"
    r"|(?:prompt|input)(?: \w+){0,3} (?:is )?too long|too many (?:input )?tokens"
    r"|exceed\w* (?:the )?(?:available |model'?s )?(?:max\w* )?(?:context|allowed length)",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient[ _](?:quota|credit|balance|funds)|exceeded your current quota|billing|out of credits|credit balance|payment required",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"content[ _-]?(?:filter|policy|management)|responsible[ _]?ai|moderation|safety (?:system|filter|setting)|data_inspection_failed",
    re.IGNORECASE,
)
_RATE = re.compile(r"rate[ _-]?limit|too many requests|throttl", re.IGNORECASE)
_BY_STATUS = {
    400: FailureKind.BAD_REQUEST,
    401: FailureKind.AUTH,
    402: FailureKind.QUOTA,
    403: FailureKind.AUTH,
    404: FailureKind.NOT_FOUND,
    405: FailureKind.NOT_FOUND,
    408: FailureKind.TIMEOUT,
    409: FailureKind.SERVER,
    410: FailureKind.NOT_FOUND,
    425: FailureKind.SERVER,
    429: FailureKind.RATE_LIMIT,
    504: FailureKind.TIMEOUT,
    524: FailureKind.TIMEOUT,
    529: FailureKind.RATE_LIMIT,
}
RETRYABLE = frozenset(
    {
        FailureKind.RATE_LIMIT,
        FailureKind.SERVER,
        FailureKind.TIMEOUT,
        FailureKind.CONNECTION,
        FailureKind.MALFORMED,
        FailureKind.ABORTED,
    }
)
_GATEWAY_LOST_IT = frozenset({408, 502, 504, 524})
"""A gateway gave up on a server that may have worked on."""
_MESSAGE_CHARACTERS = 400


def classify(status: int, body: Json, text: str, *, secret: str | None = None) -> Failure:
    """Say what went wrong.

    Args:
        status: HTTP status; below 300 only for a body that carries an error all the same.
        body: the parsed body, None when it is not JSON.
        text: the body as text, for a message when there is no JSON.
        secret: a key that may not be in the message, however the JSON wrote it.

    Returns:
        A failure with kind, message and whether another attempt can help.
    """
    words = struck(error_words(body) or " ".join(text.split()), secret)
    if status < 300:
        status = _status_within(body) or 500
    kind = _kind(status, words)
    message = f"HTTP {status}: {words[:_MESSAGE_CHARACTERS]}" if words else f"HTTP {status}"
    return Failure(kind, message, retryable=kind in RETRYABLE, possibly_billed=status in _GATEWAY_LOST_IT)


def _kind(status: int, words: str) -> FailureKind:
    if status in {400, 413, 422, 500} and _CONTEXT.search(words):
        return FailureKind.CONTEXT
    if status in {402, 403, 429} and _QUOTA.search(words):
        return FailureKind.QUOTA
    if status in {400, 403, 422, 451} and _REFUSED.search(words):
        return FailureKind.REFUSED
    if status == 503 and _RATE.search(words):
        return FailureKind.RATE_LIMIT
    known = _BY_STATUS.get(status)
    if known is not None:
        return known
    if 300 <= status < 400:
        return FailureKind.NOT_FOUND
    return FailureKind.SERVER if status >= 500 else FailureKind.BAD_REQUEST


def error_words(body: Json) -> str:
    """Join message, type, code and parameter of an error body, whatever the server's shape; empty when there is none."""
    if not isinstance(body, Mapping):
        return ""
    error = body.get("error")
    if isinstance(error, str):
        return error
    source: Mapping[str, Json] = error if isinstance(error, Mapping) else body
    parts: list[str] = []
    for name in ("message", "detail", "type", "code", "param"):
        part = source.get(name)
        if isinstance(part, (list, dict)):
            part = str(part)
        if isinstance(part, (str, int)) and not isinstance(part, bool) and str(part):
            parts.append(str(part))
    return " | ".join(parts)


def carries_error(body: Mapping[str, Json]) -> bool:
    """Whether a body of status 200 is an error in disguise."""
    return bool(body.get("error")) or (body.get("object") == "error" and "choices" not in body)


def _status_within(body: Json) -> int | None:
    if not isinstance(body, Mapping):
        return None
    error = body.get("error")
    for source in (error, body):
        if not isinstance(source, Mapping):
            continue
        for name in ("status", "status_code", "code"):
            code = source.get(name)
            if isinstance(code, str) and code.isdecimal():
                code = int(code[:4])
            if isinstance(code, int) and 400 <= code < 600:
                return code
    words = error_words(body)
    if _RATE.search(words) or _QUOTA.search(words):
        return 429
    return 400 if _CONTEXT.search(words) or _REFUSED.search(words) else None
