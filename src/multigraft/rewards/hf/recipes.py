"""Known reward models: how each is asked and what its numbers mean. A model that is none of these works from its config.

Sources: ArmoRM (arXiv 2406.12845, and `modeling_custom.py` of its repository), Skywork-Reward (arXiv 2410.18451), InternLM2 (arXiv 2403.17297, and
`modeling_internlm2.py`), UltraRM (arXiv 2310.01377, and `modeling_llama_rm.py`), Qwen2.5-Math-RM (arXiv 2409.12122) and -PRM (arXiv 2501.07301, and
`modeling_qwen2_rm.py`), Math-Shepherd (arXiv 2312.08935, and the card of its model). The scales are wide bounds around the numbers of the cards.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from multigraft.errors import UnknownNameError

Head: TypeAlias = Literal["auto", "gated", "regression", "internlm2", "qwen2_reward", "qwen2_process", "causal"]
"""`auto`: the class transformers has for it."""
Layout: TypeAlias = Literal["auto", "chat", "human_assistant", "pair", "plain"]
"""`auto`: the chat template where there is one, else a pair of texts for an encoder. `plain`: prompt, a space, the response."""

MATH_SYSTEM = "Please reason step by step, and put your final answer within \\boxed{}."
ARMORM_ATTRIBUTES = (
    "helpsteer-helpfulness",
    "helpsteer-correctness",
    "helpsteer-coherence",
    "helpsteer-complexity",
    "helpsteer-verbosity",
    "ultrafeedback-overall_score",
    "ultrafeedback-instruction_following",
    "ultrafeedback-truthfulness",
    "ultrafeedback-honesty",
    "ultrafeedback-helpfulness",
    "beavertails-is_safe",
    "prometheus-score",
    "argilla-overall_quality",
    "argilla-judge_lm",
    "code-complexity",
    "code-style",
    "code-explanation",
    "code-instruction-following",
    "code-readability",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one family of reward models is asked."""

    name: str
    repositories: tuple[str, ...] = ()
    """Patterns of the last part of the name, in small letters."""
    architectures: tuple[str, ...] = ()
    """Classes named in config.json that only this family uses."""
    head: Head = "auto"
    layout: Layout = "auto"
    system: str | None = None
    """The system turn it was trained with, for prompts that have none."""
    attributes: tuple[str, ...] = ()
    """Names of the numbers behind the value, in the head's order."""
    scale: tuple[float, float] | None = None
    """Where its values lie; one outside is told in the message of the score."""
    end_token: str | None = None
    """Name in config.json of the id of a token that follows the conversation; the value is read there."""
    tag: str = ""
    """What stands after each step."""
    good: str = ""
    bad: str = ""
    """The tokens whose probabilities at a tag are compared; empty where the head has two classes."""
    steps: Literal["blank_line", "line"] = "blank_line"
    """What divides a response into steps."""
    step_prefix: str = ""
    """Put before a step that does not say its number; `{number}` is filled in."""


CLASSIFIERS: tuple[Recipe, ...] = (
    Recipe(
        name="armorm",
        repositories=("armorm-*",),
        architectures=("LlamaForRewardModelWithGating",),
        head="gated",
        layout="chat",
        attributes=ARMORM_ATTRIBUTES,
        scale=(-1.0, 1.0),
    ),
    Recipe(name="skywork", repositories=("skywork-reward-*",), layout="chat", scale=(-80.0, 80.0)),
    Recipe(
        name="internlm2",
        repositories=("internlm2-*-reward",),
        architectures=("InternLM2ForRewardModel",),
        head="internlm2",
        layout="chat",
        scale=(-20.0, 20.0),
        end_token="reward_token_id",  # noqa: S106 - the name of a field
    ),
    Recipe(
        name="qwen2.5-math-rm",
        repositories=("qwen2*-math-rm-*",),
        architectures=("Qwen2ForRewardModel",),
        head="qwen2_reward",
        layout="chat",
        system=MATH_SYSTEM,
        scale=(-50.0, 50.0),
    ),
    Recipe(
        name="ultrarm",
        repositories=("ultrarm-*",),
        architectures=("LlamaRewardModel",),
        head="regression",
        layout="human_assistant",
        scale=(-40.0, 40.0),
    ),
    Recipe(name="openassistant", repositories=("reward-model-deberta-*",), layout="pair", scale=(-20.0, 20.0)),
)
UNKNOWN = Recipe(name="config")
"""A classifier that is none of the above."""

PROCESSES: tuple[Recipe, ...] = (
    Recipe(
        name="math-shepherd",
        repositories=("math-shepherd-*",),
        head="causal",
        layout="plain",
        tag="ки",
        good="+",
        bad="-",
        steps="line",
        step_prefix="Step {number}: ",
    ),
    Recipe(
        name="qwen2.5-math-prm",
        repositories=("qwen2.5-math-prm-*", "qwen2.5-math-7b-prm800k"),
        architectures=("Qwen2ForProcessRewardModel",),
        head="qwen2_process",
        layout="chat",
        system=MATH_SYSTEM,
        tag="<extra_0>",
    ),
)


def recipe_of(name: str, origin: str, architecture: str, known: Iterable[Recipe]) -> Recipe | None:
    """Find the recipe of a model.

    Args:
        name: what the run file says; `auto`: look at the model.
        origin: folder or repository.
        architecture: from config.json.
        known: in the order of asking.

    Returns:
        The recipe; None when it is to be looked for and none fits.

    Raises:
        UnknownNameError: a name that is none of theirs.
    """
    recipes = tuple(known)
    if name != "auto":
        for recipe in recipes:
            if recipe.name == name:
                return recipe
        what = "recipe of a reward model"
        raise UnknownNameError(what, name, ["auto", *(recipe.name for recipe in recipes)])
    last = origin.replace("\\", "/").rstrip("/").rpartition("/")[2].casefold()
    for recipe in recipes:
        if architecture in recipe.architectures:
            return recipe
    for recipe in recipes:
        if any(fnmatchcase(last, pattern) for pattern in recipe.repositories):
            return recipe
    return None
