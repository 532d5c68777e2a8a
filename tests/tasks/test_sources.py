"""Where items come from: every kind of source is read by its real code path, with nothing fetched."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from multigraft.errors import InputError
from multigraft.tasks.task import Task, load_task

DATA = Path(__file__).parents[1] / "data" / "tasks"
HEAD = """\
title = "t"
description = "d"
licence = "l"
fields.question = ["question"]
fields.subject = ["subject", "config"]
ask.answer = "{{question}}"
read = { form = "text", meaning = "m" }
summary = { metrics = ["mean"] }
"""


def task_of(folder: Path, source: str, options: str = "") -> Task:
    path = folder / "mine.toml"
    path.write_text(f"{HEAD}{options}\n[[source]]\n{source}\n", "utf-8")
    return load_task(path)


def questions(task: Task, cache: Path, **options: str) -> list[str]:
    return [prompt.messages[-1].content for prompt in task.prompts(options=options, cache=cache)]


def dataset(folder: Path) -> None:
    """A folder as a dataset repository has it: two configurations, each with a split."""
    card = ["---", "configs:"]
    for config in ("birds", "fish"):
        (folder / config).mkdir(parents=True)
        pq.write_table(pa.table({"question": [f"{config} 1?", f"{config} 2?"]}), folder / config / "test.parquet")
        card += [f"- config_name: {config}", "  data_files:", "  - split: test", f"    path: {config}/test.parquet"]
    (folder / "README.md").write_text("\n".join([*card, "---", ""]), "utf-8")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_a_dataset_by_configuration(tmp_path: Path, cache: Path) -> None:
    dataset(tmp_path / "data")
    assert questions(task_of(tmp_path, 'dataset = "./data"\nconfig = "fish"'), cache) == ["fish 1?", "fish 2?"]


def test_a_dataset_whose_configurations_are_chosen_by_an_option(tmp_path: Path, cache: Path) -> None:
    dataset(tmp_path / "data")
    options = '[options.kinds]\nmeaning = "kinds"\nmany = true\nfield = "subject"\n'
    task = task_of(tmp_path, 'dataset = "./data"\nconfigs = ["birds", "fish"]\nconfig_option = "kinds"', options)
    assert questions(task, cache) == ["birds 1?", "birds 2?", "fish 1?", "fish 2?"]
    assert questions(task, cache, kinds="fish") == ["fish 1?", "fish 2?"]
    assert {prompt.fields["subject"] for prompt in task.prompts(cache=cache)} == {"birds", "fish"}


def test_a_configuration_read_from_an_option(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "data"
    (folder / "en-de_DE").mkdir(parents=True)
    (folder / "en-de_DE/test.jsonl").write_text('{"question": "Hello?"}\n', "utf-8")
    card = "---\nconfigs:\n- config_name: en-de_DE\n  data_files:\n  - split: test\n    path: en-de_DE/test.jsonl\n---\n"
    (folder / "README.md").write_text(card, "utf-8")
    options = '[options.pair]\nmeaning = "pair"\ndefault = "en-de"\n'
    task = task_of(tmp_path, 'dataset = "./data"\nconfig = { option = "pair", read = "with_locale" }', options)
    assert questions(task, cache) == ["Hello?"]
    with pytest.raises(InputError, match=r"cannot read \./data \(en-fr_FR\): BuilderConfig 'en-fr_FR' not found"):
        questions(task, cache, pair="en-fr")


def test_one_file_of_a_dataset(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "data" / "v2"
    folder.mkdir(parents=True)
    (folder / "question.jsonl").write_text('{"question": "One\\u2028line?"}\n{"question": "Two?"}\n', "utf-8")
    (folder / "list.json").write_text(json.dumps([{"question": "Listed?"}]), "utf-8")
    assert questions(task_of(tmp_path, 'dataset = "./data"\nmember = "v2/question.jsonl"'), cache) == ["One\u2028line?", "Two?"]
    assert questions(task_of(tmp_path, 'dataset = "./data"\nmember = "v2/list.json"\nsplit = "eval"'), cache) == ["Listed?"]
    with pytest.raises(InputError, match=r"a file of a dataset ends in .*; 'v2/question\.txt' does not"):
        questions(task_of(tmp_path, 'dataset = "./data"\nmember = "v2/question.txt"'), cache)


def test_a_dataset_that_is_not_there_says_what_to_do(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read \./none: .*; make it reachable, or give the items as a file of the same fields"):
        questions(task_of(tmp_path, 'dataset = "./none"'), cache)


@pytest.mark.parametrize(
    "surroundings", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_DISABLE_TELEMETRY": "1"}], ids=["offline", "refused"]
)
def test_a_hub_that_cannot_be_reached_is_one_line(tmp_path: Path, surroundings: dict[str, str]) -> None:
    program = (
        "import sys\nfrom multigraft.errors import InputError\nfrom multigraft.tasks.task import load_task\n"
        "try:\n    load_task('alpaca_eval').prompts()\nexcept InputError as error:\n    print(error)\n"
    )
    environment = {**os.environ, "HF_HOME": str(tmp_path), **surroundings}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(
        r"cannot read hf:tatsu-lab/alpaca_eval@2edc6fad8be6: .+; make it reachable, or give the items as a file of the same fields\n", done.stdout
    )


def test_a_dataset_with_code_of_its_own_is_not_run(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "data.py").write_text("import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n", "utf-8")
    with pytest.raises(InputError, match=r"cannot read \./data"):
        questions(task_of(tmp_path, 'dataset = "./data"'), cache)
    assert not (folder / "ran").exists()


def test_a_file_in_a_package(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "quiz_of_mine"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("", "utf-8")
    (package / "items.jsonl").write_text('{"question": "From a package?"}\n', "utf-8")
    monkeypatch.syspath_prepend(str(package.parent))
    assert questions(task_of(tmp_path, 'package = "quiz_of_mine"\nmember = "items.jsonl"'), cache) == ["From a package?"]
    sys.modules.pop("quiz_of_mine")
    with pytest.raises(InputError, match="the package 'quiz_of_yours' is not installed; install it, or give the items as a file"):
        questions(task_of(tmp_path, 'package = "quiz_of_yours"\nmember = "items.jsonl"'), cache)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_file_of_any_format(tmp_path: Path, cache: Path, suffix: str) -> None:
    path = tmp_path / f"items.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table({"question": ["Why?"]}), path)
    else:
        path.write_text({"jsonl": '{"question": "Why?"}\n', "csv": "question\nWhy?\n"}[suffix], "utf-8")
    assert questions(task_of(tmp_path, f'file = "items.{suffix}"'), cache) == ["Why?"]


def test_mmlu_as_a_table_and_as_lines_is_the_same(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (DATA / "mmlu.jsonl").read_text("utf-8").split("\n") if line]
    path = tmp_path / "mmlu.parquet"
    pq.write_table(pa.Table.from_pylist(lines), path)
    assert load_task("mmlu").prompts(path) == load_task("mmlu").prompts(DATA / "mmlu.jsonl")


SEGMENTS = (("Ahoj.", "\u041f\u0440\u0438\u0432\u0456\u0442."), ("Dobr\u00fd den.", "\u0414\u043e\u0431\u0440\u0438\u0434\u0435\u043d\u044c."))


def test_a_test_set_of_sacrebleu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it lies there once it was fetched."""
    from sacrebleu.dataset import DATASETS

    known = DATASETS["wmt22"]
    monkeypatch.setattr(known, "_outdir", str(tmp_path))
    monkeypatch.setattr(known, "_rawdir", str(tmp_path / "raw"))
    xml = tmp_path / "raw" / "wmt22-news-systems-1.1/xml/wmttest2022.cs-uk.all.xml"
    xml.parent.mkdir(parents=True)
    (tmp_path / "raw/wmt22.v1.1.tar.gz").write_text("fetched", "utf-8")
    sides = [
        "".join(f'<seg id="{number}">{segment[side]}</seg>' for number, segment in enumerate(SEGMENTS, start=1)) for side in (0, 1)
    ]  # fmt: skip
    document = f'<src lang="cs"><p>{sides[0]}</p></src><ref lang="uk" translator="A"><p>{sides[1]}</p></ref>'
    xml.write_text(f'<dataset id="x"><doc id="d" origlang="cs">{document}</doc></dataset>', "utf-8")
    prompts = load_task("wmt").prompts(options={"year": "wmt22", "pair": "cs-uk"})
    assert [(prompt.fields["source"], prompt.reference) for prompt in prompts] == list(SEGMENTS)
    assert [prompt.name for prompt in prompts] == ["wmt22/cs-uk/1", "wmt22/cs-uk/2"]
    with pytest.raises(InputError, match=r"sacreBLEU's 'wmt22' has .*en-de.*; not 'en-fr'"):
        load_task("wmt").prompts(options={"year": "wmt22", "pair": "en-fr"})
