import pytest

from multigraft.prompting.places import fill, places


def test_places_are_found_and_filled_in_one_pass() -> None:
    template = "{{ a }} and {{b}}, {{a}}; {c} {{}}"
    assert places(template) == {"a", "b", ""}
    assert fill("{{ a }} and {{b}}, {{a}}; {c}", {"a": "{{b}}", "b": "\\1"}) == "{{b}} and \\1, {{b}}; {c}"


def test_a_place_without_a_value_is_a_mistake_of_the_program() -> None:
    with pytest.raises(KeyError):
        fill("{{a}}", {})
