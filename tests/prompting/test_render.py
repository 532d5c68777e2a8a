from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.errors import InputError, UnknownNameError
from multigraft.prompting.render import Templates, render
from multigraft.types import Call, Message, Prompt, Role

TEMPLATES = Templates(
    refine="Q: {{prompt}}\nR: {{response}}\nImprove.",
    aggregate="Seen:\n{{responses}}",
    fuse="Q: {{prompt}}\nAll:\n{{responses}}\nCondense.",
    conclude="Q: {{prompt}}\nAll:\n{{responses}}\nConclude.",
)
RESPONSES = {0: "red", 1: "green", 2: "blue"}

HOSTILE = [
    "{{prompt}} {{response}} {{responses}}",
    "{0} {name} {{}} {",
    r"\1 \g<0> \n \\",
    "$prompt ${prompt} $$ %s %(a)d",
    "a\ud800b\udfff",
    "line\r\n\x00\u2028\ttail ",
    "",
]


def prompt_of(*messages: tuple[str, str]) -> Prompt:
    return Prompt("p", tuple(Message(role, content) for role, content in messages))


def call_of(role: Role, *parents: int) -> Call:
    return Call(call_id=9, model="m", parents=parents, role=role, seed=1)


ONE = prompt_of(("user", "Name a colour."))
TURNS = prompt_of(("system", "Be brief."), ("user", "Hello"), ("assistant", "Hi"), ("user", "Name a colour."))


def test_an_answer_is_asked_with_the_prompt_as_it_is() -> None:
    assert render(ONE, call_of(Role.ANSWER), {}, TEMPLATES) == (Message("user", "Name a colour."),)
    assert render(TURNS, call_of(Role.ANSWER), {}, TEMPLATES) == TURNS.messages


def test_refine_replaces_the_last_user_message_and_keeps_earlier_turns() -> None:
    refined = Message("user", "Q: Name a colour.\nR: green\nImprove.")
    assert render(ONE, call_of(Role.REFINE, 1), RESPONSES, TEMPLATES) == (refined,)
    assert render(TURNS, call_of(Role.REFINE, 1), RESPONSES, TEMPLATES) == (*TURNS.messages[:3], refined)


def test_aggregate_numbers_the_parents_in_their_order_in_a_system_message() -> None:
    shown = "Seen:\n1. blue\n\n2. red"
    assert render(ONE, call_of(Role.AGGREGATE, 2, 0), RESPONSES, TEMPLATES) == (Message("system", shown), Message("user", "Name a colour."))


def test_aggregate_joins_a_system_text_that_is_there() -> None:
    merged = Message("system", "Be brief.\n\nSeen:\n1. red")
    assert render(TURNS, call_of(Role.AGGREGATE, 0), RESPONSES, TEMPLATES) == (merged, *TURNS.messages[1:])
    assert render(ONE, call_of(Role.AGGREGATE, 0), RESPONSES, TEMPLATES, system="Be brief.") == (merged, Message("user", "Name a colour."))


def test_fuse_asks_in_a_user_message() -> None:
    fused = Message("user", "Q: Name a colour.\nAll:\n1. red\n\n2. green\nCondense.")
    assert render(TURNS, call_of(Role.FUSE, 0, 1), RESPONSES, TEMPLATES) == (*TURNS.messages[:3], fused)


def test_conclude_replaces_the_last_user_message_and_takes_one_response_as_well() -> None:
    concluded = Message("user", "Q: Name a colour.\nAll:\n1. green\n\n2. red\nConclude.")
    assert render(TURNS, call_of(Role.CONCLUDE, 1, 0), RESPONSES, TEMPLATES) == (*TURNS.messages[:3], concluded)
    assert render(ONE, call_of(Role.CONCLUDE, 2), RESPONSES, TEMPLATES) == (Message("user", "Q: Name a colour.\nAll:\n1. blue\nConclude."),)


