import os

import pytest

from multigraft.errors import InputError
from multigraft.models.local.serving import Serving, threads_for, usable_cores


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"threads": 0}, "threads is 0; it is from 1"),
        ({"slots": 0}, "slots is 0"),
        ({"min_p": 1.5}, "min_p is 1.5"),
        ({"start_timeout_s": 0}, "must be above 0"),
    ],
)
def test_settings_out_of_range_are_refused(setting: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Serving(**setting)  # type: ignore[arg-type]  # whole numbers and fractions alike


@pytest.mark.parametrize(("num_models", "num_cores", "threads"), [(3, 2, 1), (2, 2, 1), (1, 2, 2), (3, 16, 5), (1, 64, 8), (4, 1, 1)])
def test_servers_share_the_cores(num_models: int, num_cores: int, threads: int) -> None:
    assert threads_for(num_models, num_cores) == threads


def test_no_more_cores_are_counted_than_there_are() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)
