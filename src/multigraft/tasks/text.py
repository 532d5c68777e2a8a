"""Texts that can be sent, stored and exported as UTF-8, whatever they came from."""


def without_surrogates(text: str) -> str:
    """Replace what no UTF-8 can carry: half a surrogate pair becomes U+FFFD, two halves side by side the character they mean.

    Args:
        text: any string.

    Returns:
        The same object when there is nothing to replace.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
