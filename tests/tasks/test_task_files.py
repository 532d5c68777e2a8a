"""Task files of a user: what they can say, and how a mistake in one is named."""

from pathlib import Path

import pytest

from multigraft.errors import InputError, UnknownNameError
from multigraft.tasks.task import Task, load_task
from multigraft.types import Message

GOOD = """\
title = "Capitals"
description = "Capitals of countries."
licence = "CC0"

[[source]]
file = "items.csv"

[options.continent]
meaning = "only these"
many = true
field = "continent"

[fields]
question = ["country"]
reference = ["capital"]
continent = ["continent"]

[ask]
system = "You know geography."
answer = "What is the capital of {{question}}?"

[[ask.examples]]
user = "What is the capital of France?"
assistant = "Paris"

[read]
form = "text"
meaning = "the whole answer"

[[grade]]
kind = "rules"

[summary]
metrics = ["accuracy"]
by = ["continent"]
"""


def write(folder: Path, text: str = GOOD, items: str = "country,capital,continent\nPeru,Lima,America\nKenya,Nairobi,Africa\n") -> Path:
    (folder / "items.csv").write_text(items, "utf-8")
    path = folder / "capitals.toml"
    path.write_text(text, "utf-8")
    return path


def test_a_task_of_ones_own(tmp_path: Path) -> None:
    task = load_task(write(tmp_path))
    assert (task.name, task.grade, task.needs_the_hub) == ("capitals", ({"kind": "rules"},), False)
    peru, kenya = task.prompts()
    assert peru.messages == (
        Message("system", "You know geography."),
        Message("user", "What is the capital of France?"),
        Message("assistant", "Paris"),
        Message("user", "What is the capital of Peru?"),
    )
    assert (peru.reference, peru.fields) == ("Lima", {"question": "Peru", "continent": "America"})
    assert task.prompts(options={"continent": "Africa"}) == [kenya]
    assert task.prompts(limit=1) == [peru]
    assert load_task(str(tmp_path / "capitals.toml")).prompts() == [peru, kenya]


def test_what_a_model_or_an_item_says_is_no_template(tmp_path: Path) -> None:
    (prompt,) = load_task(write(tmp_path, items="country,capital\n{{reference}} {0} \\1 $x,Lima\n")).prompts()
    assert prompt.messages[-1].content == "What is the capital of {{reference}} {0} \\1 $x?"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('licence = "CC0"', 'license = "CC0"', None, "field 'licence': Field required"),
        ('form = "text"', 'form = "txt"', 27, "field 'read.form': Input should be 'text', 'number'"),
        ("many = true", "many = 1", 10, "field 'options.continent.many': Input should be a valid boolean, not 1"),
        ("{{question}}?", "{{country}}?", None, "'country' is no field of this task; [fields] has question, reference, continent"),
        (
            'file = "items.csv"',
            'file = "items.csv"\ndataset = "a/b"',
            5,
            "field 'source.0': needs exactly one of dataset, file, package, test_set and generator",
        ),
        ('file = "items.csv"', 'dataset = "owner/name"', 5, "field 'source.0': a dataset of the hub needs revision"),
        (
            'question = ["country"]',
            'question = [{ column = "country", read = "upper" }]',
            14,
            "unknown way to read a value 'upper'; known: after_hashes, boxed",
        ),
        ('question = ["country"]', "question = [{ read = 3 }]", 14, "field 'fields.question.0.read': Input should be a valid string"),
        ('question = ["country"]', 'question = [{ option = "land" }]', None, "'land' is no option of this task; [options] has continent"),
        ('metrics = ["accuracy"]', 'metrics = ["acuracy"]', 34, "field 'summary.metrics.0': Input should be 'mean', 'accuracy'"),
        ('kind = "rules"', 'name = "x"', 30, "field 'grade.0.kind': Field required"),
        ('system = "You', 'refine = "Better!"\nsystem = "You', 18, "the template 'refine' lacks {{prompt}}, {{response}}"),
        ('system = "You', 'family = "poetry"\nsystem = "You', 18, "unknown family of templates 'poetry'; known: default, translation"),
        ("[summary]", "[summary", None, "Expected ']'"),
    ],
)
def test_a_mistake_is_named_with_file_line_and_field(tmp_path: Path, old: str, new: str, line: int | None, message: str) -> None:
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_task(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert caught.value.line == line


def test_a_mistake_in_an_item_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"items\.csv:3: field 'question': is missing; it comes from 'country' \(the row has: capital\)"):
        load_task(write(tmp_path, items="country,capital\nPeru,Lima\n,Nairobi\n")).prompts()
    with pytest.raises(InputError, match=r"items\.csv:2: field 'question': is empty"):
        load_task(write(tmp_path, items='country,capital\n" ",Lima\n')).prompts()
    with pytest.raises(InputError, match=r"items\.csv: no item in it that fits the options \{'continent': \('Asia',\)\}"):
        load_task(write(tmp_path)).prompts(options={"continent": "Asia"})
    with pytest.raises(InputError, match=r"items\.csv:2: field 'continent': the option chooses by 'continent', which this item does not have"):
        load_task(write(tmp_path, items="country,capital\nPeru,Lima\n")).prompts(options={"continent": "Asia"})
    with pytest.raises(InputError, match="limit must be at least 1, not 0"):
        load_task(write(tmp_path)).prompts(limit=0)


def test_choices_are_lettered(tmp_path: Path) -> None:
    text = GOOD.replace('question = ["country"]', 'question = ["country"]\nchoices = [{ column = "choices", read = "json_text" }]').replace(
        "{{question}}?", "{{choices}}"
    )

    def asked(choices: str) -> str:
        (tmp_path / "items.jsonl").write_text(f'{{"country": "Peru", "choices": {choices}}}\n', "utf-8")
        return load_task(write(tmp_path, text)).prompts(tmp_path / "items.jsonl")[0].messages[-1].content

    assert asked('["Lima", 7, "Quito"]') == "What is the capital of A. Lima\nB. 7\nC. Quito"
    assert asked('"[\\"Lima\\"]"') == "What is the capital of A. Lima"
    with pytest.raises(InputError, match="must hold 1 to 26 choices, not 27"):
        asked(str(list(range(27))))


def test_names_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown task 'gsm8'\. Did you mean 'gsm8k'\?"):
        load_task("gsm8")
    with pytest.raises(InputError, match="No such file or directory"):
        load_task(tmp_path / "none.toml")
    with pytest.raises(InputError, match="the task 'prompts' has no items of its own; give them as a file"):
        load_task("prompts").prompts()


def test_no_source_fits_the_options(tmp_path: Path) -> None:
    text = GOOD.replace('file = "items.csv"', 'file = "items.csv"\nwhen = { continent = ["Africa"] }')
    task: Task = load_task(write(tmp_path, text))
    assert len(task.prompts(options={"continent": "Africa"})) == 1
    with pytest.raises(InputError, match="no source of the task 'capitals' fits the options; there are sources for continent=Africa"):
        task.prompts()