@pytest.mark.parametrize(("role", "parents"), [(Role.ANSWER, ()), (Role.REFINE, (0,)), (Role.FUSE, (0, 1)), (Role.CONCLUDE, (0, 1))])
def test_the_models_own_system_text_comes_first_only_where_the_prompt_has_none(role: Role, parents: tuple[int, ...]) -> None:
    call = call_of(role, *parents)
    assert render(ONE, call, RESPONSES, TEMPLATES, system="Own.") == (Message("system", "Own."), *render(ONE, call, RESPONSES, TEMPLATES))
    assert render(TURNS, call, RESPONSES, TEMPLATES, system="Own.") == render(TURNS, call, RESPONSES, TEMPLATES)


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_pass_through_unchanged(text: str) -> None:
    prompt = prompt_of(("user", text))
    responses = {0: text, 1: "plain"}
    assert render(prompt, call_of(Role.REFINE, 0), responses, TEMPLATES)[0].content == "Q: " + text + "\nR: " + text + "\nImprove."
    assert render(prompt, call_of(Role.AGGREGATE, 0, 1), responses, TEMPLATES)[0].content == "Seen:\n1. " + text + "\n\n2. plain"
    assert render(prompt, call_of(Role.FUSE, 1, 0), responses, TEMPLATES)[0].content == "Q: " + text + "\nAll:\n1. plain\n\n2. " + text + "\nCondense."
    assert render(prompt, call_of(Role.CONCLUDE, 1, 0), responses, TEMPLATES)[0].content == "Q: " + text + "\nAll:\n1. plain\n\n2. " + text + "\nConclude."


@settings(deadline=None, max_examples=100)
@given(question=st.text(alphabet="{}$\\promt esn1\ud800"), answer=st.text(alphabet="{}$\\promt esn1\ud800"))
def test_any_text_stands_where_its_placeholder_stood(question: str, answer: str) -> None:
    content = render(prompt_of(("user", question)), call_of(Role.REFINE, 0), {0: answer}, TEMPLATES)[0].content
    assert content == "Q: " + question + "\nR: " + answer + "\nImprove."


@pytest.mark.parametrize(
    ("role", "parents"), [(Role.ANSWER, (0,)), (Role.REFINE, ()), (Role.REFINE, (0, 1)), (Role.AGGREGATE, ()), (Role.FUSE, ()), (Role.CONCLUDE, ())]
)
def test_a_role_with_the_wrong_number_of_parents_is_a_mistake(role: Role, parents: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=f"role {role} and {len(parents)} parents"):
        render(ONE, call_of(role, *parents), RESPONSES, TEMPLATES)


def test_a_parent_without_text_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        render(ONE, call_of(Role.REFINE, 7), RESPONSES, TEMPLATES)


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("refine", "{{prompt}} only", r"'refine' lacks \{\{response\}\}"),
        ("refine", "nothing", r"'refine' lacks \{\{prompt\}\}, \{\{response\}\}"),
        ("aggregate", "{{prompt}}", r"'aggregate' lacks \{\{responses\}\}"),
        ("fuse", "{{responses}}", r"'fuse' lacks \{\{prompt\}\}"),
        ("conclude", "{{prompt}}", r"'conclude' lacks \{\{responses\}\}"),
    ],
)
def test_a_template_without_its_placeholders_is_refused(name: str, text: str, part: str) -> None:
    with pytest.raises(InputError, match=part):
        replace(TEMPLATES, **{name: text})


def test_an_unknown_placeholder_is_named_with_a_guess() -> None:
    with pytest.raises(UnknownNameError, match=r"template 'refine': 'reponse'\. Did you mean 'response'\?"):
        replace(TEMPLATES, refine="{{prompt}} {{ reponse }}")
    with pytest.raises(UnknownNameError, match=r"template 'aggregate': 'response'\. Did you mean 'responses'\?"):
        replace(TEMPLATES, aggregate="{{response}} {{responses}}")


def test_spaces_inside_a_placeholder_and_several_uses_are_fine() -> None:
    templates = replace(TEMPLATES, refine="{{ prompt }}|{{response}}|{{prompt}}", aggregate="{{responses}} for {{ prompt }}")
    assert render(ONE, call_of(Role.REFINE, 0), RESPONSES, templates)[0].content == "Name a colour.|red|Name a colour."
    assert render(ONE, call_of(Role.AGGREGATE, 0), RESPONSES, templates)[0].content == "1. red for Name a colour."
