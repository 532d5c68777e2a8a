"""How a conversation and its response are written for a reward model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from multigraft.rewards.hf.templates import ChatTemplate, TemplateFailedError
from multigraft.rewards.rendering import conversation, fill
from multigraft.types import Message


@dataclass(frozen=True, slots=True)
class Written:
    """One conversation as text."""

    text: str
    templated: bool
    """It comes from a chat template, which writes start tokens itself."""
    pair: str | None = None


class Writing(Protocol):
    """Writes conversations; its `repr` is part of the version of a score."""

    def write(self, messages: Sequence[Message], response: str) -> Written:
        """Write one.

        Raises:
            TemplateFailedError: the model's template does not take it.
        """
        ...


class Chat:
    """The model's own chat template.

    Args:
        template: of the model.
        system: turn put first where the conversation has none.
    """

    def __init__(self, template: ChatTemplate, *, system: str | None) -> None:
        self._template = template
        self._system = system
        self._takes_system = True

    def check(self) -> None:
        """Render a conversation, and find out whether system turns are taken.

        Raises:
            TemplateFailedError: the template cannot be used at all.
        """
        turns = [Message("user", "What is 2 + 3?"), Message("assistant", "5")]
        self._template.render(turns)
        try:
            with_system = self._template.render([Message("system", "Reply in digits."), *turns])
        except TemplateFailedError:
            self._takes_system = False
        else:
            self._takes_system = "Reply in digits." in with_system

    def write(self, messages: Sequence[Message], response: str) -> Written:
        """Render the turns, then the response as the assistant's."""
        turns = self.turns(messages)
        return Written(self._template.render([*turns, Message("assistant", response)]), templated=True)

    def open(self, messages: Sequence[Message]) -> Written:
        """Render the turns up to where the assistant is to begin."""
        return Written(self._template.render(self.turns(messages), add_generation_prompt=True), templated=True)

    def turns(self, messages: Sequence[Message]) -> list[Message]:
        """Put the system turn where the template takes it: first, or at the head of the first turn."""
        turns = list(messages)
        if self._system is not None and turns[0].role != "system":
            turns.insert(0, Message("system", self._system))
        if turns[0].role == "system" and not self._takes_system and len(turns) > 1:
            turns[:2] = [Message(turns[1].role, f"{turns[0].content}\n\n{turns[1].content}")]
        return turns


@dataclass(frozen=True, slots=True)
class Places:
    """A text with the places `{prompt}` and `{response}`."""

    template: str

    def write(self, messages: Sequence[Message], response: str) -> Written:
        """Fill them in."""
        return Written(fill(self.template, {"prompt": conversation(messages), "response": response}), templated=False)


@dataclass(frozen=True, slots=True)
class Turns:
    """Turns headed `Human:` and `Assistant:`, with blank lines between."""

    human: str = "Human"
    assistant: str = "Assistant"

    def write(self, messages: Sequence[Message], response: str) -> Written:
        """Write all turns; a system turn stands at the head without a name."""
        names = {"user": f"{self.human}: ", "assistant": f"{self.assistant}: "}
        turns = [*messages, Message("assistant", response)]
        return Written("\n\n".join(f"{names.get(turn.role, '')}{turn.content}" for turn in turns), templated=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts, for encoders that read pairs."""

    kind: Literal["pair"] = "pair"

    def write(self, messages: Sequence[Message], response: str) -> Written:
        """Put the conversation first and the response second."""
        return Written(conversation(messages), templated=False, pair=response)
