"""From a checked run file to a campaign: opens the folder, the record, the models and the rewards, and closes them again."""

import math
import platform
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from multigraft import __version__
from multigraft.budget.amount import Limits
from multigraft.budget.cost import check_limits
from multigraft.budget.ledger import Ledger
from multigraft.build.graphs import graph_text, refuse_unfit_graph
from multigraft.build.lifecycle import Closing, Starting
from multigraft.build.limits import limits_of
from multigraft.build.models import BuiltModel, build_model
from multigraft.build.rewards import Built, BuiltJudge, build_judges, build_rewards, judges_of, needs_logprobs
from multigraft.build.sandbox import SandboxOfRun
from multigraft.build.scorers import Surroundings
from multigraft.build.work import jurors_of, refuse_namesakes, scoring_of
from multigraft.config import RunFile
from multigraft.engine.campaign import Campaign
from multigraft.engine.halt import Halt
from multigraft.engine.judging import Judging
from multigraft.engine.purchases import Purchases
from multigraft.engine.replay import Resumption, resume
from multigraft.engine.step import Workshop
from multigraft.errors import InputError
from multigraft.models.local.progress import Progress
from multigraft.prompting.library import load_templates
from multigraft.prompting.render import Templates
from multigraft.records.log import RunLog
from multigraft.records.reader import PromptRecord, RunRecord
from multigraft.records.rows import SessionRow
from multigraft.rewards.combine import names as names_of
from multigraft.strategies.graph import Collaboration
from multigraft.strategies.prs import Prs
from multigraft.strategies.random_sampling import RandomSampling, chosen_model
from multigraft.strategies.table import AnyStrategy, strategy_from
from multigraft.wire.retry import RetryPolicy


@dataclass(slots=True)
class Opened:
    """A run that is ready to go on."""

    campaign: Campaign
    unscored: Iterator[PromptRecord]
    """Finished prompts with responses that lack a reward for a passing reason; each is read when its turn comes, as they may be all there are."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything of a run that can be checked before anything is fetched, started or paid."""

    run_file: RunFile
    strategy: AnyStrategy
    models: dict[str, BuiltModel]
    """All of the run file, by name."""
    names: tuple[str, ...]
    """Of the models that answer; the others judge."""
    prompt_limits: Limits
    purchases: Purchases
    rewards: Built
    judges: tuple[BuiltJudge, ...]
    """Unseen by the search."""
    scorers: list[object]
    """All scorers and what they use: what is to be started and closed."""
    sandbox: SandboxOfRun
    templates: Templates
    retry: RetryPolicy


