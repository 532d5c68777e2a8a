"""The cases of `benchmarks/fault_matrix_endpoints.py`, scaled down."""

import pytest
from benchmarks.fault_matrix_endpoints import CASES

QUICK = ("C8", "C17", "C21")


async def _held(name: str) -> None:
    outcome = await CASES[name](quick=True)
    assert outcome.claims
    assert [claim.text for claim in outcome.claims if not claim.held] == [], outcome.numbers


@pytest.mark.parametrize("name", QUICK)
async def test_bounds_hold(name: str) -> None:
    await _held(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CASES.keys() - set(QUICK)))
async def test_bounds_hold_over_time(name: str) -> None:
    await _held(name)
