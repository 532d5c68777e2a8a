"""What 32 calls in flight cost the tree search in quality, and what they save in time, against one call at a time.

Nothing is called and nobody waits: an event queue stands for the clock. The simulated models, in the unit of the reward:

- A prompt has a difficulty, `normal(offset, prompt_spread)`; each of the K models has a quality on it, `normal(difficulty, model_spread)`.
- A fresh response scores `normal(quality, noise)`.
- A refinement by model m of a response that scored p scores `normal(0.7 p + 0.3 quality(m) + gain * 0.5 ** (d - 1), noise)`, d counting the refinements
  that led to it: it leans on what it was shown, and each further refinement brings half of what the one before brought.
- A call takes `uniform(0.75, 1.25) * 200 ms`.

Settings: rewards like ArmoRM's (near 0.1 to 0.2), raw logits of a spread near 3, the former with refinement that brings nothing, and with refinement that
harms. They were fixed before the search was tuned to calls in flight. Both arms see the same prompts and qualities; the interval is that of paired
differences over prompts (normal, 95%).
"""

import argparse
import heapq
import json
import math
import statistics
from dataclasses import asdict, dataclass

from multigraft.knowledge import REWARD, Knowledge
from multigraft.randomness import Draws
from multigraft.strategies.base import Signal
from multigraft.strategies.toa import Toa
from multigraft.types import Call, Outcome

NUM_MODELS = 4
NUM_RESPONSES = 64
LATENCY_S = 0.2


@dataclass(frozen=True, slots=True)
class Setting:
    """Parameters of the simulated models; see the module's docstring."""

    name: str
    offset: float
    prompt_spread: float
    model_spread: float
    noise: float
    gain: float


SETTINGS = (
    Setting("ArmoRM-like", 0.14, 0.02, 0.008, 0.012, 0.010),
    Setting("logits", 4.0, 3.0, 1.5, 1.5, 1.2),
    Setting("ArmoRM-like, refinement brings nothing", 0.14, 0.02, 0.008, 0.012, 0.0),
    Setting("ArmoRM-like, refinement harms", 0.14, 0.02, 0.008, 0.012, -0.02),
)


@dataclass(frozen=True, slots=True)
class Searched:
    """One prompt, searched."""

    top10: float
    """Mean of the ten highest rewards."""
    wall_s: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One setting: many calls in flight against one."""

    setting: str
    alpha: float
    one_top10: float
    many_top10: float
    difference_percent: float
    half_interval_percent: float
    one_wall_s: float
    many_wall_s: float
    times_sooner: float


def normal(draws: Draws, mean: float, spread: float) -> float:
    """Draw from a normal distribution (Box and Muller 1958)."""
    return mean + spread * math.sqrt(-2.0 * math.log(1.0 - draws.uniform())) * math.cos(2.0 * math.pi * draws.uniform())


class SimulatedPrompt:
    """One prompt's models."""

    def __init__(self, setting: Setting, index: int) -> None:
        self.setting, self.index = setting, index
        draws = Draws("prompt", setting.name, index)
        difficulty = normal(draws, setting.offset, setting.prompt_spread)
        self.qualities = [normal(draws, difficulty, setting.model_spread) for _ in range(NUM_MODELS)]
        self.scored: dict[int, tuple[float, int]] = {}

    def respond(self, call: Call) -> float:
        """Make a response up and return its reward."""
        setting = self.setting
        quality = self.qualities[int(call.model)]
        mean, refinements = quality, 0
        if call.parents:
            shown, refinements = self.scored[call.parents[-1]]
            mean = 0.7 * shown + 0.3 * quality + setting.gain * 0.5**refinements
            refinements += 1
        reward = normal(Draws("response", setting.name, self.index, call.call_id), mean, setting.noise)
        self.scored[call.call_id] = (reward, refinements)
        return reward


def search(strategy: Toa, prompt: SimulatedPrompt, knowledge: Knowledge) -> Searched:
    """Search one prompt against the simulated clock."""
    state = strategy.init(str(prompt.index), [str(model) for model in range(NUM_MODELS)], 0)
    now_s, events = 0.0, list[tuple[float, int, Call]]()
    while True:
        while not isinstance(call := strategy.ask(state), Signal):
            latency_s = LATENCY_S * (0.75 + 0.5 * Draws("latency", prompt.index, call.call_id).uniform())
            heapq.heappush(events, (now_s + latency_s, call.call_id, call))
        if not events:
            break
        now_s, _, ended = heapq.heappop(events)
        reward = prompt.respond(ended)
        knowledge.add(REWARD, reward)
        strategy.tell(state, ended.call_id, Outcome(reward), knowledge)
    rewards = sorted((reward for reward, _ in prompt.scored.values()), reverse=True)
    assert len(rewards) == strategy.num_responses
    return Searched(statistics.fmean(rewards[:10]), now_s)


def campaign(setting: Setting, strategy: Toa, num_prompts: int) -> list[Searched]:
    """Search many prompts, learning the scale of the rewards on the way."""
    knowledge = Knowledge()
    return [search(strategy, SimulatedPrompt(setting, index), knowledge) for index in range(num_prompts)]


def compare(setting: Setting, alpha: float, in_flight: int, num_prompts: int) -> Comparison:
    """Search the same prompts both ways."""
    one = campaign(setting, Toa(num_responses=NUM_RESPONSES, max_parallel=1, alpha=alpha), num_prompts)
    many = campaign(setting, Toa(num_responses=NUM_RESPONSES, max_parallel=in_flight, alpha=alpha), num_prompts)
    mean = statistics.fmean(searched.top10 for searched in one)
    differences = [after.top10 - before.top10 for before, after in zip(one, many, strict=True)]
    one_wall_s, many_wall_s = (statistics.fmean(searched.wall_s for searched in arm) for arm in (one, many))
    return Comparison(
        setting=setting.name,
        alpha=alpha,
        one_top10=mean,
        many_top10=statistics.fmean(searched.top10 for searched in many),
        difference_percent=100.0 * statistics.fmean(differences) / mean,
        half_interval_percent=196.0 * statistics.stdev(differences) / math.sqrt(num_prompts) / mean,
        one_wall_s=one_wall_s,
        many_wall_s=many_wall_s,
        times_sooner=one_wall_s / many_wall_s,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    rows = [compare(setting, alpha, arguments.in_flight, arguments.prompts) for setting in SETTINGS for alpha in (0.01, 0.1)]
    if arguments.json:
        print(json.dumps({"in_flight": arguments.in_flight, "prompts": arguments.prompts, "rows": [asdict(row) for row in rows]}, indent=1))
        return
    print(f"N = {NUM_RESPONSES}, K = {NUM_MODELS}, {arguments.prompts} prompts, {arguments.in_flight} calls in flight against 1, tau = auto")
    print(f"{'setting':40} {'alpha':>5} {'one':>8} {'many':>8} {'difference':>18} {'wall, s':>13} {'sooner':>7}")
    for row in rows:
        difference = f"{row.difference_percent:+.2f}% +- {row.half_interval_percent:.2f}"
        walls = f"{row.one_wall_s:.2f} / {row.many_wall_s:.2f}"
        print(f"{row.setting:40} {row.alpha:5} {row.one_top10:8.4f} {row.many_top10:8.4f} {difference:>18} {walls:>13} {row.times_sooner:6.1f}x")


if __name__ == "__main__":
    main()
