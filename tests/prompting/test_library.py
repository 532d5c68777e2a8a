import pytest

from multigraft.errors import InputError, UnknownNameError
from multigraft.prompting.library import FAMILIES, load_templates
from multigraft.prompting.render import render
from multigraft.types import Call, Message, Prompt, Role

PROMPT = Prompt("p", (Message("user", "Translate: chat"),))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_refines_with_the_prompt_first_and_the_instruction_last(family: str) -> None:
    call = Call(call_id=1, model="m", parents=(0,), role=Role.REFINE, seed=1)
    content = render(PROMPT, call, {0: "the cat"}, load_templates(family))[-1].content
    assert content.startswith("Translate: chat\n")
    assert 0 < content.index("the cat") < content.index("Write a better")
    assert content == content.rstrip()
    # Small models copy what they read and read slowly.
    assert len(content) < 500


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_aggregates_with_the_responses_at_the_end_of_the_system_text(family: str) -> None:
    call = Call(call_id=2, model="m", parents=(0, 1), role=Role.AGGREGATE, seed=1)
    system, user = render(PROMPT, call, {0: "the cat", 1: "a cat"}, load_templates(family))
    assert system.role == "system"
    assert system.content.endswith(":\n\n1. the cat\n\n2. a cat")
    assert user == PROMPT.messages[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_fuses(family: str) -> None:
    call = Call(call_id=2, model="m", parents=(0, 1), role=Role.FUSE, seed=1)
    (message,) = render(PROMPT, call, {0: "the cat", 1: "a cat"}, load_templates(family))
    assert message.content.startswith("Translate: chat\n")
    assert "\n\n1. the cat\n\n2. a cat\n\n" in message.content


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_concludes_with_a_warning_not_to_copy(family: str) -> None:
    call = Call(call_id=2, model="m", parents=(0, 1), role=Role.CONCLUDE, seed=1)
    (message,) = render(PROMPT, call, {0: "the cat", 1: "a cat"}, load_templates(family))
    assert message.content.startswith("Translate: chat\n")
    assert "\n\n1. the cat\n\n2. a cat\n\n" in message.content
    assert "final" in message.content
    assert "do not copy one of them" in message.content.lower()
    assert message.content.endswith(("only.", "others."))


def test_families_differ() -> None:
    assert load_templates().refine != load_templates("translation").refine


def test_a_wording_of_ones_own_replaces_one_template() -> None:
    templates = load_templates(refine="{{prompt}} / {{response}}")
    assert templates.refine == "{{prompt}} / {{response}}"
    assert templates.aggregate == load_templates().aggregate
    with pytest.raises(InputError, match="'fuse' lacks"):
        load_templates(fuse="")


def test_an_unknown_family_is_named_with_a_guess() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown family of templates 'translatoin'\. Did you mean 'translation'\?"):
        load_templates("translatoin")
