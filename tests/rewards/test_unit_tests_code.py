import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.rewards.unit_tests_code import code_of_prompt, defines, fenced_blocks, readings

PROMPT = 'import math\n\ndef half(x):\n    return x / 2\n\ndef f(x):\n    """Give x back."""\n'
BEFORE = "import math\n\ndef half(x):\n    return x / 2\n\n"


def test_fenced_blocks() -> None:
    text = "One:\n```python\na = 1\n```\ntwo ```not a fence``` here\n  ~~~ Py3 extra\n    b\n      c\n  ~~~\n````\n```\ninner\n```\n````\n```sh\nopen end"
    assert fenced_blocks(text) == (("python", "a = 1\n"), ("py3", "b\n  c\n"), ("", "```\ninner\n```\n"), ("sh", "open end\n"))
    assert fenced_blocks("no fence") == ()


def test_a_body_continues_the_prompt() -> None:
    assert readings("    return x\n", PROMPT, "f")[0] == PROMPT + "    return x\n"
    assert PROMPT + "    return x\n" in readings("return x\n", PROMPT, "f")
    assert PROMPT + "    y = x\n    return y\n" in readings("y = x\nreturn y\n", PROMPT, "f")


def test_a_whole_function_gets_what_stands_before_it_in_the_prompt() -> None:
    assert readings("def f(x):\n    return x\n", PROMPT, "f") == (f"{BEFORE}\ndef f(x):\n    return x\n",)
    assert readings("def f(x):\n    return x\n", "", "f") == ("\ndef f(x):\n    return x\n",)


def test_what_follows_the_function_is_cut_in_later_readings() -> None:
    answer = "def f(x):\n    return x\n\nprint(f(1))\nThat is all.\n"
    assert readings(answer, "", "f") == (
        f"\n{answer}",
        "\ndef f(x):\n    return x\n\nprint(f(1))\n",
        "\ndef f(x):\n    return x\n\n",
    )


def test_the_last_block_that_defines_the_function_comes_first() -> None:
    answer = "```python\ndef f(x):\n    return 1\n```\n```python\ndef f(x):\n    return 2\n```\n```python\nprint(f(3), 'longer than both others')\n```\n"
    found = readings(answer, "", "f")
    assert found[0] == "\ndef f(x):\n    return 2\n"
    assert found[1] == "\ndef f(x):\n    return 1\n"


def test_a_fence_counts_only_where_chat_is_expected() -> None:
    answer = "```python\ndef f(x):\n    return x\n```"
    assert readings(answer, "", "f", "chat") == ("\ndef f(x):\n    return x\n",)
    assert readings(answer, "", "f", "completion")[0] == f"\n{answer}"


@pytest.mark.parametrize(
    ("code", "holds"),
    [
        ("def f(x): pass", True),
        ("async  def f(x): pass", True),
        ("import a\ndef f (x): pass", True),
        ("    def f(x): pass", False),
        ("def ff(x): pass", False),
        ("# def f(x)", False),
        ("undef f(x)", False),
    ],
)
def test_what_defines_a_function(code: str, holds: bool) -> None:
    assert defines(code, "f") is holds


def test_the_code_of_a_prompt() -> None:
    assert code_of_prompt(PROMPT, "f") == PROMPT
    assert code_of_prompt(f"Complete:\n```python\n{PROMPT}```\nThanks", "f") == PROMPT
    assert code_of_prompt("Write a function f that gives x back.", "f") == ""
    assert code_of_prompt("```python\nprint(1)\n```", "f") == ""


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="`~ \ndefx():.#\r\t\ud800é", max_size=200), st.sampled_from(["auto", "chat", "completion"]))
def test_any_text_has_readings(answer: str, where: str) -> None:
    found = readings(answer, PROMPT, "f", where)  # type: ignore[arg-type]  # one of the three
    assert found
    assert len(set(found)) == len(found) <= 27


def test_long_answers_take_time_in_proportion() -> None:
    for answer in ("```\n" * 50_000, "def f(x):\n" * 20_000, "`" * 400_000, " \t" * 200_000, "async " * 50_000):
        assert readings(answer, PROMPT, "f")
