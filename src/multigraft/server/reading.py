"""From the bodies of the routes to candidates. What does not fit is refused by the name of its field, and so is any field that would have to be ignored."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from multigraft.server.body import BodyError
from multigraft.server.turns import turns_of
from multigraft.types import Call, Candidate, Completion, Constraint, Finish, Json, Message, Prompt, Role, TokenLogprob, Usage

Form = TypeVar("Form", bound="_Form")
Count = Annotated[int, Field(ge=0)]
Whole = Annotated[int, Field(ge=0, lt=2**63)]
Texts = Annotated[list[str], BeforeValidator(lambda given: [given] if isinstance(given, str) else given), Field(min_length=1)]
"""One text, or several."""


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Asked(_Form):
    """What every route takes besides its own fields: fields of vLLM's that change no score."""

    model: str | None = None
    user: str | None = None
    request_id: str | None = None
    priority: int = 0
    encoding_format: Literal["float"] = "float"
    truncate_prompt_tokens: None = None
    """Nothing is cut on request; the scorer says what it cut by itself."""


class _Message(_Form):
    role: str
    content: str


class _Constraint(_Form):
    kind: str
    arguments: dict[str, JsonValue] = {}


class _Prompt(_Form):
    id: str = "served"
    name: str | None = None
    messages: Annotated[list[_Message], Field(min_length=1)]
    reference: str | None = None
    constraints: list[_Constraint] = []
    fields: dict[str, JsonValue] = {}


class _Token(_Form):
    token: str
    logprob: float


class _Response(_Form):
    text: str
    finish: Literal["stop", "length"] = "stop"
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    context_tokens: Count = 0
    mean_logprob: float | None = None
    first_token: list[_Token] = []
    flags: list[str] = []


class _Call(_Form):
    id: Whole = 0
    model: str = "served"
    parents: list[Whole] = []
    role: Literal["answer", "refine", "aggregate", "fuse", "conclude"] = "answer"
    seed: Whole = 0


class _Candidate(_Form):
    prompt: _Prompt
    response: Annotated[_Response, BeforeValidator(lambda given: {"text": given} if isinstance(given, str) else given)]
    call: _Call = _Call()

    def candidate(self) -> Candidate:
        """Make ours."""
        prompt, response, call = self.prompt, self.response, self.call
        usage = Usage(response.prompt_tokens, response.completion_tokens, context_tokens=response.context_tokens)
        return Candidate(
            Prompt(
                prompt.id,
                tuple(Message(message.role, message.content) for message in prompt.messages),
                prompt.name,
                prompt.reference,
                tuple(Constraint(constraint.kind, _plain(constraint.arguments)) for constraint in prompt.constraints),
                _plain(prompt.fields),
            ),
            Call(call.id, call.model, tuple(call.parents), Role(call.role), call.seed),
            Completion(
                response.text,
                Finish(response.finish),
                usage,
                mean_logprob=response.mean_logprob,
                first_token=tuple(TokenLogprob(token.token, token.logprob) for token in response.first_token),
                flags=tuple(response.flags),
            ),
        )


class _Candidates(_Asked):
    candidates: Annotated[list[_Candidate], Field(min_length=1)]


class _Pairs(_Asked):
    text_1: Texts
    text_2: Texts


class _Texts(_Asked):
    input: Texts


class _Text(_Asked):
    text: str


class _Turns(_Asked):
    messages: Annotated[list[_Message], Field(min_length=2)]


def model_of(body: Mapping[str, Json]) -> str | None:
    """Return the model a request names, None when it names none.

    Raises:
        BodyError: it is no text.
    """
    model = body.get("model")
    if model is not None and not isinstance(model, str):
        message = "field 'model': must be a text"
        raise BodyError(400, message)
    return model


def whole(body: Mapping[str, Json]) -> Sequence[Candidate]:
    """Read `/multigraft/score`."""
    return [item.candidate() for item in _read(_Candidates, body).candidates]


def pairs(body: Mapping[str, Json]) -> Sequence[Candidate]:
    """Read `/score` of vLLM: n prompts with a response each, or one prompt with n responses."""
    form = _read(_Pairs, body)
    prompts, responses = form.text_1, form.text_2
    if len(prompts) == 1:
        prompts = prompts * len(responses)
    if len(prompts) != len(responses):
        message = f"field 'text_2': must hold as many texts as 'text_1', or 'text_1' one; they hold {len(responses)} and {len(prompts)}"
        raise BodyError(400, message)
    return [_candidate([Message("user", prompt)], response) for prompt, response in zip(prompts, responses, strict=True)]


def conversations(body: Mapping[str, Json]) -> Sequence[Candidate]:
    """Read `/classify` and `/pooling` of vLLM and `/v1/classify` of SGLang: whole conversations, each one text, or one as messages."""
    if "messages" in body:
        turns = [Message(message.role, message.content) for message in _read(_Turns, body).messages]
        return [_answered(turns, "messages")]
    return [_conversation(text, f"input[{index}]") for index, text in enumerate(_read(_Texts, body).input)]


def conversation(body: Mapping[str, Json]) -> Sequence[Candidate]:
    """Read SGLang's own `/classify`: one conversation as one text."""
    return [_conversation(_read(_Text, body).text, "text")]


def _conversation(text: str, place: str) -> Candidate:
    turns = turns_of(text)
    if turns is None:
        message = f"field '{place}': must be turns in the form of ChatML or of Llama 3; use 'messages', or the route /multigraft/score, for anything else"
        raise BodyError(400, message)
    return _answered(turns, place)


def _answered(turns: Sequence[Message], place: str) -> Candidate:
    if len(turns) < 2 or turns[-1].role != "assistant":
        message = f"field '{place}': must hold a prompt, and end with the assistant's response to it"
        raise BodyError(400, message)
    return _candidate(turns[:-1], turns[-1].content)


def _candidate(messages: Sequence[Message], response: str) -> Candidate:
    call, completion = Call(0, "served", (), Role.ANSWER, 0), Completion(response, Finish.STOP, Usage())
    return Candidate(Prompt("served", tuple(messages)), call, completion)


def _read(form: type[Form], body: Mapping[str, Json]) -> Form:
    try:
        return form.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
        message = f"field '{place[:200]}': {first['msg']}"
        raise BodyError(400, message) from error


def _plain(values: Mapping[str, JsonValue]) -> Mapping[str, Json]:
    return dict(values)