def plan_of(run_file: RunFile, progress: Progress | None = None) -> Plan:
    """Check a run file as a whole.

    Args:
        run_file: checked field by field already.
        progress: told when weights are fetched.

    Raises:
        InputError: settings that do not fit.
        BudgetError: a limit on what is not known of a model.
    """
    if not run_file.models:
        message = "no models; name some with --models, or in a run file (`multigraft init` writes one)"
        raise InputError(message)
    if "num_responses" in run_file.strategy.__pydantic_extra__:
        message = "is called n in a run file, and -n on the command line"
        raise InputError(message, field="strategy.num_responses")
    settings: dict[str, object] = {"num_responses": run_file.strategy.n, **run_file.strategy.__pydantic_extra__}
    if run_file.strategy.name == "graph":
        settings["graph"] = graph_text(settings.get("graph"))
    strategy = strategy_from(run_file.strategy.name, settings)
    scoring_parts = (*run_file.reward.parts, *run_file.judge.parts)
    logprobs = needs_logprobs(scoring_parts)
    models = {table.name: build_model(table, run_file, logprobs=logprobs, progress=progress) for table in run_file.models}
    judges = set(judges_of(scoring_parts)) if len(models) > 1 else set()
    only_judges = {table.name for table in run_file.models if table.name in judges and not table.answers_too}
    names = tuple(name for name in models if name not in only_judges)
    if not names:
        message = "every model of the run file is a judge; name one that answers, or set answers_too = true"
        raise InputError(message)
    limits, prompt_limits = limits_of(run_file.budget), limits_of(run_file.budget.prompt)
    costs = {name: built.cost for name, built in models.items()}
    paid = {name: costs[name] for name in (*names, *judges_of(run_file.reward.parts)) if name in costs}
    check_limits(limits, paid)
    check_limits(prompt_limits, paid)
    check_limits(limits_of(run_file.judge.budget), {name: costs[name] for name in judges_of(run_file.judge.parts) if name in costs})
    concurrency = run_file.concurrency
    retry = RetryPolicy(max_attempts=concurrency.max_attempts, total_timeout_s=concurrency.total_timeout_s)
    purchases = Purchases(
        models={name: built.model for name, built in models.items()},
        costs=costs,
        ledger=Ledger(limits),
        retry=retry,
        halt=Halt(_asked(strategy, names)),
        places={name: built.max_in_flight for name, built in models.items()},
        max_in_flight=concurrency.max_in_flight,
    )
    identities = {name: built.identity for name, built in models.items()}
    sandbox = SandboxOfRun(run_file)
    surroundings = Surroundings(ask_of=purchases.ask_of, identities=identities, concurrency=concurrency, sandbox=sandbox)
    rewards = build_rewards(run_file.reward, surroundings)
    _refuse_blind_guidance(strategy, rewards)
    refuse_unfit_graph(strategy, names, rewards)
    unseen = replace(surroundings, ask_of=partial(purchases.ask_of, apart=True))
    jurors = build_judges(run_file.judge, unseen, names_of(rewards.combination))
    return Plan(run_file, strategy, models, names, prompt_limits, purchases, rewards, jurors, surroundings.opened, sandbox, templates_of(run_file), retry)


def templates_of(run_file: RunFile) -> Templates:
    """Choose the wording of the roles that show earlier responses: the user's own, else the task's, else the default."""
    own = run_file.templates
    if run_file.task is None or own.family is not None:
        return load_templates(own.family or "default", refine=own.refine, aggregate=own.aggregate, fuse=own.fuse, conclude=own.conclude)
    from multigraft.tasks.task import load_task  # noqa: PLC0415 - only runs of a task load what tasks are made of

    wording = load_task(run_file.task.name).table.ask
    return load_templates(
        wording.family,
        refine=own.refine or wording.refine,
        aggregate=own.aggregate or wording.aggregate,
        fuse=own.fuse or wording.fuse,
        conclude=own.conclude or wording.conclude,
    )


def _refuse_blind_guidance(strategy: AnyStrategy, rewards: Built) -> None:
    """Refuse a ranking, which speaks at the end, where a strategy chooses by rewards as it goes."""
    if rewards.ranking is not None and strategy.waits_for_rewards:
        message = (
            f"'{rewards.ranking.name}' compares the responses of a prompt when all are there, but this strategy needs a reward of each as it goes; take "
            "random, parallel, sequential, moa or a graph whose sink is a model, or a reward that scores one response, such as pairwise"
        )
        raise InputError(message, field="reward.parts")


