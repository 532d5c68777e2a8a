"""How a conversation and its response are written for a reward model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from multigraft.rewards.hf.templates import ChatTemplate, TemplateFailedError
from multigraft.rewards.rendering import conversation, fill
from multigraft.types import Message


@dataclass(frozen=True, slots=True)
class Conversation:
    """A prompt and a response to it, without markup of the model."""

    messages: Sequence[Message]
    response: str


@dataclass(frozen=True, slots=True)
class Written:
    """One conversation as text."""

    text: str
    pair: str | None = None
    ends: tuple[int, ...] = ()
    """Where each step of a process reward ends: the last character of its tag."""


class Writing(Protocol):
    """Writes conversations; its `repr` is part of the version of a score."""

    templated: ClassVar[bool]
    """Whether texts come from a chat template, which writes start tokens itself."""

    def write(self, conversations: Sequence[Conversation]) -> Sequence[Written | TemplateFailedError]:
        """Write each, or say how the model's template failed."""
        ...


class Chat:
    """The model's own chat template.

    Args:
        template: of the model.
        system: turn put first where the conversation has none.
    """

    templated: ClassVar[bool] = True

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
        without, with_system = self._template.render([turns, [Message("system", "Reply in digits."), *turns]])
        if isinstance(without, TemplateFailedError):
            raise without
        self._takes_system = isinstance(with_system, str) and "Reply in digits." in with_system

    def write(self, conversations: Sequence[Conversation]) -> list[Written | TemplateFailedError]:
        """Render the turns, then the response as the assistant's."""
        return _written(self._template.render([[*self.turns(one.messages), Message("assistant", one.response)] for one in conversations]))

    def open(self, prompts: Sequence[Sequence[Message]]) -> list[Written | TemplateFailedError]:
        """Render the turns up to where the assistant is to begin."""
        return _written(self._template.render([self.turns(messages) for messages in prompts], add_generation_prompt=True))

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
    templated: ClassVar[bool] = False

    def write(self, conversations: Sequence[Conversation]) -> list[Written]:
        """Fill them in."""
        return [Written(fill(self.template, {"prompt": conversation(one.messages), "response": one.response})) for one in conversations]


@dataclass(frozen=True, slots=True)
class Turns:
    """Turns headed `Human:` and `Assistant:`, with blank lines between."""

    human: str = "Human"
    assistant: str = "Assistant"
    templated: ClassVar[bool] = False

    def write(self, conversations: Sequence[Conversation]) -> list[Written]:
        """Write all turns; a system turn stands at the head without a name."""
        names = {"user": f"{self.human}: ", "assistant": f"{self.assistant}: "}
        all_turns = ([*one.messages, Message("assistant", one.response)] for one in conversations)
        return [Written("\n\n".join(f"{names.get(turn.role, '')}{turn.content}" for turn in turns)) for turns in all_turns]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts, for encoders that read pairs."""

    kind: Literal["pair"] = "pair"
    templated: ClassVar[bool] = False

    def write(self, conversations: Sequence[Conversation]) -> list[Written]:
        """Put the conversation first and the response second."""
        return [Written(conversation(one.messages), pair=one.response) for one in conversations]


def _written(texts: Sequence[str | TemplateFailedError]) -> list[Written | TemplateFailedError]:
    return [Written(text) if isinstance(text, str) else text for text in texts]
