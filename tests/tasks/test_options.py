import pytest

from multigraft.errors import InputError, UnknownNameError
from multigraft.tasks.options import Given, chosen, options_of
from multigraft.tasks.schema import OptionTable

TABLES = {
    "levels": OptionTable(meaning="levels", kind="integer", values=(1, 2, 3), many=True, field="level"),
    "count": OptionTable(meaning="count", kind="integer", minimum=1, default=4),
    "pair": OptionTable(meaning="pair", default="en-de"),
    "names": OptionTable(meaning="names", many=True),
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"levels": (), "count": (4,), "pair": ("en-de",), "names": ()}),
        ({"levels": "3, 1"}, {"levels": (3, 1)}),
        ({"levels": [2, "3"]}, {"levels": (2, 3)}),
        ({"levels": 2, "count": "7"}, {"levels": (2,), "count": (7,)}),
        ({"names": ("a", "b,c")}, {"names": ("a", "b", "c")}),
        ({"pair": "a,b"}, {"pair": ("a,b",)}),
    ],
)
def test_values_are_read(given: Given, expected: dict[str, tuple[str | int, ...]]) -> None:
    options = chosen(TABLES, given)
    assert {name: options.values[name] for name in expected} == expected
    assert options.by_the_user == set(given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"levels": "4"}, "field 'levels': takes 1, 2, 3; not 4"),
        ({"levels": "high"}, "field 'levels': takes an integer, not 'high'"),
        ({"levels": True}, "field 'levels': takes integer, not True"),
        ({"levels": []}, r"field 'levels': takes at least one value, not \[\]"),
        ({"count": 0}, "field 'count': must be at least 1, not 0"),
        ({"count": [1, 2]}, r"field 'count': takes one value, not \[1, 2\]"),
        ({"pair": ""}, "field 'pair': takes a text, not an empty one"),
    ],
)
def test_values_that_do_not_fit(given: Given, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen(TABLES, given)


def test_an_option_that_there_is_not() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown option of the task 'level'\. Did you mean 'levels'"):
        chosen(TABLES, {"level": 1})
    with pytest.raises(InputError, match="field 'level': this task has no options"):
        chosen({}, {"level": 1})


def test_options_of_a_command_line() -> None:
    assert options_of(["levels=1,2", "pair=a=b", "names="]) == {"levels": "1,2", "pair": "a=b", "names": ""}
    with pytest.raises(InputError, match="field '--task-option': write it as NAME=VALUE, not 'levels'"):
        options_of(["levels"])
    with pytest.raises(InputError, match="'a' is given twice; separate its values by commas"):
        options_of(["a=1", "a=2"])
