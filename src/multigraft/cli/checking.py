"""Probe models, one after the other, and show what was found."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from multigraft.build.models import build_model
from multigraft.cli.progress import FetchBars
from multigraft.cli.text import shown
from multigraft.config import RunFile
from multigraft.models.probe import ProbeReport, probe


async def check_all(run_file: RunFile, console: Console) -> dict[str, ProbeReport]:
    """Probe every model of a run file; embedded ones are fetched and started.

    Args:
        run_file: checked.
        console: for the progress of fetching, on stderr.
    """
    reports: dict[str, ProbeReport] = {}
    for table in run_file.models:
        built = build_model(table, run_file, logprobs=False, progress=FetchBars(console))
        try:
            if built.starting is not None:
                await built.starting.start()
            reports[table.name] = await probe(built.model)
        finally:
            if built.closing is not None:
                await built.closing.close()
    return reports


def print_report(console: Console, name: str, report: ProbeReport) -> None:
    """Print what was found of one model."""
    for endpoint in report.endpoints:
        latency = "" if endpoint.latency_s is None else f", first answer after {endpoint.latency_s:.2f} s"
        state = ("answers", "green") if endpoint.answers else ("does not answer", "red")
        console.print(Text(f"{shown(name)} at {shown(endpoint.endpoint)}: "), Text(state[0], style=state[1]), Text(f"({endpoint.calls} calls{latency})"))
        if endpoint.error:
            console.print(Text(f"  {shown(endpoint.error)}"))
            console.print(Text(f"  remedy: {endpoint.remedy}"))
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 2))
        for finding in endpoint.findings:
            table.add_row(finding.what, finding.verdict, Text(shown(finding.detail)))
        console.print(table)
