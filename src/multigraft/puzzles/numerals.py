"""English words of whole numbers."""

_ONE_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
"""
_ONES = tuple(_ONE_WORDS.split())
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_GROUPS = ("", "thousand", "million", "billion", "trillion")
MOST_DIGITS = 3 * len(_GROUPS)


def in_words(number: int) -> str:
    """Write a number in English words, as in "forty-two thousand three hundred seven".

    Args:
        number: in [0, 10**15).
    """
    if number == 0:
        return _ONES[0]
    groups: list[str] = []
    for name in _GROUPS:
        number, group = divmod(number, 1000)
        if group:
            groups.append(f"{_below_a_thousand(group)} {name}".rstrip())
    return " ".join(reversed(groups))


def _below_a_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    words = [f"{_ONES[hundreds]} hundred"] if hundreds else []
    if rest >= 20:
        tens, ones = divmod(rest, 10)
        words.append(f"{_TENS[tens]}-{_ONES[ones]}" if ones else _TENS[tens])
    elif rest:
        words.append(_ONES[rest])
    return " ".join(words)
