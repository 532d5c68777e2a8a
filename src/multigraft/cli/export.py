"""`multigraft export`: training data from a run."""

from pathlib import Path
from typing import Annotated

import typer

from multigraft.cli.errors import reported


@reported
def export(
    run: Annotated[Path, typer.Argument(help="Folder of the run.")],
    sft: Annotated[Path | None, typer.Option("--sft", help="Write the best responses here (.jsonl or .parquet).")] = None,
    dpo: Annotated[Path | None, typer.Option("--dpo", help="Write preference pairs here.")] = None,
    everything: Annotated[Path | None, typer.Option("--all", help="Write all responses with their rewards here.")] = None,
    top_k: Annotated[int, typer.Option("--top-k", help="SFT: so many of the best responses of each prompt; 0: all.", min=0)] = 1,
    min_reward: Annotated[float | None, typer.Option("--min-reward", help="SFT: only responses with at least this reward.")] = None,
    rejected_rank: Annotated[int | None, typer.Option("--rejected-rank", help="DPO: reject the response of this rank, or the last; default 30.", min=2)] = None,
    margin: Annotated[float | None, typer.Option("--margin", help="DPO: instead, reject one whose reward lies at least this far below.")] = None,
    random: Annotated[bool, typer.Option("--random", help="DPO: with --margin, a random one of those instead of the best of them.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of --random.", min=0)] = 0,
    keep: Annotated[list[str] | None, typer.Option("--keep", help="Turn a filter off: truncated, refusal, duplicate, tie ...; may be repeated.")] = None,
    spreadsheet: Annotated[bool, typer.Option("--spreadsheet", help="Allow .csv, with texts that look like formulas made harmless.")] = False,
    card: Annotated[bool, typer.Option("--card/--no-card", help="Write a dataset card beside each file.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print counts as JSON.")] = False,
) -> None:
    """Write SFT, preference and complete datasets from a run.

    They are in TRL's conversational format, each file with a dataset card beside it.

    Example: multigraft export runs/first --sft sft.jsonl --dpo dpo.parquet
    """
    from multigraft.cli.json_line import json_line
    from multigraft.cli.scorers_of import guiding_scorers
    from multigraft.datasets.card import write_card
    from multigraft.datasets.everything import AllResponses
    from multigraft.datasets.export import Exported, Target
    from multigraft.datasets.export import export as write
    from multigraft.datasets.pick import Filters
    from multigraft.datasets.preference import PreferencePairs
    from multigraft.datasets.sft import BestResponses
    from multigraft.errors import InputError
    from multigraft.models.local.catalogue import CATALOGUE
    from multigraft.records.folder import read_settings
    from multigraft.records.reader import RunRecord

    filters = Filters.keeping(keep or [])
    targets: list[Target] = []
    if sft is not None:
        targets.append(Target(BestResponses(top_k=top_k or None, min_reward=min_reward, filters=filters), sft))
    if dpo is not None:
        targets.append(Target(PreferencePairs(rejected_rank=rejected_rank, margin=margin, random=random, seed=seed, filters=filters), dpo))
    if everything is not None:
        targets.append(Target(AllResponses(guiding=guiding_scorers(read_settings(run))), everything))
    if not targets:
        message = "nothing to write; name a file with --sft, --dpo or --all"
        raise InputError(message)

    def said(exported: Exported) -> dict[str, object]:
        counts = exported.counts
        left_out, skipped = dict(counts.dropped), dict(counts.skipped)
        return {"dataset": exported.selection.name, "path": str(exported.path), "rows": counts.rows, "left_out": left_out, "prompts_without_a_row": skipped}

    licences = {known.name: known.terms for known in CATALOGUE.values()}
    with RunRecord(run) as record:
        written = write(record.prompts(), targets, spreadsheet_safe=spreadsheet)
        if card:
            for exported in written:
                write_card(exported, record.settings, licences)
    if as_json:
        typer.echo(json_line([said(exported) for exported in written]))
        return
    for exported in written:
        facts = said(exported)
        parts = [f"{name.replace('_', ' ')}: {', '.join(f'{kind} {count}' for kind, count in counts.items())}" for name in ("left_out", "prompts_without_a_row")
                 if isinstance(counts := facts[name], dict) and counts]  # fmt: skip
        typer.echo(f"{exported.path}: {exported.counts.rows} rows of {exported.selection.name}" + (f" ({'; '.join(parts)})" if parts else ""))
