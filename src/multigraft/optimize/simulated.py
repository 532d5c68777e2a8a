"""A simulated world in place of real models: evaluates graphs at once, so that searches can be compared by the thousand."""

from multigraft.budget.amount import Amount
from multigraft.models.simulated.costs import simulated_costs
from multigraft.models.simulated.world import Played, World
from multigraft.optimize.problem import Evaluation, Run, Trial


class SimulatedEvaluator:
    """Runs graphs in a world, and pays for a node's output once, as the real evaluator does.

    Args:
        world: where graphs are run.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.costs = simulated_costs(world.task)
        """What graphs cost there."""
        self._paid: set[tuple[str, int, str]] = set()

    def evaluate(self, run: Run) -> Evaluation:
        """Run a graph.

        Raises:
            InputError: the graph has a model that the world does not know.
        """
        played = self.world.play(run.graph, run.split, run.questions)
        scores = played.right.tolist()
        latencies = played.latency_s.tolist()
        by_node = {node_id: right.tolist() for node_id, right in played.node_right.items()}
        trials = []
        for place, question in enumerate(run.questions):
            node_scores = {node_id: right[place] for node_id, right in by_node.items()}
            spent = self._newly_paid(run, played, place)
            trials.append(Trial(question, scores[place], None, node_scores, spent, latencies[place]))
        return Evaluation(run.graph, run.split, tuple(trials), self.costs.of(run.graph))

    def _newly_paid(self, run: Run, played: Played, place: int) -> Amount:
        calls, tokens = 0, 0.0
        for node_id, (prompt, written) in played.tokens.items():
            key = run.split, run.questions[place], played.cones[node_id]
            if key not in self._paid:
                self._paid.add(key)
                calls += 1
                tokens += float(prompt[place] + written[place])
        return Amount(tokens=round(tokens), calls=calls)
