"""Numbers of words, sentences and paragraphs."""

import re

from multigraft.rewards.rules.check import Check, Relation, compare, exactly, verdict
from multigraft.rewards.rules.ifeval.detection import count_sentences

_QUOTES = "\"'"
_WORD_END = re.compile(r"[.,?!'\"]")


def number_words(response: str, *, relation: Relation, num_words: int) -> Check:
    """At least, or less than, so many words; a word is a run of letters, digits and underscores."""
    return compare(len(re.findall(r"\w+", response)), relation, num_words, "words")


def number_sentences(response: str, *, relation: Relation, num_sentences: int) -> Check:
    """At least, or less than, so many sentences."""
    return compare(count_sentences(response), relation, num_sentences, "sentences")


def number_paragraphs(response: str, *, num_paragraphs: int) -> Check:
    """Exactly so many paragraphs between dividers `***`; one left empty in the middle fails."""
    parts = [part.strip() for part in response.split("***")]
    paragraphs = [part for part in parts if part]
    counted = exactly(len(paragraphs), num_paragraphs, "paragraphs")
    if "" in parts[1:-1]:
        return verdict(f"{counted.message}; an empty one between two dividers", passed=False, credit=counted.credit / 2)
    return counted


def nth_paragraph_first_word(response: str, *, num_paragraphs: int, nth_paragraph: int, first_word: str) -> Check:
    """Exactly so many paragraphs between blank lines, and the nth starts with the word; credit: half for the number, half for the word.

    Empty paragraphs do not count, but the nth is found with them in place, as published.
    """
    parts = [part.strip() for part in response.split("\n\n")]
    counted = exactly(sum(map(bool, parts)), num_paragraphs, "paragraphs")
    paragraph = parts[nth_paragraph - 1] if nth_paragraph <= len(parts) else ""
    opening = _WORD_END.split(paragraph.split()[0].lstrip(_QUOTES), maxsplit=1)[0].lower() if paragraph else ""
    starts = opening == first_word.lower()
    message = f"{counted.message}; paragraph {nth_paragraph} starts with '{opening}', wanted '{first_word}'"
    return verdict(message, passed=counted.passed and starts, credit=(counted.credit + starts) / 2)
