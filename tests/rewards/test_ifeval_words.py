"""Kinds of IFEval that look at words, letters, lengths, case and language; every verdict and credit was decided by hand."""

import pytest

from multigraft.rewards.rules.ifeval.evaluate import evaluate
from multigraft.types import Constraint, Json

KEYWORDS: dict[str, Json] = {"keywords": ["correlated", "experiencing"]}
FORBIDDEN: dict[str, Json] = {"forbidden_words": ["rock", "can"]}
STORY: dict[str, Json] = {"keyword": "story", "frequency": 2, "relation": "at least"}
FEW_STORIES: dict[str, Json] = {"keyword": "story", "frequency": 2, "relation": "less than"}
HASHES: dict[str, Json] = {"letter": "#", "let_frequency": 4, "let_relation": "at least"}
FEW_ES: dict[str, Json] = {"letter": "E", "let_frequency": 3, "let_relation": "less than"}
FIVE_WORDS: dict[str, Json] = {"relation": "at least", "num_words": 5}
UNDER_FIVE_WORDS: dict[str, Json] = {"relation": "less than", "num_words": 5}
THREE_SENTENCES: dict[str, Json] = {"relation": "at least", "num_sentences": 3}
UNDER_THREE_SENTENCES: dict[str, Json] = {"relation": "less than", "num_sentences": 3}
THREE_PARAGRAPHS: dict[str, Json] = {"num_paragraphs": 3}
SECOND_PRESIDENT: dict[str, Json] = {"num_paragraphs": 3, "nth_paragraph": 2, "first_word": "president"}
TWO_CAPITALS: dict[str, Json] = {"capital_relation": "at least", "capital_frequency": 2}
UNDER_TWO_CAPITALS: dict[str, Json] = {"capital_relation": "less than", "capital_frequency": 2}

FRENCH = "Il est important de manger des fruits et des légumes tous les jours pour rester en bonne santé."
ENGLISH = "It is important to eat fruit and vegetables every day in order to stay healthy."
GERMAN = "Es ist wichtig, jeden Tag Obst und Gemüse zu essen, damit man gesund bleibt."
HINDI = "स्वस्थ रहने के लिए हर दिन फल और सब्जियां खाना महत्वपूर्ण है।"

