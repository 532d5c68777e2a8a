"""A classifier in this process against the loop people write: one text, one forward pass. `python -m benchmarks.reward_batching`.

The same model and the same texts; both sides render the chat template and tokenize. The loop runs with one thread of torch and, on every fourth text, with
torch's own number, which on a busy machine may be many times slower; the better of the two counts. The sides take turns on parts of the texts, so that
whatever else the machine does falls on all. The bar: the batched side needs a third of the better loop's time or less.
"""

import argparse
import asyncio
import random
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tests.rewards_hf.tiny_models import classifier
from tests.rewards_hf.tiny_tokenizers import CORPUS
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils import logging

from multigraft.rewards.hf.classifier import Classifier
from multigraft.types import Call, Candidate, Completion, Finish, Message, Prompt, Role, Usage

BAR = 3.0
PARTS = 8
OWN_EVERY = 4
SIZES = ((2, 32), (4, 64), (4, 128))
"""Layers and width of each model."""
BARRED = SIZES[:1]
"""The sizes that must reach the bar. In larger ones the arithmetic of the layers prevails, which batches share with the loop."""
THREADS = torch.get_num_threads()


@dataclass(slots=True)
class Clock:
    """What one side took so far."""

    share: float = 1.0
    """Of the texts that it sees; times are scaled to all."""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    cpu_since_s: float = 0.0
    wall_since_s: float = 0.0

    def __enter__(self) -> None:
        self.cpu_since_s, self.wall_since_s = time.process_time(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.cpu_s += (time.process_time() - self.cpu_since_s) / self.share
        self.wall_s += (time.perf_counter() - self.wall_since_s) / self.share


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
    parser.add_argument("--batch-tokens", type=int, default=None, help="by default what the scorer takes")
    given = parser.parse_args()
    logging.disable_progress_bar()
    candidates = texts(given.texts)
    print(f"{given.texts} texts. Times are of the loop, at the better of 1 and {THREADS} threads, over the batched side's; then at torch's own {THREADS}.")
    print("layers x width  loop s  batched s   wall    CPU   wall, own  CPU, own  worst difference")
    ratios = {}
    for layers, width in SIZES:
        with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            folder = Path(place)
            classifier(
                folder,
                layers=layers,
                scale=width**-0.5,
                hidden_size=width,
                intermediate_size=3 * width,
                num_attention_heads=4,
                num_key_value_heads=2,
            )
            default, single, batch, worst = asyncio.run(measure(folder, candidates, given.batch_tokens))
        better = min(default, single, key=lambda clock: clock.wall_s)
        (wall, cpu), (wall_default, cpu_default) = ((loop.wall_s / batch.wall_s, loop.cpu_s / batch.cpu_s) for loop in (better, default))
        ratios[layers, width] = wall
        columns = f"{wall:5.2f}  {cpu:5.2f}  {wall_default:10.2f}  {cpu_default:8.2f}  {worst:16.1e}"
        print(f"{layers:6} x {width:<5}  {better.wall_s:6.2f}  {batch.wall_s:9.2f}  {columns}")
        assert worst < 1e-4, "batched scores differ"
    for size in BARRED:
        assert ratios[size] >= BAR, f"{size[0]} layers of width {size[1]}: {ratios[size]:.2f} times the loop, wanted {BAR}"


async def measure(folder: Path, candidates: list[Candidate], batch_tokens: int | None) -> tuple[Clock, Clock, Clock, float]:
    """Let the sides take turns.

    Returns:
        The clocks of the loop with torch's own number of threads, the loop with one, and the batched side; and the greatest relative difference of a score.
    """
    loop = one_by_one(folder)
    reward = Classifier(model=str(folder), recipe="config", batch_tokens=batch_tokens)
    await reward.start()
    await batched(reward, candidates[:50])
    loop(candidates[:50])
    default, single, batch = Clock(share=1 / OWN_EVERY), Clock(), Clock()
    worst = 0.0
    for part in range(PARTS):
        chosen = candidates[part::PARTS]
        torch.set_num_threads(THREADS)
        with default:
            loop(chosen[::OWN_EVERY])
        torch.set_num_threads(1)
        with single:
            expected = loop(chosen)
        with batch:
            found = await batched(reward, chosen)
        worst = max(worst, *(abs(one - other) / max(abs(other), 0.1) for one, other in zip(found, expected, strict=True)))
    await reward.close()
    return default, single, batch, worst


async def batched(reward: Classifier, candidates: Sequence[Candidate]) -> list[float]:
    """Score as a run does: calls of `max_batch`, all at the same time."""
    calls = [candidates[start : start + reward.max_batch] for start in range(0, len(candidates), reward.max_batch)]
    found = [score.value for scores in await asyncio.gather(*map(reward.score, calls)) for score in scores]
    return [value for value in found if value is not None]


if __name__ == "__main__":
    main()
