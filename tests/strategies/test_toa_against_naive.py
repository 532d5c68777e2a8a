"""`toa` against tree search written down as the paper tells it: walks the whole tree on every step, and has nothing in common with the package's own."""

import math
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from multigraft.randomness import Draws
from multigraft.strategies.dry_run import dry_run
from multigraft.strategies.toa import Toa


@dataclass(eq=False)
class NaiveNode:
    above: "NaiveNode | None"
    model: int | None = None
    fresh: bool = True
    call: int | None = None
    reward: float = 0.0
    visits: int = 1
    backed_up: list[float] = field(default_factory=list)
    children: list["NaiveNode"] = field(default_factory=list)

    @property
    def depth(self) -> int:
        return 0 if self.above is None else self.above.depth + 1


def responses_at(node: NaiveNode, depth: int) -> int:
    here = node.call is not None and node.depth == depth
    return here + sum(responses_at(child, depth) for child in node.children)


def naive_decisions(num_models: int, rewards: list[float], *, tau: float, alpha: float, width: int, topk: int) -> list[tuple[int, int | None]]:
    """Model and parent of every call."""
    root = NaiveNode(None)
    root.children = [NaiveNode(root, model=model) for model in range(num_models)]
    decisions: list[tuple[int, int | None]] = []
    for index, reward in enumerate(rewards):
        arm = descend(root, play=index + 1, alpha=alpha, width=width, topk=topk)
        assert arm.model is not None
        assert arm.above is not None
        decisions.append((arm.model, None if arm.fresh else arm.above.call))
        response = NaiveNode(arm, call=index, reward=reward)
        response.children = [NaiveNode(response, model=model, fresh=False) for model in range(num_models)]
        arm.children.append(response)
        node: NaiveNode | None = arm
        while node is not None:
            node.visits += 1
            node.backed_up.append(1.0 / (1.0 + math.exp(-reward / tau)))
            node = node.above
    return decisions


def descend(root: NaiveNode, *, play: int, alpha: float, width: int, topk: int) -> NaiveNode:
    def bound(node: NaiveNode) -> float:
        if not node.backed_up:
            return math.inf
        return sum(node.backed_up) / len(node.backed_up) + alpha * math.sqrt(2.0 * math.log(play) / node.visits)

    node = root
    while True:
        if node.call is not None and node.visits == 1:
            for source in root.children:
                node.children.append(NaiveNode(node, model=source.model, visits=source.visits, backed_up=list(source.backed_up)))
        if node.model is None:
            node = max(node.children, key=bound)
            continue
        assert node.above is not None
        is_wide = responses_at(root, node.depth + 1) >= width
        best = max((child.reward for child in node.children), default=-math.inf)
        is_better = bool(node.children) and (node.above is root or best > node.above.reward)
        if not (is_wide and is_better):
            return node
        node = max(sorted(node.children, key=lambda child: child.reward)[-topk:], key=bound)


@settings(deadline=None, max_examples=150)
@given(
    num_models=st.integers(1, 5),
    num_responses=st.integers(1, 60),
    tau=st.sampled_from([0.1, 0.5, 1.0]),
    alpha=st.sampled_from([0.0, 0.01, 0.3, 2.0]),
    width=st.integers(1, 12),
    topk=st.integers(1, 4),
    luck=st.integers(0, 2**32),
    has_ties=st.booleans(),
)
def test_every_decision_is_that_of_the_naive_search(
    *, num_models: int, num_responses: int, tau: float, alpha: float, width: int, topk: int, luck: int, has_ties: bool
) -> None:
    draws = Draws(luck)
    rewards = [draws.below(4) / 8 if has_ties else draws.uniform() - 0.3 for _ in range(num_responses)]
    expected = naive_decisions(num_models, rewards, tau=tau, alpha=alpha, width=width, topk=topk)
    models = [f"m{model}" for model in range(num_models)]
    strategy = Toa(num_responses=num_responses, tau=tau, alpha=alpha, width=width, topk=topk)
    decided = [(models.index(decision.model), decision.parents[0] if decision.parents else None) for decision in dry_run(strategy, models, rewards)]
    assert decided == expected
