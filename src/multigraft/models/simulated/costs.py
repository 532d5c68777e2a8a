"""What graphs of simulated calls cost, by the published sizes of their models.

Source: arXiv 2511.00086, appendices A.7 and A.8, and the constants of its public code: parameters by name, the unit of each task.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from multigraft.budget.cost import ModelCost
from multigraft.budget.flops import ModelShape
from multigraft.budget.price import Price
from multigraft.graphs.cost import KnownCosts, Workload
from multigraft.graphs.latency import LatencyModel
from multigraft.models.simulated.tasks import HUGE, LARGE, MEDIUM, MODELS, SMALL, SimulatedTask

_SHAPES: Final[Mapping[str, ModelShape]] = MappingProxyType(
    {
        SMALL: ModelShape(1_000_000_000, 16, 2048),
        MEDIUM: ModelShape(3_000_000_000, 28, 3072),
        LARGE: ModelShape(8_000_000_000, 32, 4096),
        HUGE: ModelShape(70_000_000_000, 80, 8192),
    }
)
_USD_PER_MILLION: Final[Mapping[str, float]] = MappingProxyType({SMALL: 0.02, MEDIUM: 0.06, LARGE: 0.18, HUGE: 0.88})
"""Of the smallest as the paper gives it; the others assumed."""


def simulated_costs(task: SimulatedTask) -> KnownCosts:
    """Return what graphs cost on a simulated task: units, dollars and seconds."""
    prices = {name: Price(usd_per_million_prompt=usd, usd_per_million_completion=usd) for name, usd in _USD_PER_MILLION.items()}
    models = {name: ModelCost(shape=_SHAPES[name], price=prices[name]) for name in MODELS}
    latency = {name: LatencyModel(speed.start_s, speed.prefill_s, speed.decode_s) for name, speed in MODELS.items()}
    workload = Workload(task.prompt_tokens, task.answer_tokens)
    return KnownCosts(models, workload, latency=latency, base_flops=task.unit_flops)
