"""A pilot of simulated tasks whose answers are known: what is run, what is concluded, what is written."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from multigraft.analysis.intervals import Bootstrap, Estimate
from multigraft.errors import InputError
from multigraft.graphs.cost import KnownCosts, Workload
from multigraft.graphs.costs import GraphCost
from multigraft.graphs.graph import Graph, NodeRole
from multigraft.models.simulated.costs import simulated_costs
from multigraft.models.simulated.tasks import LARGE, MEDIUM, SMALL, TASKS
from multigraft.models.simulated.world import world
from multigraft.optimize.pilot.account import lines_of, rows_of
from multigraft.optimize.pilot.figure import svg_of_pilot
from multigraft.optimize.pilot.pilot_file import text_of_pilot, told_by
from multigraft.optimize.pilot.plan import planned
from multigraft.optimize.pilot.runs import MixRuns, PilotRuns, pilot, results_of
from multigraft.optimize.pilot.settings import PilotSettings
from multigraft.optimize.pilot.verdict import peak, preference_of, verdict_of
from multigraft.optimize.problem import Evaluate, Evaluation, Run, Space, Trial, sink_node

FEW = Bootstrap(num_resamples=200)


def space(task: str) -> Space:
    return Space(models=(SMALL, MEDIUM, LARGE), sinks=(sink_node(MEDIUM),), costs=simulated_costs(TASKS[task]))


@lru_cache(maxsize=8)
def ran(task: str, settings: PilotSettings) -> PilotRuns:
    made, pool = world(task, 3), space(task)

    def answer(run: Run) -> Evaluation:
        played = made.play(run.graph, run.split, run.questions)
        trials = tuple(Trial(question, float(right)) for question, right in zip(run.questions, played.right, strict=True))
        return Evaluation(run.graph, run.split, trials, pool.costs.of(run.graph))

    steps = pilot(planned(pool, settings))
    answers: tuple[Evaluation, ...] | None = None
    while True:
        try:
            step = steps.send(answers)
        except StopIteration as ended:
            found: PilotRuns = ended.value
            return found
        assert isinstance(step, Evaluate)
        answers = tuple(answer(run) for run in step.runs)


def evaluation(scores: Sequence[float | None], units: float = 1.0) -> Evaluation:
    graph = Graph((sink_node(SMALL),))
    return Evaluation(graph, "train", tuple(Trial(index, score) for index, score in enumerate(scores)), GraphCost(1, 1.0, units=units))


def runs_of(**parts: Any) -> PilotRuns:
    nothing: dict[str, Any] = {"singles": {SMALL: evaluation([0.0, 1.0])}, "copies": {}, "grid": {}, "mixes": (), "mix_nodes": 0, "num_mixes": 0}
    return PilotRuns(block_model=SMALL, sink=sink_node(SMALL), **nothing | parts)


def test_every_part_is_run_on_the_same_questions() -> None:
    runs = ran("math", PilotSettings(num_questions=20, graphs_per_mix=3, widths=(1, 2, 4), depths=(1, 2, 4), max_grid=8, copies=(1, 2)))
    assert list(runs.singles) == [SMALL, MEDIUM, LARGE]
    assert set(runs.copies) == {(model, count) for model in runs.singles for count in (1, 2)}
    assert set(runs.grid) == {(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4), (4, 1), (4, 2)}
    assert runs.mix_nodes == 8
    assert all(sum(mix.counts.values()) == len(found.graph.nodes) - 1 for mix in runs.mixes for found in mix.evaluations)
    everything = [*runs.singles.values(), *runs.copies.values(), *runs.grid.values(), *(found for mix in runs.mixes for found in mix.evaluations)]
    assert {tuple(trial.question for trial in found.trials) for found in everything} == {tuple(range(20))}


def test_agents_of_a_mix_are_all_paid_for() -> None:
    runs = ran("math", PilotSettings(num_questions=2, graphs_per_mix=8, parts=("mix",)))
    assert len(runs.mixes) == 4
    for mix in runs.mixes:
        for found in mix.evaluations:
            assert len(found.graph.live) == len(found.graph.nodes)
            counted = {model: sum(node.model == model for node in found.graph.nodes if node.node_id != "sink") for model in mix.counts}
            assert counted == mix.counts


def test_many_mixes_are_thinned_out_and_the_number_is_kept() -> None:
    runs = ran("math", PilotSettings(num_questions=2, graphs_per_mix=1, parts=("mix",), mix_nodes=27, max_mixes=3, max_mix_agents=27))
    assert len(runs.mixes) == 3
    assert runs.num_mixes > 3


def test_a_task_for_small_models_and_one_for_a_large_model_are_told_apart() -> None:
    settings = PilotSettings(num_questions=400, graphs_per_mix=3, parts=("mix",), mix_nodes=9)
    small, large = verdict_of(ran("math", settings), FEW), verdict_of(ran("mmlu", settings), FEW)
    assert small.findings.singles[SMALL].mean == pytest.approx(0.31, abs=0.06)
    assert large.findings.preference == "single-large"
    assert large.mix_difference is not None
    assert small.mix_difference is not None
    assert small.findings.preference != "single-large"
    assert small.mix_difference.value > large.mix_difference.value + 0.05


def test_a_peak_is_the_smallest_setting_within_one_standard_error() -> None:
    low, good, best = [0.0] * 60 + [1.0] * 40, [0.0] * 48 + [1.0] * 52, [0.0] * 45 + [1.0] * 55
    found = peak({1: evaluation(low), 2: evaluation(good), 4: evaluation(best), 8: evaluation(low)}, FEW)
    assert found is not None
    assert found.setting == 2
    assert found.low <= 2 <= found.high <= 8


def test_a_peak_needs_two_settings_and_questions_in_common() -> None:
    assert peak({1: evaluation([1.0, 0.0])}) is None
    assert peak({1: evaluation([1.0, None]), 2: evaluation([None, 1.0])}) is None


@pytest.mark.parametrize(
    ("difference", "preference"),
    [
        (None, "undecided"),
        (Estimate(0.1, None, None, 1), "undecided"),
        (Estimate(0.1, -0.01, 0.2, 50), "undecided"),
        (Estimate(0.1, 0.01, 0.2, 50), "small-ensemble"),
        (Estimate(-0.1, -0.2, -0.01, 50), "single-large"),
    ],
)
def test_a_preference_needs_an_interval_without_zero(difference: Estimate | None, preference: str) -> None:
    assert preference_of(difference) == preference


def test_gains_are_a_unit_of_cost() -> None:
    runs = runs_of(
        singles={SMALL: evaluation([0.0, 1.0])},
        copies={(SMALL, 1): evaluation([0.0, 1.0], 2.0), (SMALL, 2): evaluation([1.0, 1.0], 4.0), (SMALL, 4): evaluation([None, None], 8.0)},
    )
    assert verdict_of(runs, FEW).gains == {(SMALL, 2): 0.25}


def test_wider_grids_of_the_mathematics_task_are_best_when_shallower() -> None:
    settings = PilotSettings(num_questions=600, parts=("grid",), widths=(1, 2, 3, 4), depths=(1, 2, 4, 6, 8))
    verdict = verdict_of(ran("math", settings), FEW)
    assert verdict.depth_by_width[1].setting >= verdict.depth_by_width[4].setting
    assert verdict.trade is not None
    assert (verdict.trade.widths, verdict.trade.depths) == ((1, 2, 3, 4), (1, 2, 4, 6))
    assert verdict.trade.slope.value < 0


def test_a_bound_on_width_times_depth_does_not_make_wide_graphs_look_best_shallow() -> None:
    """Where deeper is always better, the best depth of a wide graph is the deepest that was tried, and no less than that of a narrow one."""
    shares = {1: 20, 2: 40, 4: 60, 8: 80, 16: 100}
    cells = {(width, depth): evaluation([1.0] * good + [0.0] * (100 - good)) for width in shares for depth, good in shares.items() if width * depth <= 16}
    verdict = verdict_of(runs_of(grid=cells), FEW)
    assert {width: found.setting for width, found in verdict.depth_by_width.items()} == {1: 16, 2: 8, 4: 4, 8: 2}
    assert verdict.trade is not None
    assert (verdict.trade.widths, verdict.trade.depths) == ((1, 2, 4), (1, 2, 4))
    assert verdict.trade.slope.value == 0
    assert verdict_of(runs_of(grid={(1, 1): cells[1, 1], (1, 2): cells[1, 2], (2, 1): cells[2, 1]}), FEW).trade is None


def test_the_best_of_many_mixes_is_compared_on_questions_it_was_not_chosen_by() -> None:
    """Of mixes that guess, the best has luck with the questions it was chosen by, and none with others."""
    chance, few = Random(5), Bootstrap(num_resamples=20)

    def guess() -> Evaluation:
        return evaluation([float(chance.random() < 0.5) for _ in range(40)])

    plain, told = [], []
    for _ in range(40):
        singles, guessed = {SMALL: guess(), LARGE: guess()}, [MixRuns({SMALL: count}, (guess(),)) for count in range(1, 13)]
        verdict = verdict_of(runs_of(singles=singles, mixes=tuple(guessed), mix_nodes=8, num_mixes=12), few)
        assert verdict.mix_difference is not None
        plain.append(max(mix.measured.mean for mix in verdict.findings.mixes) - verdict.findings.singles[LARGE].mean)
        told.append(verdict.mix_difference.value)
    assert sum(plain) / 40 > 0.1
    assert abs(sum(told) / 40) < 0.05
    alone = verdict_of(runs_of(singles=singles, mixes=tuple(guessed[:1]), mix_nodes=8, num_mixes=1), FEW)
    assert alone.mix_difference is not None
    assert alone.mix_difference.value == pytest.approx(alone.findings.mixes[0].measured.mean - alone.findings.singles[LARGE].mean)


def test_a_handful_of_questions_decides_nothing() -> None:
    singles = {SMALL: evaluation([0.0] * 4), LARGE: evaluation([1.0, 0.0, 0.0, 0.0])}
    runs = runs_of(singles=singles, mixes=(MixRuns({SMALL: 3}, (evaluation([0.5, 1.0, 0.25, 0.5]),)),), mix_nodes=3, num_mixes=1)
    verdict = verdict_of(runs, FEW)
    assert verdict.findings.preference == "undecided"
    assert verdict.mix_difference == Estimate(0.3125, None, None, 4)
    assert lines_of(runs, verdict)[-1] == f"verdict: undecided, as 4 questions are too few to compare a mix of smaller models with {LARGE} alone"
    assert '"low": null' in text_of_pilot(runs, verdict, Workload(1, 1), {})


def test_what_a_pilot_costs_is_known_before_it() -> None:
    """Copies hold the copies before them, a chain the shorter ones: only new agents and new sinks are asked."""
    plan = planned(space("math"), PilotSettings(num_questions=30, parts=("singles", "replicate", "width", "depth")))
    costs = simulated_costs(TASKS["math"])
    singles, agents, sinks = 3, 3 * 7, 3 * 4
    wider, deeper = 8 + 1, 15 + 4
    assert plan.expense(costs).calls == (singles + agents + sinks + wider + deeper) * 30
    only = planned(space("math"), PilotSettings(num_questions=2, parts=("singles",)))
    flops = sum(costs.of(graph).flops or 0.0 for graph in only.singles.values())
    assert only.expense(costs).flops == pytest.approx(2 * flops)
    unknown = KnownCosts({}, Workload(1, 1))
    assert (unknown_costs := only.expense(unknown)).flops is None
    assert unknown_costs.usd is None


def test_a_pilot_that_has_only_begun_says_what_it_has() -> None:
    settings = PilotSettings(num_questions=20, graphs_per_mix=2, widths=(1, 2), depths=(1, 2), copies=(1, 2))
    whole, plan = ran("math", settings), planned(space("math"), settings)
    singles = list(whole.singles.values())
    begun = [*singles, *(Evaluation(graph, "train", (), GraphCost(1, 1.0)) for graph in plan.graphs[len(singles) :])]
    verdict = verdict_of(results_of(plan, begun), FEW)
    assert verdict.findings.singles == verdict_of(whole, FEW).findings.singles
    assert (verdict.findings.mixes, verdict.findings.grid, verdict.width_peak, verdict.trade) == ((), {}, None, None)
    lines = lines_of(results_of(plan, begun), verdict)
    assert len(lines) == 1
    assert lines[0].startswith("best alone: ")
    without = planned(space("math"), PilotSettings(num_questions=20, parts=("singles",)))
    assert lines_of(results_of(without, singles), verdict_of(results_of(without, singles), FEW))[-1].startswith("verdict: none on small ensembles")
    assert [row.part for row in rows_of(results_of(plan, begun), verdict)] == ["singles"] * 3
    nothing = results_of(plan, [Evaluation(graph, "train", (), GraphCost(1, 1.0)) for graph in plan.graphs])
    assert lines_of(nothing, verdict_of(nothing, FEW)) == []


def test_the_file_gives_back_what_an_optimiser_model_is_told() -> None:
    runs = ran("math", PilotSettings(num_questions=20, graphs_per_mix=3, widths=(1, 2, 4), depths=(1, 2, 4), max_grid=8, copies=(1, 2)))
    verdict = verdict_of(runs, FEW)
    text = text_of_pilot(runs, verdict, Workload(202, 275), {"task": "math"})
    assert told_by(text).findings == verdict.findings
    assert text == text_of_pilot(runs, verdict, Workload(202, 275), {"task": "math"})
    assert told_by(text).questions == frozenset()
    assert told_by(text_of_pilot(runs, verdict, Workload(202, 275), {}, ["p1", "p2"])).questions == {"p1", "p2"}


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"version": 2}, "version"), ({"schema": "other"}, "schema"), ({"singles": [{"model": "m", "mean": 3}]}, "singles.0.mean"), ({"peaks": None}, "peaks")],
)
def test_another_file_is_refused_with_its_field(changed: Mapping[str, object], field: str) -> None:
    import orjson

    runs = ran("math", PilotSettings(num_questions=2, parts=()))
    content = orjson.loads(text_of_pilot(runs, verdict_of(runs, FEW), Workload(1, 1), {})) | changed
    with pytest.raises(InputError, match=rf"pilot\.json: field '{field}'"):
        told_by(orjson.dumps(content).decode(), "pilot.json")
    with pytest.raises(InputError, match=r"pilot\.json"):
        told_by("{", "pilot.json")


def test_a_person_reads_scores_with_intervals_and_one_verdict() -> None:
    runs = ran("math", PilotSettings(num_questions=20, graphs_per_mix=3, widths=(1, 2, 4), depths=(1, 2, 4), max_grid=8, copies=(1, 2)))
    lines = lines_of(runs, verdict_of(runs, FEW))
    assert sum(line.startswith("verdict: ") for line in lines) == 1
    assert lines[0].startswith("best alone: ")
    assert " to " in lines[0]
    assert any(line.startswith(f"copies of {SMALL}: best at ") for line in lines)
    assert any(line.startswith(f"width of {SMALL}: best at ") for line in lines)
    assert any(line.startswith("how they trade: ") for line in lines)
    assert "times its cost" in lines[-1]
    rows = rows_of(runs, verdict_of(runs, FEW))
    assert [row.name for row in rows[:4]] == [f"{SMALL} alone", f"{MEDIUM} alone", f"{LARGE} alone", f"1 x {SMALL}"]


@pytest.mark.parametrize(
    ("shift", "said"),
    [(0.4, "verdict: a small ensemble; "), (-0.4, "verdict: one large model; "), (0.05, "verdict: undecided; ")],
)
def test_the_verdict_says_what_it_stands_on(shift: float, said: str) -> None:
    right = round(50 + 100 * shift)
    singles = {SMALL: evaluation([0.0] * 100), LARGE: evaluation([1.0] * 50 + [0.0] * 50, 8.0)}
    scores = [1.0 if index * right // 100 < (index + 1) * right // 100 else 0.0 for index in range(100)]
    runs = runs_of(singles=singles, mixes=(MixRuns({SMALL: 8}, (evaluation(scores, 12.0),)),), mix_nodes=8, num_mixes=1)
    verdict = lines_of(runs, verdict_of(runs, FEW))[-1]
    assert verdict.startswith(said)
    assert f"{shift:+.1%} (" in verdict
    assert "at 1.5 times its cost" in verdict
    assert ("questions to tell such a difference" in verdict) == (said == "verdict: undecided; ")


def test_the_figure_is_the_same_each_time_and_takes_names_as_text() -> None:
    runs = ran("math", PilotSettings(num_questions=20, graphs_per_mix=3, widths=(1, 2, 4), depths=(1, 2, 4), max_grid=8, copies=(1, 2)))
    runs = replace(runs_of(singles={"$x_{<b>}$": runs.singles[SMALL]}, grid=runs.grid), block_model="$x_{<b>}$")
    verdict = verdict_of(runs, FEW)
    drawn = svg_of_pilot(runs, verdict)
    assert drawn == svg_of_pilot(runs, verdict)
    assert any("$x_{<b>}$" in "".join(element.itertext()) for element in ET.fromstring(drawn).iter())  # noqa: S314 - our own drawing


@pytest.mark.parametrize(
    "settings",
    [
        {"num_questions": 1},
        {"widths": (2, 1)},
        {"depths": ()},
        {"copies": (0, 1)},
        {"parts": ("widths",)},
        {"edge_probability": 1.0},
        {"mix_nodes": 0},
        {"widths": (1, 1001)},
        {"depths": (2_000_000,)},
        {"copies": (1001,)},
        {"max_grid": 1001},
        {"mix_nodes": 10_001},
        {"graphs_per_mix": 2000},
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(InputError, match="field"):
        PilotSettings(**settings)  # type: ignore[arg-type]  # what is tested


def test_a_model_outside_the_pool_cannot_build_the_shapes() -> None:
    with pytest.raises(InputError, match="no model of the pool"):
        planned(space("math"), PilotSettings(block_model="other"))


def test_the_sink_of_a_pilot_is_the_first_of_the_space() -> None:
    vote = Space(models=(SMALL, MEDIUM), sinks=(sink_node("", NodeRole.VOTE),), costs=simulated_costs(TASKS["math"]))
    steps = pilot(planned(vote, PilotSettings(num_questions=2, parts=("width",))))
    first = next(steps)
    widths = steps.send(tuple(evaluation([1.0, 1.0]) for _ in first.runs))
    assert {run.graph.node("sink").role for run in widths.runs} == {NodeRole.VOTE}
