"""Real embedded models; the weights are pulled into the user's cache once (SmolLM2-135M 89 MB, Gemma 3 270M 228 MB)."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from multigraft.errors import InputError, WeightsError
from multigraft.models.local.catalogue import LocalWeights, weights_of
from multigraft.models.local.model import LocalModel, local_shape, shape_of_weights
from multigraft.models.local.serving import Serving
from multigraft.models.local.sources import FileSource
from multigraft.types import Completion, Failure, FailureKind, Finish, Message, Model, Request, Sample, Sampling

pytest.importorskip("xllamacpp")
pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def smollm() -> AsyncIterator[LocalModel]:
    # Without prefix reuse, and with one request at a time, the same seed gives the same bits.
    async with LocalModel(weights=weights_of("smollm2-135m"), extra_body={"cache_prompt": False}) as model:
        yield model


def request(text: str, *seeds: int, **sampling: object) -> Request:
    settings: dict[str, object] = {"temperature": 0.8, "max_tokens": 24, **sampling}
    return Request((Message("user", text),), Sampling(**settings), seeds)  # type: ignore[arg-type]  # the settings of one call differ in type


async def one(model: Model, asked: Request) -> Completion:
    [sample] = await model.generate(asked)
    assert isinstance(sample, Completion), sample
    return sample


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def test_it_answers_with_usage_and_log_probabilities(smollm: LocalModel) -> None:
    answer = await one(smollm, request("Name the capital of France.", 1, temperature=0.0, logprobs=True, top_logprobs=4))
    assert "Paris" in answer.text
    assert answer.finish is Finish.STOP
    assert 4 <= answer.usage.completion_tokens <= 24
    # The question is 7 tokens; the rest is the chat template with its own system message.
    assert 30 <= answer.usage.prompt_tokens <= 45
    assert not answer.usage.estimated
    assert answer.mean_logprob is not None
    assert -1.5 < answer.mean_logprob < 0.0
    assert len(answer.first_token) == 4
    assert [entry.logprob for entry in answer.first_token] == sorted((entry.logprob for entry in answer.first_token), reverse=True)


async def test_the_same_seed_gives_the_same_answer_and_another_seed_another(smollm: LocalModel) -> None:
    texts = [(await one(smollm, request("Tell me something surprising.", seed, temperature=1.0))).text for seed in (7, 7, 8)]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


async def test_stop_words_end_an_answer_and_are_not_part_of_it(smollm: LocalModel) -> None:
    full = await one(smollm, request("Tell me a story about a fox.", 1, temperature=0.0))
    word = full.text.split()[3]
    cut = await one(smollm, request("Tell me a story about a fox.", 1, temperature=0.0, stop=(word,)))
    assert cut.finish is Finish.STOP
    assert word not in cut.text
    assert full.text.startswith(cut.text)


async def test_the_token_limit_holds_and_is_told(smollm: LocalModel) -> None:
    answer = await one(smollm, request("Tell me a long story.", 1, max_tokens=5))
    assert answer.usage.completion_tokens == 5
    assert answer.finish is Finish.LENGTH


async def test_a_prompt_beyond_the_context_is_a_failure_of_that_kind(smollm: LocalModel) -> None:
    [sample] = await smollm.generate(request("word " * 5_000, 1))
    assert isinstance(sample, Failure)
    assert sample.kind is FailureKind.CONTEXT
    assert not sample.retryable


async def test_four_at_once_cost_less_than_four_in_turn(smollm: LocalModel) -> None:
    pid = smollm.pid
    assert pid is not None
    asked = request("Tell me a long story about a fox.", 1, max_tokens=64)
    before_s = cpu_s(pid)
    for seed in range(4):
        await one(smollm, Request(asked.messages, asked.sampling, (seed,)))
    in_turn_s, before_s = cpu_s(pid) - before_s, cpu_s(pid)
    samples = await smollm.generate(Request(asked.messages, asked.sampling, (0, 1, 2, 3)))
    assert all(isinstance(sample, Completion) for sample in samples)
    # Measured: 0.8 to 0.9 of the processor time; a quarter more than equal leaves room for what else the machine does.
    assert cpu_s(pid) - before_s < 1.25 * in_turn_s


async def test_a_cancelled_call_stops_computing(smollm: LocalModel) -> None:
    pid = smollm.pid
    assert pid is not None
    call = asyncio.create_task(smollm.generate(request("Write the numbers from 1 to 1000.", 1, max_tokens=2_000)))
    await asyncio.sleep(1.0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(1.0)
    before_s = cpu_s(pid)
    await asyncio.sleep(1.0)
    assert cpu_s(pid) - before_s < 0.3


async def test_a_base_model_answers_through_the_few_shot_template() -> None:
    async with LocalModel(weights=weights_of("gemma3-270m"), name="gemma") as model:
        assert model.name == "gemma"
        assert model.prompt_overhead_tokens > 100
        samples: list[Sample] = list(await model.generate(request("What is the capital of France?", *range(4), temperature=0.2, logprobs=True)))
    answers = [sample for sample in samples if isinstance(sample, Completion)]
    assert len(answers) >= 3
    assert sum("Paris" in answer.text for answer in answers) >= 2
    # The template's next question is no part of an answer.
    assert not any("Question" in answer.text for answer in answers)
    assert all(answer.mean_logprob is not None for answer in answers)


async def test_the_server_starts_at_the_first_call_and_its_death_is_told() -> None:
    model = LocalModel(weights=weights_of("smollm2-135m"))
    before_use = model.pid
    assert before_use is None
    await one(model, request("Hello!", 1))
    pid = model.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await asyncio.sleep(0.3)
    [sample] = await model.generate(request("Hello!", 1))
    assert isinstance(sample, Failure)
    assert sample.kind is FailureKind.UNAVAILABLE
    assert not sample.retryable
    assert "it was killed" in sample.message
    await model.close()
    # Closed, it starts anew.
    await one(model, request("Hello!", 1))
    await model.close()


async def test_a_file_that_is_cut_short_is_refused_with_what_the_loader_said(tmp_path: Path, smollm: LocalModel) -> None:
    whole = await asyncio.to_thread(local_weights_path)
    path = tmp_path / "cut.gguf"
    with whole.open("rb") as stream:
        path.write_bytes(stream.read(20_000_000))
    with pytest.raises(
        WeightsError, match=r"cut\.gguf cannot be served: RuntimeError: Failed to init server.*\. Its log ends with:\n[\s\S]*failed to load model"
    ):
        await LocalModel(weights=LocalWeights(name="cut", source=FileSource(path=path))).start()


async def test_more_context_than_trained_for_is_refused(smollm: LocalModel) -> None:
    model = LocalModel(weights=weights_of("smollm2-135m"), serving=Serving(context_tokens=10_000))
    with pytest.raises(InputError, match="context_tokens is 10000, but the model was trained for 8192"):
        await model.start()


def local_weights_path() -> Path:
    from multigraft.models.local.weights import cached

    path = cached(weights_of("smollm2-135m").source, name="smollm2-135m")
    assert path is not None
    return path


async def test_shapes_are_read_from_the_files(smollm: LocalModel) -> None:
    shape = local_shape(local_weights_path())
    assert shape is not None
    # 30 layers of 576 x (2 x 576 + 2 x 192) attention and 3 x 576 x 1536 feed-forward weights.
    assert (shape.parameters, shape.layers, shape.width) == (30 * (576 * 1536 + 3 * 576 * 1536), 30, 576)
    gemma = shape_of_weights(weights_of("gemma3-270m"))
    assert gemma is not None
    assert gemma.architecture is not None
    assert gemma.architecture.vocabulary == 262_144
    assert shape_of_weights(weights_of({"source": "file", "path": "/nowhere.gguf"})) is None


PARENT = """
import asyncio
from multigraft.models.local.catalogue import weights_of
from multigraft.models.local.model import LocalModel

async def main():
    async with LocalModel(weights=weights_of("smollm2-135m")) as model:
        print(model.pid, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_llama_cpp_does_not_outlive_a_killed_parent(smollm: LocalModel) -> None:
    assert await asyncio.to_thread(killed_parent_leaves_nothing)


def killed_parent_leaves_nothing() -> bool:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        # Ctrl-C is for the parent, whatever llama.cpp would make of it.
        os.kill(child, signal.SIGINT)
        time.sleep(0.2)
        assert not gone(child)
        parent.kill()
    end = time.monotonic() + 10
    while not gone(child) and time.monotonic() < end:
        time.sleep(0.05)
    return gone(child)


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
