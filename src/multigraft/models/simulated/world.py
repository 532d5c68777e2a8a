"""Graphs of simulated calls on questions that a seed makes.

Questions are the same for every graph, and a call's draws belong to the cone of its node and the question, so graphs are compared on the same luck as far as
they are alike, and nodes that share a cone share their outputs, exactly as with real models.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import hypot
from typing import Final, NamedTuple

import numpy

from multigraft.errors import InputError
from multigraft.graphs.cones import cone_keys, shown_order
from multigraft.graphs.graph import Graph, NodeRole
from multigraft.models.simulated.keyed import Floats, Places, normal
from multigraft.models.simulated.mechanism import RIGHT, Asked, Output, best, first_answer, mean_strength, reading_answer, voted
from multigraft.models.simulated.tasks import MODELS, TASKS, SimulatedTask
from multigraft.randomness import key_of

TRUE_QUESTIONS: Final = range(4000)
"""On which questions the true quality of a graph stands; the same for all worlds of a task."""
_LENGTH: Final = slice(3, 5)
_REWARD: Final = (5, 7)


class Played(NamedTuple):
    """A graph on some questions; arrays have a value for each of them, mappings a key for each live node."""

    right: Floats
    """1 where the sink is right, else 0."""
    chance: Floats
    """Probability with which the sink was right, given what it read."""
    node_right: Mapping[str, Floats]
    tokens: Mapping[str, tuple[Floats, Floats]]
    """Of the prompt and of the answer, for nodes that call a model."""
    latency_s: Floats
    """Along the critical path."""
    cones: Mapping[str, str]


class World:
    """Questions of one kind, and the models' answers to them.

    Args:
        task: what its calls come out like.
        seed: makes the questions, and the luck of every call.
    """

    def __init__(self, task: SimulatedTask, seed: int = 0) -> None:
        self.task = task
        self.seed = seed
        self._strengths: dict[tuple[str, str, bytes], Floats] = {}
        self._places: dict[tuple[int, ...], Places] = {}

    def play(self, graph: Graph, split: str, questions: Sequence[int]) -> Played:
        """Run a graph.

        Args:
            graph: of models this world knows.
            split: questions of different splits are different.
            questions: places in the split, >= 0; any order.

        Raises:
            InputError: the graph has a model that the world does not know.
        """
        places = self._prepared(questions)
        cones = _cones(graph)
        keys = {node_id: key_of(self.seed, self.task.name, split, cone) for node_id, cone in cones.items()}
        outputs: dict[str, Output] = {}
        tokens: dict[str, tuple[Floats, Floats]] = {}
        ends: dict[str, Floats] = {}
        for node in graph.live_nodes:
            order = shown_order(graph, cones, node.node_id)
            read = [outputs[source] for source in order]
            began = numpy.maximum.reduce([ends[source] for source in order]) if order else numpy.zeros(len(places))
            if node.selects:
                noise = [normal(places.uniforms(keys[source], *_REWARD)) for source in order] if node.role is NodeRole.BEST else []
                outputs[node.node_id] = best(self.task, read, noise) if noise else voted(read)
                ends[node.node_id] = began
                continue
            drawn = places.uniforms(keys[node.node_id], 0, _LENGTH.stop)
            asked = Asked(node.model, node.role is NodeRole.FUSER, self.strength(node.model, split, places), *drawn[: _LENGTH.start])
            outputs[node.node_id] = reading_answer(self.task, asked, read) if read else first_answer(self.task, asked)
            prompt, written = tokens[node.node_id] = self._prompt(order, tokens, places), self._length(drawn[_LENGTH])
            speed = MODELS[node.model]
            ends[node.node_id] = began + (speed.start_s + speed.prefill_s * prompt + speed.decode_s * written)
        right = {node_id: (output.answers == RIGHT).astype(numpy.float64) for node_id, output in outputs.items()}
        return Played(right[graph.sink], outputs[graph.sink].chance, right, tokens, ends[graph.sink], cones)

    def strength(self, model: str, split: str, places: Places) -> Floats:
        """Return how strong a model is alone on questions, in log-odds.

        Raises:
            InputError: the world does not know the model.
        """
        key = model, split, places.questions.tobytes()
        found = self._strengths.get(key)
        if found is None:
            task = self.task
            if model not in task.alone:
                message = f"the simulated task '{task.name}' knows no model '{model}'; take one of {', '.join(task.alone)}"
                raise InputError(message, field="model")
            hard = normal(places.uniforms(key_of(self.seed, task.name, split, "difficulty"), 0, 2))
            own = normal(places.uniforms(key_of(self.seed, task.name, split, "taste", model), 0, 2))
            spread = hypot(task.difficulty, task.taste)
            found = self._strengths[key] = mean_strength(task.alone[model], spread) - task.difficulty * hard + task.taste * own
        return found

    def _prepared(self, questions: Sequence[int]) -> Places:
        key = tuple(questions)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = Places(numpy.array(key, numpy.int64))
        return found

    def _prompt(self, order: Sequence[str], tokens: Mapping[str, tuple[Floats, Floats]], places: Places) -> Floats:
        asked = numpy.full(len(places), float(self.task.prompt_tokens))
        return numpy.add.reduce([asked, *(tokens[source][1] for source in order)])  # type: ignore[no-any-return]  # numpy says Any

    def _length(self, drawn: Floats) -> Floats:
        spread = self.task.length_spread
        length: Floats = self.task.answer_tokens * numpy.exp(spread * normal(drawn) - spread * spread / 2)
        return length


@lru_cache(maxsize=4096)
def _cones(graph: Graph) -> Mapping[str, str]:
    return cone_keys(graph)


def world(name: str, seed: int = 0) -> World:
    """Make a world by the name of its task.

    Raises:
        InputError: there is no such task.
    """
    if name not in TASKS:
        message = f"there is no simulated task '{name}'; take one of {', '.join(TASKS)}"
        raise InputError(message, field="task")
    return World(TASKS[name], seed)


def reference(task: SimulatedTask) -> World:
    """Make the world of questions that no search ever sees, on which true qualities are taken."""
    return World(task, -1)


def true_quality(judge: World, graph: Graph, questions: Sequence[int] = TRUE_QUESTIONS) -> float:
    """Return the share of questions that a graph answers right, in the long run; the same for all worlds of a task.

    The sink's chances are averaged instead of its draws, for less noise.

    Args:
        judge: what `reference` returned; keep it, it remembers its questions.
        graph: of models that the task knows.
        questions: places among the questions.

    Raises:
        InputError: the task does not know a model.
    """
    return float(judge.play(graph, "true", questions).chance.mean())
