"""What calls in flight cost the tree search, by the simulation of benchmarks/parallel_search.py."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "parallel_search.py"
    spec = importlib.util.spec_from_file_location("parallel_search_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("index", range(4))
def test_32_calls_in_flight_lose_less_than_a_hundredth_and_end_12_times_sooner(benchmark: ModuleType, index: int) -> None:
    compared = benchmark.compare(benchmark.SETTINGS[index], alpha=0.01, in_flight=32, num_prompts=200)
    assert compared.difference_percent > -1.0
    assert compared.times_sooner >= 12.0


def test_one_call_in_flight_is_compared_with_itself(benchmark: ModuleType) -> None:
    compared = benchmark.compare(benchmark.SETTINGS[0], alpha=0.01, in_flight=1, num_prompts=5)
    assert (compared.difference_percent, compared.times_sooner) == (0.0, 1.0)
