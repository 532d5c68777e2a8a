"""UltraRM and its like: one linear layer named `regression_head` over a Llama."""

import torch
from torch import nn
from transformers import LlamaModel, LlamaPreTrainedModel
from transformers.models.llama.configuration_llama import LlamaConfig


class RegressionReward(LlamaPreTrainedModel):  # type: ignore[misc] # transformers is not typed here
    """Llama with the tensors of `LlamaRewardModel`.

    Source:
        Cui et al., "UltraFeedback" (arXiv 2310.01377), and `modeling_llama_rm.py` of openbmb/UltraRM-13b for the names of the tensors.
    """

    config_class = LlamaConfig
    group = 1

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__(config)
        self.model = LlamaModel(config)
        self.regression_head = nn.Linear(config.hidden_size, 1, bias=False)
        self.post_init()

    def project(self, hidden: torch.Tensor) -> torch.Tensor:
        """Score the last state of each row."""
        return self.regression_head(hidden)
