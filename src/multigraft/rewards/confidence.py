"""How sure the model that wrote an answer was of it: free with the response, and comparable within one model only."""

from collections.abc import Sequence

from multigraft.rewards.scores import scored, unscored
from multigraft.types import Candidate, FailureKind, Score


class Confidence:
    """Value = mean natural log-probability of the answer's tokens under the model that wrote it; <= 0.

    Models differ in how sure they are, whatever they say, so a combination standardises it by model (`combine.Part(..., normalise="model")`).

    Args:
        name: what records know it by.

    Source:
        Kang et al., "Scalable Best-of-N Selection for Large Language Models via Self-Certainty" (arXiv 2502.18581), which compares the
        average log-probability with other measures of certainty.
    """

    version = "1"
    max_batch = 64

    def __init__(self, *, name: str = "confidence") -> None:
        self.name = name

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Read the log-probabilities off the completions."""
        return [self._of(candidate) for candidate in candidates]

    @staticmethod
    def _of(candidate: Candidate) -> Score:
        mean = candidate.completion.mean_logprob
        if mean is None:
            remedy = f"no log-probabilities came with it: turn logprobs on for model '{candidate.call.model}', or use an endpoint that returns them"
            return unscored(FailureKind.UNSCORABLE, remedy)
        return scored(mean)
