"""The card of a dataset: what it holds and how it was made, as Markdown with the front matter the Hugging Face hub reads."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from multigraft import __version__
from multigraft.datasets.columns import Column
from multigraft.datasets.escape import fenced, json_block, markdown_text, yaml_text
from multigraft.datasets.export import Exported
from multigraft.datasets.settings import model_facts, public_settings, setting_name
from multigraft.datasets.unfinished import UnfinishedFile, writing
from multigraft.knowledge import Moments
from multigraft.types import Json

CARD_SUFFIX = ".card.md"

_SIZES = ((1e3, "n<1K"), (1e4, "1K<n<10K"), (1e5, "10K<n<100K"), (1e6, "100K<n<1M"), (1e7, "1M<n<10M"), (1e8, "10M<n<100M"), (1e9, "100M<n<1B"))
_TRAINERS = {"sft": "SFTTrainer", "preference": "DPOTrainer"}


def card_path(dataset: Path) -> Path:
    """Name the card of a dataset: `sft.jsonl` has `sft.jsonl.card.md` beside it, so that no README of the folder is touched."""
    return dataset.with_name(dataset.name + CARD_SUFFIX)


def write_card(exported: Exported, settings: Mapping[str, Json], licences: Mapping[str, str] | None = None) -> Path:
    """Write the card of a dataset beside it.

    Args:
        exported: the dataset.
        settings: of the run file, such as `RunRecord.settings`; addresses and keys in it are left out.
        licences: of models whose licence the settings do not state, by their name or their source.

    Returns:
        Path of the card. On the hub it is the `README.md` of the dataset.

    Raises:
        InputError: it cannot be written there.
        DiskFullError: no space is left.
    """
    path = card_path(exported.path)
    with UnfinishedFile(path) as unfinished:
        with writing(path):
            unfinished.file.write(render_card(exported, settings, licences).encode())
        unfinished.publish()
    return path


def render_card(exported: Exported, settings: Mapping[str, Json], licences: Mapping[str, str] | None = None) -> str:
    """Make the text of the card."""
    parts = [
        _front_matter(exported),
        _what(exported, settings),
        _models(settings, licences or {}),
        "## How it was made\n\n" + json_block(public_settings(settings)),
        _counts(exported),
        _rewards(exported),
        _winners(exported),
        _columns(exported),
        _loading(exported),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _front_matter(exported: Exported) -> str:
    name = exported.selection.name
    size = next((label for bound, label in _SIZES if exported.counts.rows < bound), "n>1B")
    tags = ["multigraft", "synthetic", *({"preference": ["trl", "dpo"], "sft": ["trl", "sft"]}.get(name, []))]
    lines = [
        "---",
        f"pretty_name: {yaml_text(exported.path.stem)}",
        "tags:",
        *(f"- {tag}" for tag in tags),
        "task_categories:",
        "- text-generation",
        "size_categories:",
        f"- {size}",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        f"    path: {yaml_text(exported.path.name)}",
        "---",
    ]
    return "\n".join(lines)


def _what(exported: Exported, settings: Mapping[str, Json]) -> str:
    strategy = setting_name(settings.get("strategy"))
    seed = settings.get("seed")
    made = f"Made with multigraft {__version__}"
    made += "" if strategy is None else f", strategy {markdown_text(strategy)}"
    made += "" if seed is None else f", seed {markdown_text(str(seed))}"
    counts = exported.counts
    return (
        f"# {markdown_text(exported.path.stem)}\n\n{made}: {exported.selection.rule}.\n\n"
        f"{counts.rows} rows from {counts.prompts} prompts. The responses were written by language models and chosen by a reward, not by people."
    )


def _models(settings: Mapping[str, Json], licences: Mapping[str, str]) -> str:
    facts = model_facts(settings)
    rows = [
        [fact.name, fact.source or "not stated", fact.licence or licences.get(fact.name) or licences.get(fact.source or "") or "not stated"] for fact in facts
    ]
    licence = "The licences of the models, and of the prompts, bear on what may be done with this dataset; state its own as `license:` in the front matter."
    return "## Models\n\n" + (_table(["model", "source", "licence"], rows) + "\n\n" if rows else "") + licence


def _counts(exported: Exported) -> str:
    counts, statistics = exported.counts, exported.statistics
    rows: list[list[object]] = [
        ["prompts", statistics.prompts],
        ["prompts still unfinished", statistics.unfinished],
        ["calls with an outcome", statistics.calls],
    ]
    rows += [["responses", statistics.responses], ["responses with a reward", statistics.scored], ["rows here", counts.rows]]
    rows += [[f"calls failed: {kind}", count] for kind, count in sorted(statistics.failures.items())]
    rows += [[f"responses without a reward: {kind}", count] for kind, count in sorted(statistics.unscored.items())]
    rows += [[f"responses left out: {rule}", count] for rule, count in sorted(counts.dropped.items())]
    rows += [[f"prompts without a row: {reason}", count] for reason, count in sorted(counts.skipped.items())]
    rows += [["rows with half a surrogate pair, now U+FFFD", counts.normalised]] if counts.normalised else []
    spent = statistics.spent
    rows += [["tokens spent", spent.tokens]]
    # 0 is what sizes and prices nobody gave add up to, so it says nothing.
    rows += [["FLOPs spent", f"{spent.flops:.4g}"]] if spent.flops else []
    rows += [["dollars spent", f"{spent.usd:.4f}"]] if spent.usd else []
    return "## Counts\n\n" + _table(["what", "how many"], rows)


def _rewards(exported: Exported) -> str:
    statistics = exported.statistics
    if not statistics.scored:
        return ""
    named: list[tuple[str, Moments]] = [
        ("best response of each prompt", statistics.best_rewards),
        ("first response of each prompt", statistics.first_rewards),
        ("all responses", statistics.rewards),
    ]
    rows = [[name, moments.count, f"{moments.mean:.4g}", "" if moments.spread is None else f"{moments.spread:.4g}"] for name, moments in named]
    return "## Rewards\n\n" + _table(["of", "count", "mean", "standard deviation"], rows)


def _winners(exported: Exported) -> str:
    counts = exported.counts
    total = counts.winners_by_model.total()
    if not total:
        return ""
    models = [[model, count, f"{count / total:.1%}"] for model, count in counts.winners_by_model.most_common()]
    depths = [[depth, count, f"{count / total:.1%}"] for depth, count in sorted(counts.winners_by_depth.items())]
    return (
        "## Where the best responses come from\n\n"
        + _table(["model", "prompts", "share"], models)
        + "\n\nDepth counts the refinements and aggregations on the way to a response; 0 was answered afresh.\n\n"
        + _table(["depth", "prompts", "share"], depths)
    )


def _columns(exported: Exported) -> str:
    own = {name: Column(kind, "of the prompt's row") for name, kind in exported.field_kinds.items()}
    rows = [[name, column.kind.value, column.meaning] for name, column in {**exported.selection.columns, **own}.items()]
    note = "Fields of the prompts whose name has a meaning of its own here, or in TRL, have `field_` before it."
    return "## Columns\n\n" + _table(["column", "type", "meaning"], rows) + "\n\n" + note


def _loading(exported: Exported) -> str:
    name = repr(exported.path.name)
    form = exported.path.suffix.lower().removeprefix(".")
    reader, builder = {"parquet": ("read_parquet", "parquet"), "csv": ("read_csv", "csv")}.get(form, ("read_ndjson", "json"))
    # Columns may be null for longer than polars looks ahead by itself.
    ahead = "" if form == "parquet" else ", infer_schema_length=None"
    lines = ["import polars", "", f"frame = polars.{reader}({name}{ahead})", "", "from datasets import load_dataset", ""]
    lines += [f'dataset = load_dataset("{builder}", data_files={name}, split="train")']
    trainer = _TRAINERS.get(exported.selection.name)
    if trainer is not None and form != "csv":
        lines += ["", f"from trl import {trainer}", "", f'trainer = {trainer}(model="...", train_dataset=dataset)']
    return "## How to load it\n\n" + fenced("\n".join(lines), "python")


def _table(header: list[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header)]
    shown = [[markdown_text(str(cell)) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines + shown)
