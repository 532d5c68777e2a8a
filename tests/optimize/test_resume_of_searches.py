"""Searches that are killed and go on; `benchmarks/optimize_kills.py` has the full numbers."""

from pathlib import Path

import pytest
from tests.optimize.rows_kills import row_search_kills


@pytest.mark.slow
@pytest.mark.parametrize("method", ["random", "agent_reinforce"])
def test_a_search_survives_kills(tmp_path: Path, method: str) -> None:
    row = row_search_kills(tmp_path, method, kills=3)
    assert row.failed == (), row.seen
