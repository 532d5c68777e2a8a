"""The 25 kinds by their published names: which function checks one, and which arguments it takes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from multigraft.errors import InputError, UnknownNameError
from multigraft.rewards.rules.check import Check
from multigraft.rewards.rules.ifeval import arguments as argument
from multigraft.rewards.rules.ifeval import case, combination, content, keywords, language, length, punctuation, startend, structure
from multigraft.types import Constraint


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of constraint."""

    check: Callable[..., Check]
    """Takes the response, and the arguments by name."""
    parameters: Mapping[str, argument.Parameter] = field(default_factory=dict)
    """How each argument is read; all are required."""


_RELATION = argument.relation

KINDS: Mapping[str, Kind] = {
    "change_case:capital_word_frequency": Kind(case.capital_word_frequency, {"capital_relation": _RELATION, "capital_frequency": argument.natural}),
    "change_case:english_capital": Kind(case.english_capital),
    "change_case:english_lowercase": Kind(case.english_lowercase),
    "combination:repeat_prompt": Kind(combination.repeat_prompt, {"prompt_to_repeat": argument.text}),
    "combination:two_responses": Kind(combination.two_responses),
    "detectable_content:number_placeholders": Kind(content.number_placeholders, {"num_placeholders": argument.natural}),
    "detectable_content:postscript": Kind(content.postscript, {"postscript_marker": argument.text}),
    "detectable_format:constrained_response": Kind(structure.constrained_response),
    "detectable_format:json_format": Kind(structure.json_format),
    "detectable_format:multiple_sections": Kind(structure.multiple_sections, {"section_spliter": argument.text, "num_sections": argument.natural}),
    "detectable_format:number_bullet_lists": Kind(structure.number_bullet_lists, {"num_bullets": argument.natural}),
    "detectable_format:number_highlighted_sections": Kind(structure.number_highlighted_sections, {"num_highlights": argument.natural}),
    "detectable_format:title": Kind(structure.title),
    "keywords:existence": Kind(keywords.existence, {"keywords": argument.texts}),
    "keywords:forbidden_words": Kind(keywords.forbidden_words, {"forbidden_words": argument.texts}),
    "keywords:frequency": Kind(keywords.frequency, {"keyword": argument.text, "frequency": argument.natural, "relation": _RELATION}),
    "keywords:letter_frequency": Kind(keywords.letter_frequency, {"letter": argument.letter, "let_frequency": argument.natural, "let_relation": _RELATION}),
    "language:response_language": Kind(language.response_language, {"language": argument.language}),
    "length_constraints:nth_paragraph_first_word": Kind(
        length.nth_paragraph_first_word,
        {"num_paragraphs": argument.positive, "nth_paragraph": argument.positive, "first_word": argument.text},
    ),
    "length_constraints:number_paragraphs": Kind(length.number_paragraphs, {"num_paragraphs": argument.positive}),
    "length_constraints:number_sentences": Kind(length.number_sentences, {"relation": _RELATION, "num_sentences": argument.natural}),
    "length_constraints:number_words": Kind(length.number_words, {"relation": _RELATION, "num_words": argument.natural}),
    "punctuation:no_comma": Kind(punctuation.no_comma),
    "startend:end_checker": Kind(startend.end_checker, {"end_phrase": argument.text}),
    "startend:quotation": Kind(startend.quotation),
}


def resolve(constraint: Constraint) -> tuple[Kind, dict[str, object]]:
    """Find the kind of a constraint and read its arguments.

    Args:
        constraint: as it stands in the prompt file; arguments that are null count as not given (tables carry all names in every row).

    Returns:
        The kind, and the arguments to call its check with.

    Raises:
        UnknownNameError: no such kind.
        InputError: an argument is missing, unknown, or not what it must be.
    """
    kind = KINDS.get(constraint.kind)
    if kind is None:
        what = "constraint"
        raise UnknownNameError(what, constraint.kind, KINDS)
    given = {name: value for name, value in constraint.arguments.items() if value is not None}
    if missing := sorted(kind.parameters.keys() - given.keys()):
        raise _bad(constraint, f"argument '{missing[0]}' is missing")
    if unknown := sorted(given.keys() - kind.parameters.keys()):
        known = f"it takes {', '.join(kind.parameters)}" if kind.parameters else "it takes none"
        raise _bad(constraint, f"argument '{unknown[0]}' is unknown; {known}")
    read: dict[str, object] = {}
    for name, parameter in kind.parameters.items():
        try:
            read[name] = parameter(given[name])
        except ValueError as error:
            raise _bad(constraint, f"argument '{name}' {error}") from error
    return kind, read


def check_constraints(constraints: Sequence[Constraint]) -> None:
    """Make sure that every constraint can be checked, before anything is paid for.

    Raises:
        InputError: an unknown kind, or an argument that is missing, unknown, or not what it must be.
    """
    for constraint in constraints:
        resolve(constraint)


def _bad(constraint: Constraint, what: str) -> InputError:
    return InputError(f"{constraint.kind}: {what}", field="kwargs")
