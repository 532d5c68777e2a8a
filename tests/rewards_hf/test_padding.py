"""Models whose scores depend on padding are found out at the start, whatever their architecture."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.rewards_hf.answers import answers, same, values

from multigraft.rewards.hf.classifier import Classifier
from multigraft.rewards.hf.model_reward import ModelReward
from multigraft.rewards.hf.tokens import Row


def sums(*, sees_right: bool, heeds_mask: bool) -> Any:
    """A model whose state at a position is the sum of ids up to it, or of all."""
    import torch

    def run(ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor | None) -> torch.Tensor:
        seen = (ids * mask if heeds_mask else ids).float()
        total = seen.sum(-1, keepdim=True).expand(seen.shape) if sees_right else seen.cumsum(-1)
        return total.unsqueeze(-1)

    return run


@pytest.mark.parametrize(("sees_right", "heeds_mask", "padded"), [(False, False, True), (True, True, True), (True, False, False)])
def test_padding_is_tried(sees_right: bool, heeds_mask: bool, padded: bool, tiny: Callable[[str], Path]) -> None:
    tiny("classifier")
    import torch

    from multigraft.rewards.hf.network import TorchNetwork

    network = TorchNetwork(sums(sees_right=sees_right, heeds_mask=heeds_mask), lambda states: states, group=1, pad_id=9, device="cpu")
    rows: Sequence[Row] = (Row((1, 2), (1,)), Row((3, 4, 5), (2,)))
    assert network.settle(rows[0], rows[1], torch.float32) is padded
    assert network.padded is padded
    expected = [[[3.0]], [[12.0]]]
    assert (network.read(rows) == expected) is padded
    assert [network.read([row])[0] for row in rows] == expected


async def test_positions_that_follow_the_longest_row_are_never_padded(
    tiny: Callable[[str], Path], tmp_path: Path, closing: Callable[[ModelReward], ModelReward]
) -> None:
    """A model that changes its angles with the length of a batch would score a short text differently beside a long one."""
    from tests.rewards_hf.tiny_models import classifier

    shutil.copytree(tiny("classifier"), tmp_path / "model")
    factors = {"short_factor": [1.0] * 4, "long_factor": [8.0] * 4, "original_max_position_embeddings": 64, "factor": 8.0}
    classifier(tmp_path / "model", rope_scaling={"rope_type": "longrope", "rope_theta": 10000.0, **factors})
    reward = closing(Classifier(model=str(tmp_path / "model")))
    together = values(await reward.score(answers()))
    assert together == same([values(await reward.score([candidate]))[0] for candidate in answers()])
    assert reward._ready is not None
    assert [network.padded for network in reward._ready.loaded.networks] == [False]
