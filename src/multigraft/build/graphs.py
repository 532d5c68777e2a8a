"""The graph of a run: from a path to its text, and whether the run has what it takes."""

from collections.abc import Collection, Sequence
from pathlib import Path

from multigraft.build.rewards import Built
from multigraft.errors import InputError, boundary
from multigraft.graphs.graph_file import graph_of, text_of
from multigraft.rewards.rules.reward import Rules
from multigraft.strategies.graph import Collaboration
from multigraft.strategies.table import AnyStrategy
from multigraft.types import Prompt, Reward

FIELD = "strategy.graph"


def graph_text(given: object) -> str:
    """Return the text of a graph, so that a run's folder holds the whole of it.

    Args:
        given: the text itself, or the path of a file that holds it, relative to the working directory.

    Returns:
        The text in its one form; what the file says of where the graph comes from is left out.

    Raises:
        InputError: no such file, or no graph in it.
    """
    if not isinstance(given, str) or not given.strip():
        message = "names the file of a graph, such as graph.json"
        raise InputError(message, field=FIELD)
    if given.lstrip().startswith("{"):
        return text_of(graph_of(given, file=FIELD))
    with boundary(InputError, f"reading the graph {given}", OSError, UnicodeDecodeError):
        text = Path(given).read_text("utf-8")
    return text_of(graph_of(text, file=given))


def refuse_unfit_graph(strategy: AnyStrategy, models: Collection[str], rewards: Built) -> None:
    """Refuse a graph that the run cannot carry out, before anything is paid.

    Args:
        strategy: of the run, any.
        models: names of those that answer.
        rewards: of the run.

    Raises:
        InputError: a node's model is none of them; or the sink votes and no part of the reward reads answers.
    """
    if not isinstance(strategy, Collaboration):
        return
    missing = [f"'{name}'" for name in strategy.models if name not in models]
    if missing:
        message = f"nodes call {', '.join(missing)}, and the models of the run that answer are {', '.join(models)}; name them with --models, or in [[models]]"
        raise InputError(message, field=FIELD)
    if strategy.counts_answers and not any(getattr(reward, "reads_answers", False) for reward in rewards.rewards):
        message = 'the sink votes, and no part of the reward reads answers that could be counted; add one: --reward final_answer, or kind = "final_answer"'
        raise InputError(message, field="reward.parts")


def refuse_blind_choice(strategy: AnyStrategy, rewards: Built, prompts: Sequence[Prompt]) -> None:
    """Refuse a graph whose sink takes the response of the highest reward where none will ever have one, before anything is paid.

    Args:
        strategy: of the run, any.
        rewards: of the run.
        prompts: of the run.

    Raises:
        InputError: a part of the reward that must be there has nothing to go by in any prompt.
    """
    if not (isinstance(strategy, Collaboration) and strategy.waits_for_rewards and prompts):
        return
    blind = {reward.name for reward in rewards.rewards if not any(_applies(reward, prompt) for prompt in prompts)}
    optional = {part.name for part in rewards.combination.parts if part.optional}
    needed = [name for name in sorted(blind) if name not in optional or len(blind) == len(rewards.rewards)]
    if needed:
        message = (
            f"the sink takes the response of the highest reward, and '{needed[0]}' can give none: the prompts have neither constraints nor a reference. Add "
            "them to the prompts, name a reward that needs neither, such as --reward judge:MODEL, or let the graph end in a vote or a model"
        )
        raise InputError(message, field="reward.parts")


def _applies(reward: Reward, prompt: Prompt) -> bool:
    return not isinstance(reward, Rules) or reward.applies_to(prompt)