@asynccontextmanager
async def opened(plan: Plan, folder: Path) -> AsyncIterator[Opened]:
    """Open a run whose folder is owned and has its settings: read what is recorded, start the embedded models.

    Args:
        plan: of the run.
        folder: of the run.

    Raises:
        MultigraftError: of any kind; nothing was paid.
    """
    run_file, rewards, purchases = plan.run_file, plan.rewards, plan.purchases
    async with AsyncExitStack() as stack:
        for built in plan.models.values():
            if built.closing is not None:
                stack.push_async_callback(built.closing.close)
        for scorer in plan.scorers:
            if isinstance(scorer, Closing):
                stack.push_async_callback(scorer.close)
        log = RunLog(folder)  # first, as it completes a record whose making was cut off
        stack.callback(log.close)
        record = stack.enter_context(RunRecord(folder))
        resumption, unscored = _resumption(plan, record)
        purchases.ledger, purchases.log = Ledger(purchases.ledger.limits, spent=resumption.spent), log
        purchases.ledger_apart = Ledger(limits_of(run_file.judge.budget), spent=resumption.spent_apart)
        for built in plan.models.values():
            if built.starting is not None:
                await built.starting.start()
        for scorer in plan.scorers:
            if isinstance(scorer, Starting):
                await scorer.start()
        refuse_namesakes(record, plan.judges)
        log.append(SessionRow(resumption.session, 0.0, facts_of(plan)))
        workshop = Workshop(
            contestants={name: built.contestant for name, built in plan.models.items()},
            purchases=purchases,
            scorings=tuple(scoring_of(reward, plan.retry, purchases.halt, retried=reward.name in rewards.retried) for reward in rewards.rewards),
            combination=rewards.combination,
            templates=plan.templates,
            log=log,
            ranking=rewards.ranking,
        )
        alongside = plan.judges and run_file.judge.when == "alongside"
        campaign = Campaign(
            strategy=plan.strategy,
            models=plan.names,
            seed=run_file.seed,
            workshop=workshop,
            resumption=resumption,
            halt=purchases.halt,
            prompts_in_flight=run_file.concurrency.prompts_in_flight or _prompts_in_flight(plan),
            prompt_limits=plan.prompt_limits,
            cost_unit=_cost_unit(plan),
            drain_s=run_file.concurrency.drain_s,
            judging=Judging(jurors=jurors_of(plan.judges, plan.retry, purchases.halt), record=record, log=log, purchases=purchases) if alongside else None,
        )
        yield Opened(campaign, unscored)


def facts_of(plan: Plan) -> dict[str, str]:
    """Say, for the record, with what a session works: versions, machine, scorers, and what walls generated code has around it."""
    facts = {"multigraft": __version__, "python": platform.python_version(), "system": platform.platform()}
    scorers = [*plan.rewards.rewards, *([plan.rewards.ranking] if plan.rewards.ranking else []), *(judge.scorer for judge in plan.judges)]
    facts |= {f"scorer {scorer.name}": scorer.version for scorer in scorers}
    return facts | plan.sandbox.facts()


def _resumption(plan: Plan, record: RunRecord) -> tuple[Resumption, Iterator[PromptRecord]]:
    combination = plan.rewards.combination
    found = resume(record, plan.strategy, plan.names, plan.run_file.seed, combination, cost_unit=_cost_unit(plan))
    return found, map(record.prompt, [number for number in record.unscored(names_of(combination)) if number in found.ended])


def _asked(strategy: AnyStrategy, names: tuple[str, ...]) -> tuple[str, ...]:
    """Name the models a strategy asks: all, unless it is one for a single model, or a graph."""
    if isinstance(strategy, Collaboration):
        return tuple(name for name in names if name in strategy.models)
    return (chosen_model(strategy.model, names),) if isinstance(strategy, RandomSampling | Prs) else names


def _cost_unit(plan: Plan) -> str | None:
    """Choose what strategies are told as cost: dollars where every model has a price, else FLOPs where every size is known, else tokens."""
    costs = [plan.models[name].cost for name in plan.names]
    if all(cost.price is not None for cost in costs):
        return "usd"
    return "flops" if all(cost.shape is not None for cost in costs) else "tokens"


def _prompts_in_flight(plan: Plan) -> int:
    """Enough prompts that the models stay busy: twice what they work on at once, by the calls one prompt has in flight."""
    at_once = sum(plan.models[name].max_in_flight for name in plan.names)
    return max(4, min(1024, math.ceil(2 * at_once / plan.strategy.calls_at_once)))
