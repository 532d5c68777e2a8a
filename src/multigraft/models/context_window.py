"""How much room a server says it has left for an answer."""

import re

SMALLEST_ANSWER_TOKENS = 16
"""Less room than this is not worth a call."""

_WINDOW = (
    re.compile(r"(?:context|sequence|model)[ _](?:length|window|size|len)\D{0,40}?(\d{2,})", re.IGNORECASE),
    re.compile(r"\bn_ctx\D{0,6}(\d{2,})", re.IGNORECASE),
)
_PROMPT = (
    re.compile(r"(\d+) (?:tokens )?(?:in|from) (?:the |your )?(?:input|prompt|messages)", re.IGNORECASE),
    re.compile(r"(\d+) (?:input|prompt) tokens", re.IGNORECASE),
    re.compile(r"\bn_prompt_tokens\D{0,6}(\d+)", re.IGNORECASE),
)


def room_left_tokens(message: str) -> int | None:
    """Read a context error.

    Args:
        message: what the server said, such as "maximum context length is 4096 tokens ... 3000 in the messages, 2000 in the completion".

    Returns:
        Tokens left for the completion when the prompt alone fits with some room; None when it does not, or when the words do not say.
    """
    window, prompt = _first(_WINDOW, message), _first(_PROMPT, message)
    if window is None or prompt is None:
        return None
    room = window - prompt
    return room if room >= SMALLEST_ANSWER_TOKENS else None


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    for pattern in patterns:
        found = pattern.search(text)
        if found is not None and len(found.group(1)) < 12:
            return int(found.group(1))
    return None
