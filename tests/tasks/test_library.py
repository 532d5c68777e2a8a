"""Every task that comes with the package loads, asks real items in every role, and reads what its items hold."""

import re
from pathlib import Path

import pytest

from multigraft.cli.task_parts import check_parts
from multigraft.prompting.render import render
from multigraft.rewards.rules.ifeval.kinds import check_constraints
from multigraft.tasks.task import library, load_task
from multigraft.types import Call, Prompt, Role

DATA = Path(__file__).parents[1] / "data"
ITEMS: dict[str, list[Path | None]] = {
    "alpaca_eval": [DATA / "tasks/alpaca_eval.jsonl"],
    "arena_hard": [DATA / "tasks/arena_hard_v0_1.jsonl", DATA / "tasks/arena_hard_v2_0.jsonl"],
    "gsm8k": [DATA / "tasks/gsm8k.jsonl"],
    "humaneval": [DATA / "tasks/humaneval.jsonl"],
    "ifeval": [DATA / "ifeval/items.jsonl"],
    "math": [DATA / "tasks/math.jsonl"],
    "mmlu": [DATA / "tasks/mmlu.jsonl"],
    "mmlu_pro": [DATA / "tasks/mmlu_pro.jsonl"],
    "prompts": [DATA.parents[1] / "examples/prompts.jsonl"],
    "puzzles": [None],
    "wmt": [DATA / "tasks/wmt.jsonl"],
}
PAIRS = [(name, path) for name, paths in ITEMS.items() for path in paths]
PARENTS: dict[Role, tuple[int, ...]] = {Role.ANSWER: (), Role.REFINE: (0,), Role.AGGREGATE: (0, 1), Role.FUSE: (1, 0), Role.CONCLUDE: (1, 0)}


def items(task: str, number: int = 0) -> Path:
    path = ITEMS[task][number]
    assert path is not None
    return path


def by_name(task: str, path: Path | None = None, **options: str) -> dict[str, Prompt]:
    found = load_task(task).prompts(path or items(task), options)
    return {prompt.name or prompt.prompt_id: prompt for prompt in found}


def test_the_library_holds_the_tasks() -> None:
    assert library() == tuple(sorted(ITEMS))


@pytest.mark.parametrize("name", sorted(ITEMS))
def test_its_scorers_can_be_made(name: str) -> None:
    task = load_task(name)
    assert check_parts(task, name) == len(task.grade) + len(task.suggested_rewards) + len(task.suggested_judges)
    assert task.grade
    assert task.suggested_judges
    assert task.table.summary.metrics


@pytest.mark.parametrize("name", sorted(ITEMS))
def test_a_source_on_the_hub_is_pinned(name: str) -> None:
    for source in load_task(name).table.source:
        if source.dataset is not None:
            assert re.fullmatch(r"[0-9a-f]{40}", str(source.revision))


@pytest.mark.parametrize(("name", "path"), PAIRS, ids=str)
def test_real_items_are_asked_in_every_role(name: str, path: Path | None) -> None:
    task = load_task(name)
    prompts = task.prompts(path, check_constraints=check_constraints)
    assert len({prompt.prompt_id for prompt in prompts}) == len(prompts)
    templates = task.templates()
    for prompt in prompts:
        for role, parents in PARENTS.items():
            messages = render(prompt, Call(2, "model", parents, role, 0), {0: "first response", 1: "second response"}, templates)
            text = "\n".join(message.content for message in messages)
            question = prompt.messages[-1].content
            assert messages[-1].role == "user"
            assert question in text
            assert ("first response" in text) is (role is not Role.ANSWER)
            assert not re.search(r"\{\{ *(question|choices|source|code|prompt|responses?) *\}\}", text)


def test_gsm8k_reads_the_number_after_the_hashes(tmp_path: Path) -> None:
    prompts = by_name("gsm8k")
    assert len(prompts) == 24
    first = prompts["gsm8k/test/0"]
    assert first.reference == "18"
    assert first.messages[0].content.startswith("Janet\u2019s ducks lay 16 eggs per day.")
    assert first.messages[0].content.endswith('End with a line that holds the final number and nothing else, after "#### ".')
    upstream = tmp_path / "upstream.jsonl"
    upstream.write_text('{"question": "How many?", "answer": "Add: <<999+1=1000>>1000.\\n#### 1,000"}\n', "utf-8")
    (prompt,) = load_task("gsm8k").prompts(upstream)
    assert (prompt.reference, prompt.fields["solution"]) == ("1000", "Add: <<999+1=1000>>1000.\n#### 1,000")


def test_math_reads_boxes_by_counting_braces() -> None:
    prompts = load_task("math").prompts(items("math"))
    assert [prompt.reference for prompt in prompts] == [
        "5", "8\\sqrt{2}", "\\frac{3\\sqrt{2}}{2}", "\\frac{1}{4}", "10,\\!080", "15", "9\\pi", "(-1, 5)", "\\{2, 3\\}", "1", "101101_2", "12", "\\dfrac{1}{2}",
        "\\begin{pmatrix} 0 & -1 \\\\ 1 & 0 \\end{pmatrix}",
    ]  # fmt: skip
    assert prompts[0].messages[0].content.endswith("into \\boxed{}.")
    assert (prompts[3].fields["level"], prompts[3].fields["subject"]) == (2, "Counting & Probability")


