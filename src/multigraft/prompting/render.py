"""From a call to messages.

Placeholders are replaced in one pass over the template, so what a prompt or a model wrote stands in the messages character by character, also where it looks
like a placeholder. Requests for refinement begin with the prompt, then the response, then the instruction: calls that share a prompt share a prefix, which
servers keep.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from multigraft.errors import InputError, UnknownNameError
from multigraft.prompting.places import fill, places
from multigraft.types import Call, Message, Prompt, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Templates:
    """The wording of the roles that show earlier responses."""

    refine: str
    """User message; holds `{{prompt}}` and `{{response}}`."""
    aggregate: str
    """System text; holds `{{responses}}`, and may hold `{{prompt}}`."""
    fuse: str
    """User message; holds `{{prompt}}` and `{{responses}}`."""
    conclude: str
    """User message; holds `{{prompt}}` and `{{responses}}`."""

    def __post_init__(self) -> None:
        _check("refine", self.refine, required=("prompt", "response"))
        _check("aggregate", self.aggregate, required=("responses",), allowed=("prompt",))
        _check("fuse", self.fuse, required=("prompt", "responses"))
        _check("conclude", self.conclude, required=("prompt", "responses"))


def _check(template: str, text: str, required: tuple[str, ...], allowed: tuple[str, ...] = ()) -> None:
    found = places(text)
    for name in sorted(found.difference(required, allowed)):
        what = f"placeholder in the template '{template}':"
        raise UnknownNameError(what, name, (*required, *allowed))
    missing = ", ".join(f"{{{{{name}}}}}" for name in required if name not in found)
    if missing:
        message = f"the template '{template}' lacks {missing}; put it where the text is to stand"
        raise InputError(message)


def render(prompt: Prompt, call: Call, responses: Mapping[int, str], templates: Templates, system: str | None = None) -> tuple[Message, ...]:
    """Write the messages of a call.

    Args:
        prompt: the question; earlier turns of its conversation are kept.
        call: what is asked; its parents are shown in their order.
        responses: texts of earlier responses by call id; at least those of the parents.
        templates: the wording.
        system: the model's own system text, for prompts that have none.

    Returns:
        The messages. ANSWER: the prompt's own. REFINE, FUSE and CONCLUDE: the last user message is replaced by one made from the template. AGGREGATE: the
        parents stand in the system message, after a system text that is there already, and the prompt's messages follow unchanged.

    Raises:
        ValueError: the role does not fit the number of parents.
        KeyError: the text of a parent is missing.

    Source:
        AGGREGATE follows Mixture-of-Agents (arXiv 2406.04692, section 2.2): numbered responses in a system message. The wording is ours.
    """
    _check_parents(call)
    messages = prompt.messages
    if system is not None and all(message.role != "system" for message in messages):
        messages = (Message("system", system), *messages)
    if call.role is Role.ANSWER:
        return messages
    question = messages[-1].content
    shown = [responses[parent] for parent in call.parents]
    if call.role is Role.REFINE:
        return (*messages[:-1], Message("user", fill(templates.refine, {"prompt": question, "response": shown[0]})))
    numbered = "\n\n".join(f"{number}. {text}" for number, text in enumerate(shown, start=1))
    if call.role in {Role.FUSE, Role.CONCLUDE}:
        wording = templates.fuse if call.role is Role.FUSE else templates.conclude
        return (*messages[:-1], Message("user", fill(wording, {"prompt": question, "responses": numbered})))
    text = fill(templates.aggregate, {"prompt": question, "responses": numbered})
    if messages[0].role == "system":
        return (Message("system", f"{messages[0].content}\n\n{text}"), *messages[1:])
    return (Message("system", text), *messages)


def _check_parents(call: Call) -> None:
    count = len(call.parents)
    fits = {Role.ANSWER: count == 0, Role.REFINE: count == 1}.get(call.role, count >= 1)
    if not fits:
        message = f"call {call.call_id} has the role {call.role} and {count} parents"
        raise ValueError(message)
