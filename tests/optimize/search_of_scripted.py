"""A small search over scripted models, put together by hand."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from multigraft.budget.amount import NO_LIMITS, Limits
from multigraft.budget.cost import ModelCost
from multigraft.budget.flops import ModelShape
from multigraft.budget.ledger import Ledger
from multigraft.engine.halt import Halt
from multigraft.engine.purchases import Purchases
from multigraft.engine.scoring import Scoring
from multigraft.engine.step import Contestant
from multigraft.graphs.cost import KnownCosts, Workload
from multigraft.models.scripted import ScriptedModel
from multigraft.optimize.problem import Split
from multigraft.optimize.real.drive import Optimiser, RealModels
from multigraft.optimize.real.evaluator import Evaluator
from multigraft.optimize.real.grading import Grading, Scorers
from multigraft.optimize.real.once import Once
from multigraft.optimize.real.store import Store
from multigraft.prompting.library import load_templates
from multigraft.rewards.combine import alone
from multigraft.types import Candidate, Message, Prompt, Reward, Sampling, Score
from multigraft.wire.retry import RetryPolicy

SMALL, LARGE = ModelShape(10**9, 16, 2048), ModelShape(3 * 10**9, 28, 3072)
SAMPLING = Sampling(max_tokens=64)
SPLITS: Mapping[Split, str] = {"train": "t", "validation": "v", "test": "x"}


class ByLength:
    """Gives short answers a high score, and reads the first word as the answer."""

    name, version, max_batch = "by_length", "1", 1

    def __init__(self, score: Callable[[str], Score] | None = None) -> None:
        self._score = score
        self.scored = 0

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        self.scored += len(candidates)
        return [self._of(candidate.completion.text) for candidate in candidates]

    def _of(self, text: str) -> Score:
        if self._score is not None:
            return self._score(text)
        return Score(1.0 / (1 + len(text.split())), answer=text.split(maxsplit=1)[0])


def prompts(prefix: str, count: int) -> tuple[Prompt, ...]:
    return tuple(Prompt(f"{prefix}{number}", (Message("user", f"{prefix} question {number}"),)) for number in range(count))


@dataclass
class Made:
    """Everything of it."""

    store: Store
    once: Once
    evaluator: Evaluator
    real: RealModels
    models: dict[str, ScriptedModel]

    @property
    def asked(self) -> int:
        return sum(model.samples_asked for model in self.models.values())


@asynccontextmanager
async def made(
    folder: Path,
    *models: ScriptedModel,
    limits: Limits = NO_LIMITS,
    reward: Reward | None = None,
    all_nodes: bool = True,
    optimiser: str | None = None,
    num_questions: int = 4,
    attempts: int = 1,
) -> AsyncIterator[Made]:
    by_name = {model.name: model for model in models or (ScriptedModel(name="m0"), ScriptedModel(name="m1"))}
    store = Store(folder)
    costs = {name: ModelCost(LARGE if name == "m1" else SMALL) for name in by_name}
    halt = Halt(by_name)
    retry = RetryPolicy(max_attempts=attempts, base_s=0.001)
    ledger = Ledger(limits, spent=store.spent())
    purchases = Purchases(models=by_name, costs=costs, ledger=ledger, retry=retry, halt=halt, places=dict.fromkeys(by_name, 8))
    purchases.ledger_apart = Ledger(NO_LIMITS, ledger, store.spent(apart=True))
    once = Once(purchases, store)
    scorer = reward or ByLength()
    grading = Grading(Scorers([Scoring(scorer, RetryPolicy(max_attempts=1), halt)], alone(scorer.name)), once=once)
    evaluator = Evaluator(
        questions={split: prompts(prefix, num_questions) for split, prefix in SPLITS.items()},
        contestants={name: Contestant(SAMPLING) for name in by_name},
        once=once,
        grading=grading,
        templates=load_templates(),
        costs=KnownCosts(costs, Workload(50, 20)),
        seed=0,
        all_nodes=all_nodes,
        drain_s=0.3,
    )
    asking = None if optimiser is None else Optimiser(model=optimiser, contestant=Contestant(SAMPLING, "You choose graphs."), once=once, seed=0)
    try:
        yield Made(store, once, evaluator, RealModels(evaluator, asking), by_name)
    finally:
        store.close()
