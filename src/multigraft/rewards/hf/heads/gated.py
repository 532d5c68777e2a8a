"""ArmoRM: many objectives, weighted by a gate that reads the prompt."""

from itertools import pairwise

import torch
from torch import nn
from transformers import LlamaModel, LlamaPreTrainedModel
from transformers.models.llama.configuration_llama import LlamaConfig


class Gate(nn.Module):  # type: ignore[misc] # torch is not typed here
    """A perceptron whose softmax, cooled by a temperature, is the weight of each objective."""

    def __init__(self, hidden: int, objectives: int, *, temperature: float, width: int, layers: int) -> None:
        super().__init__()
        self.temperature = temperature
        self.logit_scale = nn.Parameter(torch.ones(1))
        sizes = [hidden, *[width] * layers]
        between = [nn.Linear(before, after) for before, after in pairwise(sizes)]
        self.layers = nn.ModuleList([*between, nn.Linear(sizes[-1], objectives)])

    def forward(self, prompts: torch.Tensor) -> torch.Tensor:
        """Weigh the objectives: (rows, hidden) to (rows, objectives)."""
        *between, last = self.layers
        for layer in between:
            prompts = torch.relu(layer(prompts))
        return torch.softmax(last(prompts) / self.temperature, dim=-1) * self.logit_scale


class GatedReward(LlamaPreTrainedModel):  # type: ignore[misc] # transformers is not typed here
    """Llama with the tensors of `LlamaForRewardModelWithGating`.

    Source:
        Wang et al., "Interpretable Preferences via Multi-Objective Reward Modeling and Mixture-of-Experts" (arXiv 2406.12845), section 3, and
        `modeling_custom.py` of RLHFlow/ArmoRM-Llama3-8B-v0.1 for the names and the order of the tensors.
    """

    config_class = LlamaConfig
    group = 2
    """It reads two places of a row: where the prompt ends, and where the response does."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(config)
        objectives = int(getattr(config, "num_objectives", 19))
        self.model = LlamaModel(config)
        self.regression_layer = nn.Linear(config.hidden_size, objectives, bias=False)
        self.reward_transform_matrix = nn.Parameter(torch.zeros(objectives, objectives), requires_grad=False)
        self.gating = Gate(
            config.hidden_size,
            objectives,
            temperature=float(getattr(config, "gating_temperature", 10)),
            width=int(getattr(config, "gating_hidden_dim", 1024)),
            layers=int(getattr(config, "gating_n_hidden", 3)),
        )
        self.post_init()

    def project(self, hidden: torch.Tensor) -> torch.Tensor:
        """Read states of both places, alternating.

        Args:
            hidden: (2 x rows, hidden).

        Returns:
            (rows, 1 + objectives): the preference score, then the reward of each objective before the transform.
        """
        prompts, responses = hidden[0::2], hidden[1::2]
        rewards = self.regression_layer(responses)
        score = (self.gating(prompts) * (rewards @ self.reward_transform_matrix)).sum(dim=-1, keepdim=True)
        return torch.cat([score, rewards], dim=-1)
