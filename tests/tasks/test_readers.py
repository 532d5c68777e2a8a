import pytest

from multigraft.errors import InputError, UnknownNameError
from multigraft.tasks.languages import language_name, locale_pair, sides
from multigraft.tasks.readers import read
from multigraft.tasks.toml_place import line_of
from multigraft.types import Json


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("after_hashes", "so\n#### 1,234\n", "1234"),
        ("after_hashes", "#### 1\n#### 2", "2"),
        ("after_hashes", "no mark 12", None),
        ("after_hashes", "#### ", None),
        ("boxed", r"\boxed{\frac{1}{\sqrt{2}}} and on {", r"\frac{1}{\sqrt{2}}"),
        ("boxed", r"first \boxed{1}, then \boxed{2}", "2"),
        ("boxed", r"$\boxed{\{1, 2\}}$", r"\{1, 2\}"),
        ("boxed", r"\boxed{\left\{ x \right.}", r"\left\{ x \right."),
        ("boxed", r"\boxed{a \\}", r"a \\"),
        ("boxed", r"\fbox{12}", "12"),
        ("boxed", r"$\boxed 7$.", "7"),
        ("boxed", r"\boxed{1", None),
        ("boxed", r"\boxed{}", None),
        ("boxed", "seven", None),
        ("letter", 2, "C"),
        ("letter", "0", "A"),
        ("letter", " d ", "D"),
        ("letter", 26, None),
        ("letter", "none", None),
        ("last_integer", "Level 5", 5),
        ("last_integer", 3, 3),
        ("last_integer", "Level ?", None),
        ("json_text", '["a", 1]', ["a", 1]),
        ("json_text", ["a"], ["a"]),
        ("json_text", "[a", "[a"),
        ("first_turn", [{"content": "Hi"}, {"content": "Ho"}], "Hi"),
        ("first_turn", ["Hi", "Ho"], "Hi"),
        ("first_turn", "Hi", "Hi"),
        ("first_turn", [], []),
        ("source_language", "en-de", "English"),
        ("target_language", "en-pt_BR", "Portuguese"),
        ("with_locale", "en-zh", "en-zh_CN"),
        ("with_locale", "en-pt_PT", "en-pt_PT"),
        ("source_side", {"de": "ja", "en": "yes"}, "ja"),
        ("target_side", {"de": "ja", "en": "yes"}, "yes"),
        ("target_side", "yes", None),
    ],
)
def test_values_are_read(name: str, value: Json, expected: Json) -> None:
    assert read(name, value, {"pair": ("de-en",)}) == expected


def test_sides_need_a_pair() -> None:
    assert read("source_side", {"de": "ja"}, {}) is None


def test_pairs_and_languages_that_there_are_not() -> None:
    assert sides("zh-en") == ("zh", "en")
    with pytest.raises(InputError, match="'german' is no language pair; write it as en-de"):
        sides("german")
    with pytest.raises(UnknownNameError, match="unknown language 'qq'"):
        language_name("qq")
    with pytest.raises(InputError, match=r"WMT24\+\+ translates from English into .*; take another year"):
        locale_pair("de-en")


TEXT = """\
title = "x"

[[source]]
file = "a"
[[source]]
file = "b"
[source.when]
year = ["c"]

[options.levels]  # a comment
meaning = "m"
options.many = true

[[suggest.judge]]
part = { kind = "x" }
"""


@pytest.mark.parametrize(
    ("location", "line"),
    [
        (("title",), 1),
        (("source", 0, "file"), 4),
        (("source", 1, "file"), 6),
        (("source", 1, "when", "year", 0), 8),
        (("source", 1, "revision"), 5),
        (("options", "levels", "meaning"), 11),
        (("options", "levels"), 10),
        (("suggest", "judge", 0, "part", "kind"), 15),
        (("licence",), None),
        ((), None),
    ],
)
def test_lines_of_fields(location: tuple[str | int, ...], line: int | None) -> None:
    assert line_of(TEXT, location) == line
