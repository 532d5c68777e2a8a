"""Qwen2.5-Math-RM and -PRM: a perceptron over a Qwen2, with one output for the whole answer or two classes for each step."""

import torch
from torch import nn
from transformers import Qwen2Model, Qwen2PreTrainedModel
from transformers.models.qwen2.configuration_qwen2 import Qwen2Config


class Qwen2Score(Qwen2PreTrainedModel):  # type: ignore[misc] # transformers is not typed here
    """Qwen2 with the tensors of `Qwen2ForRewardModel` and `Qwen2ForProcessRewardModel`.

    Source:
        Yang et al., "Qwen2.5-Math Technical Report" (arXiv 2409.12122), section 4; Zhang et al., "The Lessons of Developing Process Reward Models in
        Mathematical Reasoning" (arXiv 2501.07301); `modeling_qwen2_rm.py` of their repositories for the names of the tensors.
    """

    config_class = Qwen2Config
    group = 1
    labels = 1

    def __init__(self, config: Qwen2Config) -> None:
        super().__init__(config)
        self.model = Qwen2Model(config)
        self.score = nn.Sequential(nn.Linear(config.hidden_size, config.hidden_size), nn.ReLU(), nn.Linear(config.hidden_size, self.labels))
        self.post_init()

    def project(self, hidden: torch.Tensor) -> torch.Tensor:
        """Score states."""
        return self.score(hidden)


class Qwen2Reward(Qwen2Score):
    """One number for an answer."""


class Qwen2Process(Qwen2Score):
    """Two classes for a step."""

    labels = 2

    def project(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return log-probabilities of (good, bad) for each step's state."""
        return torch.log_softmax(super().project(hidden).float(), dim=-1).flip(-1)
