"""Keys, struck out of whatever a server sends back, before it can reach a message or a record."""

_SHORTEST = 6
"""A placeholder such as `x` is no secret, and striking it out would garble what was said."""
_MARK = "***"


def struck(text: str, key: str | None) -> str:
    """Strike a key out of a text."""
    return text.replace(key, _MARK) if key is not None and len(key) >= _SHORTEST else text


def struck_bytes(data: bytes, key: bytes | None) -> bytes:
    """Strike a key out of a body; the body itself when it is not in it."""
    return data.replace(key, _MARK.encode()) if key is not None and len(key) >= _SHORTEST and key in data else data
