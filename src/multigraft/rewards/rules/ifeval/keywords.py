"""Words and letters that must, or must not, occur. Case never matters; a keyword also counts inside a longer word, a forbidden word only by itself."""

import re

from multigraft.rewards.rules.check import Check, Relation, compare, verdict


def existence(response: str, *, keywords: tuple[str, ...]) -> Check:
    """Every keyword occurs; credit: the share that does."""
    lowered = response.lower()
    missing = [keyword for keyword in keywords if keyword.lower() not in lowered]
    message = f"missing: {', '.join(missing)}" if missing else "all keywords occur"
    return verdict(message, passed=not missing, credit=1 - len(missing) / len(keywords))


def frequency(response: str, *, keyword: str, frequency: int, relation: Relation) -> Check:
    """The keyword occurs at least, or less than, so many times."""
    return compare(response.lower().count(keyword.lower()), relation, frequency, f"times '{keyword}'")


def forbidden_words(response: str, *, forbidden_words: tuple[str, ...]) -> Check:
    """No forbidden word occurs; credit: the share that does not."""
    used = [word for word in forbidden_words if re.search(rf"\b{re.escape(word)}\b", response, re.IGNORECASE)]
    message = f"used: {', '.join(used)}" if used else "no forbidden word occurs"
    return verdict(message, passed=not used, credit=1 - len(used) / len(forbidden_words))


def letter_frequency(response: str, *, letter: str, let_frequency: int, let_relation: Relation) -> Check:
    """The letter (any character) occurs at least, or less than, so many times."""
    return compare(response.lower().count(letter.lower()), let_relation, let_frequency, f"times '{letter}'")
