"""How much a pilot looks at."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from multigraft.errors import InputError

Part: TypeAlias = Literal["singles", "replicate", "mix", "width", "depth", "grid"]
PARTS: tuple[str, ...] = get_args(Part)
MOST: Final = 1000
"""Of whatever a number multiplies graphs, or nodes of one."""


@dataclass(frozen=True, kw_only=True)
class PilotSettings:
    """How much a pilot looks at.

    Args:
        num_questions: of the training split, from its beginning; >= 2.
        parts: which parts are run; single models always are.
        copies: numbers of copies of each model side by side; each up to 1,000, as all sizes.
        widths: numbers of agents side by side.
        depths: lengths of a chain.
        max_grid: width times depth at most.
        block_model: model of the agents in widths, depths and grid; None: the cheapest.
        mix_nodes: nodes of a mix beside its sink, where a dearer model counts as several of the cheapest; None: what one node of the dearest counts as.
        max_mix_agents: agents of a mix at most; >= 1.
        graphs_per_mix: random graphs run of each mix; >= 1.
        max_mixes: of more mixes, this many are run, spread evenly over all; >= 1.
        edge_probability: of an edge in those graphs; (0, 1).
        seed: of those graphs.

    Raises:
        InputError: a setting out of its range.
    """

    num_questions: int = 100
    parts: tuple[str, ...] = PARTS
    copies: tuple[int, ...] = (1, 2, 4, 8)
    widths: tuple[int, ...] = (1, 2, 4, 8, 16)
    depths: tuple[int, ...] = (1, 2, 4, 8, 16)
    max_grid: int = 24
    block_model: str | None = None
    mix_nodes: int | None = None
    max_mix_agents: int = 16
    graphs_per_mix: int = 3
    max_mixes: int = 12
    edge_probability: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("num_questions", 2), ("max_grid", 1), ("graphs_per_mix", 1), ("max_mixes", 1), ("mix_nodes", 1), ("max_mix_agents", 1)):
            if getattr(self, name) is not None and getattr(self, name) < least:
                message = f"must be at least {least}, not {getattr(self, name)}"
                raise InputError(message, field=name)
        for name in ("copies", "widths", "depths"):
            values: tuple[int, ...] = getattr(self, name)
            if not values or min(values) < 1 or max(values) > MOST or sorted(set(values)) != list(values):
                message = f"must be ascending whole numbers from 1 to {MOST}, not {','.join(map(str, values))}"
                raise InputError(message, field=name)
        # A node of a very dear model stands for thousands of the cheapest.
        for name, most in (("max_grid", MOST), ("graphs_per_mix", MOST), ("max_mixes", MOST), ("mix_nodes", 10 * MOST), ("max_mix_agents", MOST)):
            if getattr(self, name) is not None and getattr(self, name) > most:
                message = f"must be at most {most}, not {getattr(self, name)}"
                raise InputError(message, field=name)
        unknown = [part for part in self.parts if part not in PARTS]
        if unknown:
            message = f"there is no part '{unknown[0]}'; known: {', '.join(PARTS)}"
            raise InputError(message, field="parts")
        if not 0 < self.edge_probability < 1:
            message = f"must be between 0 and 1, not {self.edge_probability}"
            raise InputError(message, field="edge_probability")
