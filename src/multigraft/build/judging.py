"""From the judges of a run file to a finished run being judged: opens its record and the judges' models, and closes them again."""

import platform
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from multigraft import __version__
from multigraft.budget.amount import NO_LIMITS
from multigraft.budget.cost import check_limits
from multigraft.budget.ledger import Ledger
from multigraft.build.lifecycle import Closing, Starting
from multigraft.build.limits import limits_of
from multigraft.build.models import build_model
from multigraft.build.rewards import BuiltJudge, build_judges, judges_of
from multigraft.build.sandbox import SandboxOfRun
from multigraft.build.scorers import Surroundings
from multigraft.build.work import jurors_of, refuse_namesakes
from multigraft.config import RunFile
from multigraft.engine.halt import Halt
from multigraft.engine.judging import Judging
from multigraft.engine.purchases import Purchases
from multigraft.models.local.progress import Progress
from multigraft.records.log import RunLog
from multigraft.records.reader import RunRecord
from multigraft.records.rows import SessionRow
from multigraft.wire.retry import RetryPolicy


@asynccontextmanager
async def opened_judging(run_file: RunFile, folder: Path, progress: Progress | None = None) -> AsyncIterator[Judging]:
    """Open a run whose folder is owned, to have what it holds judged.

    Args:
        run_file: of the run, with the judges that are to speak in `[judge]`.
        folder: of the run.
        progress: told when weights are fetched.

    Raises:
        InputError: a setting that does not fit, or a name that belongs to a scorer of the reward, or to another one that spoke before.
        MultigraftError: of any kind; nothing was paid.
    """
    needed = judges_of(run_file.judge.parts)
    models = {table.name: build_model(table, run_file, logprobs=False, progress=progress) for table in run_file.models if table.name in needed}
    limits = limits_of(run_file.judge.budget)
    costs = {name: built.cost for name, built in models.items()}
    check_limits(limits, costs)
    concurrency = run_file.concurrency
    retry = RetryPolicy(max_attempts=concurrency.max_attempts, total_timeout_s=concurrency.total_timeout_s)
    purchases = Purchases(
        models={name: built.model for name, built in models.items()},
        costs=costs,
        ledger=Ledger(NO_LIMITS),
        retry=retry,
        halt=Halt(needed),
        places={name: built.max_in_flight for name, built in models.items()},
        max_in_flight=concurrency.max_in_flight,
    )
    sandbox = SandboxOfRun(run_file)
    surroundings = Surroundings(
        ask_of=partial(purchases.ask_of, apart=True),
        identities={name: built.identity for name, built in models.items()},
        concurrency=concurrency,
        sandbox=sandbox,
    )
    # Scores under the name of the reward's own scorer would pass for its, and a reward that is still to be found would never be.
    judges = build_judges(run_file.judge, surroundings, [part.name or part.kind for part in run_file.reward.parts])
    async with AsyncExitStack() as stack:
        for thing in (*(built.closing for built in models.values()), *surroundings.opened):
            if isinstance(thing, Closing):
                stack.push_async_callback(thing.close)
        log = RunLog(folder)
        stack.callback(log.close)
        record = stack.enter_context(RunRecord(folder))
        for thing in (*(built.starting for built in models.values()), *surroundings.opened):
            if isinstance(thing, Starting):
                await thing.start()
        refuse_namesakes(record, judges)
        purchases.log, purchases.ledger_apart = log, Ledger(limits, spent=record.spent_apart())
        facts = {"multigraft": __version__, "python": platform.python_version(), "judged": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        log.append(SessionRow(record.num_sessions(), 0.0, facts | _scorers(judges) | sandbox.facts()))
        yield Judging(jurors=jurors_of(judges, retry, purchases.halt), record=record, log=log, purchases=purchases)


def _scorers(judges: tuple[BuiltJudge, ...]) -> dict[str, str]:
    return {f"scorer {judge.scorer.name}": judge.scorer.version for judge in judges}