def test_math_keeps_levels_and_subjects() -> None:
    task = load_task("math")
    assert {prompt.fields["level"] for prompt in task.prompts(items("math"), {"levels": "4,5"})} == {4, 5}
    assert len(task.prompts(items("math"), {"levels": [1], "subjects": "Geometry"})) == 1


def test_mmlu_letters_its_choices_and_leaves_flagged_items_out() -> None:
    clean, flagged, everything = by_name("mmlu"), by_name("mmlu", redux="flagged"), by_name("mmlu", redux="all")
    assert (len(clean), len(flagged), len(everything)) == (20, 12, 32)
    assert {prompt.fields["error_type"] for prompt in clean.values()} == {"ok"}
    assert len({prompt.fields["error_type"] for prompt in flagged.values()}) == 6
    prompt = next(prompt for prompt in clean.values() if prompt.fields["subject"] == "elementary_mathematics")
    choices = prompt.fields["choices"]
    assert isinstance(choices, list)
    assert prompt.reference == "ABCD"[choices.index("9")]
    assert prompt.messages[0].content.startswith("If x \u2212 3 = 6, what is the value of x?\n\nA. ")
    assert len(by_name("mmlu", subjects="marketing,philosophy")) == 2


def test_mmlu_pro_has_up_to_ten_choices() -> None:
    prompts = by_name("mmlu_pro")
    assert any("\nJ. " in prompt.messages[0].content for prompt in prompts.values())
    assert all(prompt.reference in set("ABCDEFGHIJ") for prompt in prompts.values())
    assert {prompt.fields["category"] for prompt in by_name("mmlu_pro", categories="law,math").values()} == {"law", "math"}


def test_humaneval_shows_the_code_and_keeps_the_tests() -> None:
    for prompt in by_name("humaneval").values():
        assert f"```python\n{prompt.fields['code']}\n```" in prompt.messages[0].content
        assert f"def {prompt.fields['entry_point']}(" in str(prompt.fields["code"])
        assert "def check(candidate)" in str(prompt.fields["test"])
        assert prompt.reference is None


def test_ifeval_keeps_its_constraints_and_asks_as_published() -> None:
    prompts = by_name("ifeval")
    assert len({constraint.kind for prompt in prompts.values() for constraint in prompt.constraints}) == 25
    assert all(prompt.messages[0].content == prompt.fields["question"] for prompt in prompts.values())


def test_translation_names_its_languages_and_leaves_bad_sources_out() -> None:
    task = load_task("wmt")
    prompts = task.prompts(items("wmt"))
    assert len(prompts) == 7
    assert prompts[0].messages[0].content == "Translate from English into German. Reply with the translation only.\n\nThe ferry leaves at half past six."
    assert prompts[0].reference == "Die F\u00e4hre f\u00e4hrt um halb sieben ab."
    assert prompts[0].fields["source"] == "The ferry leaves at half past six."
    assert len(task.prompts(items("wmt"), {"bad_sources": "keep"})) == 8
    assert "from Czech into Ukrainian" in task.prompts(items("wmt"), {"pair": "cs-uk"})[0].messages[0].content
    assert task.templates().refine.startswith("{{prompt}}\n\n---\n\nHere is an earlier translation:")


def test_pairs_in_the_form_of_the_wmt_datasets(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"translation": {"de": "Guten Tag.", "en": "Good day."}}\n', "utf-8")
    (prompt,) = load_task("wmt").prompts(path, {"pair": "de-en"})
    assert (prompt.messages[0].content.splitlines()[-1], prompt.reference) == ("Guten Tag.", "Good day.")


def test_alpaca_eval_keeps_the_baseline() -> None:
    prompts = load_task("alpaca_eval").prompts(items("alpaca_eval"), {"subsets": "vicuna"})
    assert [prompt.fields["baseline"] for prompt in prompts] == ["Buonasera.", "Water rises as vapour, falls as rain and flows back to the sea."]


def test_arena_hard_in_both_forms(tmp_path: Path) -> None:
    prompts = load_task("arena_hard").prompts(items("arena_hard", 1), {"categories": "creative_writing"})
    assert {prompt.fields["category"] for prompt in prompts} == {"creative_writing"}
    path = tmp_path / "v0_1.jsonl"
    path.write_text('{"question_id": "q1", "cluster": "Poems", "turns": [{"content": "Write a poem."}]}\n', "utf-8")
    (prompt,) = load_task("arena_hard").prompts(path, {"version": "v0.1"})
    assert (prompt.name, prompt.messages[0].content, prompt.fields["cluster"]) == ("q1", "Write a poem.", "Poems")


def test_the_users_own_prompts_are_read_as_ever() -> None:
    from multigraft.tasks.prompts import load_prompts

    assert load_task("prompts").prompts(items("prompts")) == load_prompts(items("prompts"))


def test_puzzles_show_a_worked_example_unless_told_not_to() -> None:
    task = load_task("puzzles")
    (shown,) = task.prompts(options={"family": "extract4", "count": 1, "seed": 5})
    assert [message.role for message in shown.messages] == ["user", "assistant", "user"]
    assert shown.messages[1].content == shown.fields["example_answer"]
    (bare,) = task.prompts(options={"family": "extract4", "count": "1", "seed": "5", "shots": "0"})
    assert bare.messages == shown.messages[2:]
    assert bare.name == "extract4/seed5/0"
