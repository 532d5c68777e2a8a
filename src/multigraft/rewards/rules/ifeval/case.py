"""Capital and small letters."""

import re

from multigraft.rewards.rules.check import Check, Relation, compare, verdict
from multigraft.rewards.rules.ifeval.detection import language_probabilities

_WORD = re.compile(r"\w+(?:[-'\u2019.]\w+)*")
_SHORT_LETTERS = 25
"""A text shorter than this is detected wrongly more often than not ("yes" as Turkish), so a short text of ASCII letters counts as English."""


def capital_word_frequency(response: str, *, capital_relation: Relation, capital_frequency: int) -> Check:
    """At least, or less than, so many words in capitals only; a hyphen, apostrophe or stop inside a word does not divide it."""
    capitals = sum(word.isupper() for word in _WORD.findall(response))
    return compare(capitals, capital_relation, capital_frequency, "words in capitals")


def english_capital(response: str) -> Check:
    """English, and no small letter; credit: share of capitals, halved when the text is not English."""
    return _english_in_case(response, upper=True)


def english_lowercase(response: str) -> Check:
    """English, and no capital letter; credit: share of small letters, halved when the text is not English."""
    return _english_in_case(response, upper=False)


def _english_in_case(response: str, *, upper: bool) -> Check:
    capitals, smalls = sum(map(str.isupper, response)), sum(map(str.islower, response))
    right = capitals if upper else smalls
    share = right / (capitals + smalls) if right else 0.0
    in_case = response.isupper() if upper else response.islower()
    english = _is_english(response)
    message = f"{share:.0%} of the letters {'capital' if upper else 'small'}{'' if english else ', not English'}"
    return verdict(message, passed=in_case and english, credit=share if english else share / 2)


def _is_english(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    if len(letters) < _SHORT_LETTERS:
        return all(map(str.isascii, letters))
    return next(iter(language_probabilities(text)), "en") == "en"
