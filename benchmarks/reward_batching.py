"""A classifier in this process against the loop people write: one text, one forward pass. `python -m benchmarks.reward_batching`.

The same model and the same texts; both sides render the chat template and tokenize. The loop runs with as many threads of torch as suit it best. The sides take
turns on parts of the texts, so that whatever else the machine does falls on both. The bar: the batched side needs a third of the loop's time or less.
"""

import argparse
import asyncio
import os
import random
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from tests.rewards_hf.tiny_models import classifier
from tests.rewards_hf.tiny_tokenizers import CORPUS
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils import logging

from multigraft.rewards.hf.classifier import Classifier
from multigraft.types import Call, Candidate, Completion, Finish, Message, Prompt, Role, Usage

BAR = 3.0
PARTS = 4


def texts(number: int) -> list[Candidate]:
    """Responses of mixed lengths, most of them short: 3 to 150 words, the median at 20."""
    draws = random.Random(7)
    words = " ".join(CORPUS).split()
    found = []
    for ordinal in range(number):
        length = min(150, max(3, round(draws.lognormvariate(3.0, 0.9))))
        text = " ".join(draws.choice(words) for _ in range(length))
        prompt = Prompt(f"prompt-{ordinal}", (Message("user", "Say something about this."),))
        found.append(Candidate(prompt, Call(0, "model", (), Role.ANSWER, 0), Completion(text, Finish.STOP, Usage())))
    return found


def one_by_one(folder: Path) -> Callable[[Sequence[Candidate]], list[float]]:
    """Load the model as its card would have it."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()

    def scores(candidates: Sequence[Candidate]) -> list[float]:
        found = []
        for candidate in candidates:
            turns = [{"role": "user", "content": candidate.prompt.messages[0].content}, {"role": "assistant", "content": candidate.completion.text}]
            ids = tokenizer(tokenizer.apply_chat_template(turns, tokenize=False), add_special_tokens=False, return_tensors="pt")["input_ids"]
            with torch.inference_mode():
                found.append(float(model(ids).logits[0, 0]))
        return found

    return scores


def main() -> None:
    """Measure, and fail below the bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--batch-tokens", type=int, default=None, help="by default what the scorer takes")
    given = parser.parse_args()
    logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(place)
        sizes = {"hidden_size": given.width, "intermediate_size": 3 * given.width, "num_attention_heads": 4, "num_key_value_heads": 2}
        classifier(folder, layers=given.layers, scale=given.width**-0.5, **sizes)
        asyncio.run(measure(folder, texts(given.texts), given.batch_tokens))


async def measure(folder: Path, candidates: list[Candidate], batch_tokens: int | None) -> None:
    loop = one_by_one(folder)
    reward = Classifier(model=str(folder), recipe="config", batch_tokens=batch_tokens)
    await reward.start()
    await reward.score(candidates[:5])
    threads = best_threads(loop, candidates[:100])
    cpu_s, wall_s = {"loop": 0.0, "batched": 0.0}, {"loop": 0.0, "batched": 0.0}
    worst = 0.0
    for part in range(PARTS):
        chosen = candidates[part::PARTS]
        torch.set_num_threads(threads)
        before = time.process_time(), time.perf_counter()
        expected = loop(chosen)
        between = time.process_time(), time.perf_counter()
        found = await batched(reward, chosen)
        after = time.process_time(), time.perf_counter()
        for number, clock in enumerate((cpu_s, wall_s)):
            clock["loop"] += between[number] - before[number]
            clock["batched"] += after[number] - between[number]
        worst = max(worst, *(abs(one - other) / max(abs(other), 0.1) for one, other in zip(found, expected, strict=True)))
    await reward.close()
    print(f"the loop runs on {threads} threads")
    for name, clock in (("CPU", cpu_s), ("wall", wall_s)):
        print(f"{name:4}: loop {clock['loop']:.1f} s, batched {clock['batched']:.1f} s, ratio {clock['loop'] / clock['batched']:.2f}")
    print(f"{len(candidates)} texts, {len(candidates) / wall_s['batched']:.0f} a second batched; greatest relative difference {worst:.1e}")
    assert worst < 1e-4, "batched scores differ"
    ratio = wall_s["loop"] / wall_s["batched"]
    assert ratio >= BAR, f"{ratio:.2f} times the loop, wanted {BAR}"


def best_threads(loop: Callable[[Sequence[Candidate]], list[float]], candidates: Sequence[Candidate]) -> int:
    """Find out whether the loop is quicker on one thread or on all."""
    found: dict[int, float] = {}
    for threads in (1, os.cpu_count() or 1):
        torch.set_num_threads(threads)
        loop(candidates[:5])
        before = time.perf_counter()
        loop(candidates)
        found[threads] = time.perf_counter() - before
    return min(found, key=found.__getitem__)


async def batched(reward: Classifier, candidates: Sequence[Candidate]) -> list[float]:
    """Score as a run does: calls of `max_batch`, all at the same time."""
    calls = [candidates[start : start + reward.max_batch] for start in range(0, len(candidates), reward.max_batch)]
    found = [score.value for scores in await asyncio.gather(*map(reward.score, calls)) for score in scores]
    return [value for value in found if value is not None]


if __name__ == "__main__":
    main()
