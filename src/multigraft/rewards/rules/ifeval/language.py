"""The language of the whole answer."""

from multigraft.rewards.rules.check import Check, verdict
from multigraft.rewards.rules.ifeval.detection import language_probabilities


def response_language(response: str, *, language: str) -> Check:
    """The answer is most probably in this language; credit: the probability that it is.

    A text without a letter is in no language and fails; the published check lets it pass, which pays a model for writing digits.
    """
    probabilities = language_probabilities(response)
    found = next(iter(probabilities), "none")
    return verdict(f"language {found}, wanted {language}", passed=found == language, credit=probabilities.get(language, 0.0))
