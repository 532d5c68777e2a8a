"""COMET where it really runs: in a second virtual environment, behind `multigraft reward serve`, scoring for a process that has none of its libraries."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.rewards_comet.environment import ROOT, comet_python, environment
from tests.server.launch import Running, served

from multigraft.rewards.remote import Remote
from multigraft.testing.reward_suite import candidate
from multigraft.types import Candidate, FailureKind, Json, Message
from multigraft.wire.endpoints import Endpoint, Endpoints

pytestmark = pytest.mark.slow
TOLERANCE = 5e-6
"""Of float32, in batches padded otherwise; scores of different samples differ by a thousand times more."""


class Tiny(NamedTuple):
    """Tiny checkpoints of every class, and what COMET's own `predict` says of the samples."""

    python: Path
    folder: Path
    samples: Sequence[Mapping[str, str]]
    predicted: Mapping[str, Sequence[float]]


def run(python: Path, *arguments: object) -> Any:
    done = subprocess.run([python, *map(str, arguments)], env=environment(), cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    python = comet_python()
    folder = tmp_path_factory.mktemp("comet")
    made = run(python, "tests/rewards_comet/tiny_comet.py", folder)
    for values in made["scores"].values():
        assert min(abs(one - other) for index, one in enumerate(values) for other in values[:index]) > 10 * TOLERANCE
    return Tiny(python, folder, made["samples"], made["scores"])


@pytest.fixture(scope="module")
def inside(tiny: Tiny) -> Any:
    return run(tiny.python, "tests/rewards_comet/inside_comet.py", tiny.folder, json.dumps(tiny.samples))


def command(tiny: Tiny, name: str, *more: str) -> list[str]:
    script = tiny.python.with_name("multigraft")
    return [str(script), "reward", "serve", "--reward", f"comet:file:{tiny.folder / name / 'checkpoints' / 'model.ckpt'}", "--port", "0", *more]


@pytest.fixture(scope="module")
def kiwi(tiny: Tiny) -> Iterator[Running]:
    with served(command(tiny, "kiwi"), environment(), start_s=180.0) as running:
        yield running


@pytest.fixture(scope="module")
def xcomet(tiny: Tiny) -> Iterator[Running]:
    with served(command(tiny, "xcomet", "--max-batch", "2"), environment(), start_s=180.0) as running:
        yield running


def asked(sample: Mapping[str, str], number: int) -> Candidate:
    one = candidate(sample["mt"], ordinal=number, reference=sample["ref"])
    fields: dict[str, Json] = {"source": sample["src"]}
    return replace(one, prompt=replace(one.prompt, messages=(Message("user", f"Translate into English: {sample['src']}"),), fields=fields))


def close(ones: Sequence[float | None], others: Sequence[float]) -> bool:
    return len(ones) == len(others) and all(one is not None and abs(one - other) < TOLERANCE for one, other in zip(ones, others, strict=True))


def test_its_libraries_are_those_it_pins(tiny: Tiny) -> None:
    code = "import json, importlib.metadata as m; print(json.dumps({n: m.version(n) for n in ('numpy', 'transformers', 'unbabel-comet')}))"
    found = run(tiny.python, "-c", code)
    assert found["unbabel-comet"] == "2.2.7"
    assert int(found["numpy"].split(".")[0]) < 2
    assert int(found["transformers"].split(".")[0]) < 5


@pytest.mark.parametrize("name", ["kiwi", "unified", "xcomet", "xcomet without", "referenceless", "comet22"])
def test_every_class_scores_as_its_own_predict(tiny: Tiny, inside: Any, name: str) -> None:
    scores = inside["scores"][name]
    assert close([score["value"] for score in scores], tiny.predicted[name])
    assert not any(score["truncated"] for score in scores)
    if " " not in name:
        assert close(inside["alone"][name], tiny.predicted[name]), "a score does not depend on its batch"


def test_the_parts_of_a_score_are_told(inside: Any) -> None:
    assert inside["scores"]["xcomet"][0]["details"].keys() == {"src_scores", "ref_scores", "unified_scores", "mqm_scores"}
    assert inside["scores"]["kiwi"][0]["details"] == {}


@pytest.mark.parametrize(
    ("name", "first_cut", "first_lost"), [("kiwi", 81, 82), ("unified", 68, 82), ("xcomet", 68, 82), ("referenceless", 91, 91), ("comet22", 91, 91)]
)
def test_what_the_encoder_cuts_is_marked(inside: Any, name: str, first_cut: int, first_lost: int) -> None:
    """A window of 96 tokens; of those that read three parts as one text, the reading with the two parts alone sees more."""
    for length, makes_a_difference, truncated in inside["seen"][name]:
        assert truncated is (length >= first_cut), (length, truncated)
        assert makes_a_difference is (length < first_lost), (length, makes_a_difference)


def test_a_prompt_without_the_reference_is_not_scored(inside: Any) -> None:
    assert {score["reason"] for score in inside["bare"].values()} == {"unscorable"}


def test_nothing_in_a_checkpoint_is_run(tiny: Tiny, inside: Any) -> None:
    hostile = inside["hostile"]
    for place in ("state_dict", "hyper_parameters", "callbacks"):
        assert "holds 'posix.mkdir', which is neither a tensor nor a plain value, and was not loaded" in hostile[f"planted-{place}"]
    assert close([hostile["planted-yaml"]["value"]], tiny.predicted["kiwi"][:1])
    assert inside["ran"] is False
    done = subprocess.run(command(tiny, "planted-state_dict"), env=environment(), capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "such a file may run code" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tiny.folder / "it-ran").exists()


def test_a_checkpoint_that_is_not_whole_is_refused(inside: Any) -> None:
    assert "lacks 6 weights of its model, such as 'estimator." in inside["hostile"]["lacking"]
    assert inside["hostile"]["absent"].startswith("there is no COMET checkpoint at")
    assert inside["hostile"]["not-a-number"]["reason"] == "invalid_score"


async def test_it_scores_over_http_as_by_itself(tiny: Tiny, kiwi: Running) -> None:
    candidates = [asked(sample, number) for number, sample in enumerate(tiny.samples)]
    async with Endpoints([Endpoint(url=kiwi.url)], name="comet") as opened:
        scores = await Remote(opened, shape="multigraft", model=f"comet@{kiwi.said['version']}").score(candidates)
        assert close([score.value for score in scores], tiny.predicted["kiwi"])
        (long,) = await Remote(opened, shape="multigraft", model="comet").score([asked({"src": "x" * 95, "mt": "y" * 95, "ref": ""}, 0)])
        assert (long.value is not None, long.truncated) == (True, True)
        assert long.message == "COMET saw only the beginning of the translation and the source"
    assert kiwi.ask("/health").status == 200
    assert not [line for line in kiwi.errors if "frozen" in line or "GPU" in line or "litlogger" in line]


async def test_pairs_of_source_and_translation_are_enough_for_kiwi(tiny: Tiny, kiwi: Running) -> None:
    body = {"text_1": [sample["src"] for sample in tiny.samples], "text_2": [sample["mt"] for sample in tiny.samples]}
    assert close([item["score"] for item in kiwi.ask("/score", body).body["data"]], tiny.predicted["kiwi"])
    long = kiwi.ask("/score", {"text_1": "x", "text_2": "y" * 100}).body["data"][0]
    assert (long["score"], long["reason"]) == (None, "partly_scored")


async def test_references_get_across(tiny: Tiny, xcomet: Running) -> None:
    candidates = [asked(sample, number) for number, sample in enumerate(tiny.samples)]
    async with Endpoints([Endpoint(url=xcomet.url)], name="comet") as opened:
        remote = Remote(opened, shape="multigraft", model="comet")
        assert close([score.value for score in await remote.score(candidates)], tiny.predicted["xcomet"])
        bare = replace(candidates[0], prompt=replace(candidates[0].prompt, reference=None))
        (score,) = await remote.score([bare])
        assert score.reason is FailureKind.UNSCORABLE


@pytest.mark.real
def test_a_run_over_an_embedded_model_is_guided_by_comet(kiwi: Running, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        f"""
[sampling]
max_tokens = 24
[[models]]
name = "smollm2-135m"
[reward]
allow_truncated = true
[[reward.parts]]
kind = "remote"
name = "comet"
shape = "multigraft"
endpoints = [{{ url = "{kiwi.url}" }}]
""",
        "utf-8",
    )
    items = ROOT / "tests" / "data" / "tasks" / "wmt.jsonl"
    command = [sys.executable, "-m", "multigraft", "synth", str(items), "--task", "wmt", "-c", str(tmp_path / "run.toml"), "--limit", "2", "-n", "4"]
    done = subprocess.run([*command, "-o", str(tmp_path / "run"), "--json", "-q"], capture_output=True, text=True, timeout=600, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    totals = json.loads(done.stdout)
    assert totals["scorers"]["comet"]["scored"] == 8
    assert totals["scorers"]["sacrebleu"]["scored"] == 8  # the task's grader, which the search did not see