CASES: list[tuple[str, dict[str, Json], str, float]] = [
    ("keywords:existence", KEYWORDS, "We are experiencing something Correlated.", 1.0),
    ("keywords:existence", KEYWORDS, "They are uncorrelated, and I was experiencing it.", 1.0),
    ("keywords:existence", KEYWORDS, "They are correlated.", 0.5),
    ("keywords:existence", KEYWORDS, "Nothing of the kind.", 0.0),
    ("keywords:frequency", STORY, "A story of a Story.", 1.0),
    ("keywords:frequency", STORY, "One story.", 0.5),
    ("keywords:frequency", STORY, "None.", 0.0),
    ("keywords:frequency", FEW_STORIES, "One story.", 1.0),
    ("keywords:frequency", FEW_STORIES, "story story", 2 / 3),
    ("keywords:frequency", FEW_STORIES, "story story story", 0.5),
    ("keywords:forbidden_words", FORBIDDEN, "We rocked the candle.", 1.0),
    ("keywords:forbidden_words", FORBIDDEN, "We ROCK it.", 0.5),
    ("keywords:forbidden_words", FORBIDDEN, "A rock can fall.", 0.0),
    ("keywords:letter_frequency", HASHES, "#a #b #c #d #e", 1.0),
    ("keywords:letter_frequency", HASHES, "#a #b #c", 0.75),
    ("keywords:letter_frequency", HASHES, "tags", 0.0),
    ("keywords:letter_frequency", FEW_ES, "e E a", 1.0),
    ("keywords:letter_frequency", FEW_ES, "Eeee a", 0.6),
    ("length_constraints:number_words", FIVE_WORDS, "one two three four five", 1.0),
    ("length_constraints:number_words", FIVE_WORDS, "It's one-two three", 1.0),
    ("length_constraints:number_words", FIVE_WORDS, "one two, three!", 0.6),
    ("length_constraints:number_words", UNDER_FIVE_WORDS, "one two three four", 1.0),
    ("length_constraints:number_words", UNDER_FIVE_WORDS, "one two three four five", 5 / 6),
    ("length_constraints:number_words", UNDER_FIVE_WORDS, "a b c d e f g h i", 0.5),
    ("length_constraints:number_sentences", THREE_SENTENCES, "It rains. We stay. They go!", 1.0),
    ("length_constraints:number_sentences", THREE_SENTENCES, "Mr. Smith went to Washington. He likes it.", 2 / 3),
    ("length_constraints:number_sentences", THREE_SENTENCES, "Only one", 1 / 3),
    ("length_constraints:number_sentences", UNDER_THREE_SENTENCES, "It costs 3.50 dollars at 5 p.m. today. Fine.", 1.0),
    ("length_constraints:number_sentences", UNDER_THREE_SENTENCES, "One. Two. Three.", 0.75),
    ("length_constraints:number_paragraphs", THREE_PARAGRAPHS, "a\n***\nb\n***\nc", 1.0),
    ("length_constraints:number_paragraphs", THREE_PARAGRAPHS, "***\na\n***\nb\n***\nc\n***", 1.0),
    ("length_constraints:number_paragraphs", THREE_PARAGRAPHS, "a\n***\nb", 2 / 3),
    ("length_constraints:number_paragraphs", THREE_PARAGRAPHS, "a\n\nb\n\nc", 1 / 3),
    ("length_constraints:number_paragraphs", THREE_PARAGRAPHS, "a\n***\n***\nb\n***\nc", 0.5),
    ("length_constraints:nth_paragraph_first_word", SECOND_PRESIDENT, "News.\n\nPresident Bloop spoke.\n\nEnd.", 1.0),
    ("length_constraints:nth_paragraph_first_word", SECOND_PRESIDENT, 'News.\n\n"President\'s" men came.\n\nEnd.', 1.0),
    ("length_constraints:nth_paragraph_first_word", SECOND_PRESIDENT, "News.\n\nThe President spoke.\n\nEnd.", 0.5),
    ("length_constraints:nth_paragraph_first_word", SECOND_PRESIDENT, "News.\n\nPresident Bloop spoke.", 5 / 6),
    ("length_constraints:nth_paragraph_first_word", SECOND_PRESIDENT, "President", 1 / 6),
    ("change_case:capital_word_frequency", TWO_CAPITALS, "I saw NASA today", 1.0),
    ("change_case:capital_word_frequency", TWO_CAPITALS, "HELLO-WORLD is here", 0.5),
    ("change_case:capital_word_frequency", TWO_CAPITALS, "Nothing here", 0.0),
    ("change_case:capital_word_frequency", UNDER_TWO_CAPITALS, "Only NASA here", 1.0),
    ("change_case:capital_word_frequency", UNDER_TWO_CAPITALS, "THREE CAPITAL WORDS here", 0.5),
    ("change_case:english_capital", {}, "IT RAINS IN SPAIN, AND MOSTLY ON THE PLAIN, AS THEY SAY.", 1.0),
    ("change_case:english_capital", {}, "YES", 1.0),
    ("change_case:english_capital", {}, "YEs!", 2 / 3),
    ("change_case:english_capital", {}, FRENCH.upper(), 0.5),
    ("change_case:english_capital", {}, "123", 0.0),
    ("change_case:english_lowercase", {}, "it rains in spain, and mostly on the plain, as they say.", 1.0),
    ("change_case:english_lowercase", {}, "no, Never", 6 / 7),
    ("change_case:english_lowercase", {}, GERMAN.lower(), 0.5),
    ("change_case:english_lowercase", {}, "ÄÖ", 0.0),
    ("language:response_language", {"language": "fr"}, FRENCH, 1.0),
    ("language:response_language", {"language": "fr"}, FRENCH.upper(), 1.0),
    ("language:response_language", {"language": "hi"}, HINDI, 1.0),
    ("language:response_language", {"language": "fr"}, ENGLISH, 0.0),
    ("language:response_language", {"language": "en"}, GERMAN, 0.0),
    ("language:response_language", {"language": "en"}, "12345 !", 0.0),
]


@pytest.mark.parametrize(("kind", "arguments", "response", "credit"), CASES)
def test_verdict_and_credit(kind: str, arguments: dict[str, Json], response: str, credit: float) -> None:
    check = evaluate(Constraint(kind, arguments), response)
    assert check.passed is (credit == 1.0), check.message
    assert check.credit == pytest.approx(credit, abs=1e-3)


def test_sentences_of_a_long_list_are_counted_in_bounded_time() -> None:
    check = evaluate(Constraint("length_constraints:number_sentences", THREE_SENTENCES), "1. " * 4000)
    assert check.passed


def test_blocks_do_not_change_the_count() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 300
    arguments: dict[str, Json] = {"relation": "at least", "num_sentences": 300}
    assert evaluate(Constraint("length_constraints:number_sentences", arguments), text).passed
    assert not evaluate(Constraint("length_constraints:number_sentences", {**arguments, "num_sentences": 301}), text).passed


def test_language_is_the_same_every_time() -> None:
    text = "ok la no si"
    messages = {evaluate(Constraint("language:response_language", {"language": "en"}), text) for _ in range(5)}
    assert len(messages) == 1
