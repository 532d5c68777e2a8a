"""What scorers by a model in this process share: starting, preparing texts, batching, and what becomes of texts that are too long."""

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from multigraft.errors import InputError
from multigraft.randomness import key_of
from multigraft.rewards.hf.extra import required
from multigraft.rewards.hf.layouts import Chat, Conversation, Pair, Places, Turns, Writing, Written
from multigraft.rewards.hf.placement import Placement
from multigraft.rewards.hf.recipes import Recipe
from multigraft.rewards.hf.templates import ChatTemplate, TemplateFailedError
from multigraft.rewards.hf.tokens import Encoded, Encoder, Row, Tokenizer, fitted
from multigraft.rewards.hf.weights import Weights, find_weights, local_folder, read_folder
from multigraft.rewards.hf.work import Outcome, Readings, WorkQueue
from multigraft.rewards.scores import unscored
from multigraft.types import Candidate, FailureKind, Json, Message, Score

if TYPE_CHECKING:
    from multigraft.rewards.hf.loading import Loaded

TooLong: TypeAlias = Literal["refuse", "cut"]
REVISION = 2
"""Raised with every change that may change a score."""
BATCH_TOKENS, CPU_BATCH_TOKENS = 16384, 1024
_PROBES = (("What is 2 + 3?", "5"), ("Name three rivers.", "The Nile, the Rhine and the Seine are rivers; the first is the longest."))
_LOG = logging.getLogger("multigraft")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Which model, and how its texts are bounded."""

    model: str
    recipe: str
    revision: str | None
    trust_remote_code: bool
    system: str | None
    max_tokens: int | None
    too_long: TooLong
    batch_tokens: int | None
    max_batch: int

    def check(self, name: str) -> None:
        """Look at the settings.

        Raises:
            ValueError: one is out of its range.
        """
        least = {
            "max_tokens": 1 if self.max_tokens is None else self.max_tokens,
            "batch_tokens": 1 if self.batch_tokens is None else self.batch_tokens,
            "max_batch": self.max_batch,
        }
        for setting, value in least.items():
            if value < 1:
                message = f"{setting} of {name} must be at least 1, not {value}"
                raise ValueError(message)
        if self.too_long not in {"refuse", "cut"}:
            message = f"too_long of {name} must be 'refuse' or 'cut', not {self.too_long!r}"
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class Ready:
    """A started model."""

    weights: Weights
    recipe: Recipe
    encoder: Encoder
    writing: Writing
    loaded: "Loaded"
    queue: WorkQueue
    limit_tokens: int | None
    template: ChatTemplate | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """One candidate as the model takes it."""

    row: Row
    truncated: bool = False
    notes: tuple[str, ...] = ()


class ModelReward(ABC):
    """A scorer whose model runs in this process."""

    def __init__(self, source: Source, placement: Placement, name: str) -> None:
        source.check(name)
        self.name = name
        self.max_batch = source.max_batch
        self.notes: tuple[str, ...] = ()
        """What a user should know of the model, once started."""
        self._source, self._placement = source, placement
        self._starting = threading.Lock()
        # Tokenizers and templates take one thread at a time.
        self._preparing = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reward-texts")
        self._ready: Ready | None = None
        self._digest: str | None = None

    @property
    def version(self) -> str:
        """Revision, and a digest of the weights, the recipe and every setting that may change a score.

        Of a repository of the hub, the weights are part of it once the scorer has started.
        """
        if self._digest is None and (folder := local_folder(self._source.model)) is not None:
            self._digest = read_folder(self._source.model, folder).digest()
        source = self._source
        asked = (source.recipe, source.trust_remote_code, source.system, source.max_tokens, source.too_long, self._placement.dtype)
        identity = self._digest or f"{source.model}@{source.revision}"
        return f"{REVISION}-{key_of(identity, repr(asked), repr(self._recipes()), self._settings()):016x}"

    async def start(self) -> None:
        """Load the weights and try the chat template and the padding; once, and before anything is paid.

        Raises:
            InputError: the model, a setting or a device does not fit; the message names the remedy.
            WeightsError: the weights cannot be fetched or do not fit their architecture.
        """
        if self._ready is None:
            await asyncio.get_running_loop().run_in_executor(self._preparing, self._start)

    async def close(self) -> None:
        """Free the model; scoring again starts it anew."""
        ready, self._ready = self._ready, None
        if ready is not None:
            ready.queue.close()
            if ready.template is not None:
                await asyncio.get_running_loop().run_in_executor(self._preparing, ready.template.close)

    async def score(self, candidates: Sequence[Candidate]) -> Sequence[Score]:
        """Score a batch together with whatever other calls have put into the queue."""
        await self.start()
        ready = self._ready
        if ready is None:
            return [unscored(FailureKind.UNSCORABLE, f"{self.name} was closed while it started", retryable=True) for _ in candidates]
        prepared = await asyncio.get_running_loop().run_in_executor(self._preparing, self._prepared, ready, candidates)
        outcomes: list[Outcome] = await asyncio.wrap_future(ready.queue.submit([one.row for one in prepared if isinstance(one, Prepared)]))
        left = iter(outcomes)
        return [one if isinstance(one, Score) else self._read(ready, one, next(left)) for one in prepared]

    def _start(self) -> None:
        with self._starting:
            if self._ready is not None:
                return
            for library in ("torch", "transformers", "safetensors", "jinja2"):
                required(library)
            source = self._source
            weights = find_weights(source.model, revision=source.revision, trust_remote_code=source.trust_remote_code)
            self._digest = weights.digest()
            self._ready, self.notes = self._loaded(weights), tuple(self._notes_of(weights))
            for note in self.notes:
                _LOG.warning("%s: %s", self.name, note)

    def _loaded(self, weights: Weights) -> Ready:
        from multigraft.rewards.hf import loading  # noqa: PLC0415 - an optional extra

        source, recipe = self._source, self._recipe_of(weights)
        tokenizer = loading.load_tokenizer(weights, trust_remote_code=source.trust_remote_code)
        encoder = Encoder(tokenizer, markup=(recipe.tag,) if recipe.layout == "chat" and recipe.tag else ())
        template = _template(tokenizer)
        try:
            writing = self._writing_of(weights, recipe, template)
            if isinstance(writing, Chat):
                writing.check()
            short, long = sorted(_probes(weights, recipe, encoder, writing), key=lambda row: len(row.ids))
            groups = self._groups(recipe, encoder)
            loaded = loading.load_networks(
                weights, recipe.head, self._placement, probes=(short, long), trust_remote_code=source.trust_remote_code, groups=groups
            )
            self._check(weights, recipe, loaded)
        except BaseException:
            if template is not None:
                template.close()
            raise
        limits = (source.max_tokens, weights.integer("max_position_embeddings"), encoder.limit_tokens)
        limit = min((limit for limit in limits if limit), default=None)
        budget = source.batch_tokens or (CPU_BATCH_TOKENS if loaded.networks[0].threads else BATCH_TOKENS)
        return Ready(weights, recipe, encoder, writing, loaded, WorkQueue(loaded.networks, budget), limit, template)

    def _prepared(self, ready: Ready, candidates: Sequence[Candidate]) -> list[Prepared | Score]:
        plain = [_plain(ready.encoder, candidate) for candidate in candidates]
        rows = self._rows(ready, [conversation for conversation, _ in plain])
        return [self._bounded(ready, conversation, row, notes) for (conversation, notes), row in zip(plain, rows, strict=True)]

    def _rows(self, ready: Ready, conversations: Sequence[Conversation]) -> list[Row | Exception]:
        """Write and tokenize conversations, together; for one that cannot be, why."""
        found = self._written(ready, conversations)
        written = [one for one in found if isinstance(one, Written)]
        pairs = [one.pair for one in written if one.pair is not None]
        encoded = iter(ready.encoder.encode([one.text for one in written], templated=ready.writing.templated, pairs=pairs))
        rows: list[Row | Exception] = []
        for one in found:
            try:
                rows.append(self._row(ready, one, next(encoded)) if isinstance(one, Written) else one)
            except ValueError as error:
                rows.append(error)
        return rows

    def _bounded(self, ready: Ready, conversation: Conversation, row: Row | Exception, notes: tuple[str, ...]) -> Prepared | Score:
        try:
            if isinstance(row, Exception):
                raise row
            if ready.limit_tokens is None or len(row.ids) <= ready.limit_tokens:
                return Prepared(row, notes=notes)
            return self._cut(ready, conversation, len(row.ids), notes)
        except (TemplateFailedError, ValueError) as error:
            return unscored(FailureKind.UNSCORABLE, str(error))

    def _cut(self, ready: Ready, conversation: Conversation, tokens: int, notes: tuple[str, ...]) -> Prepared | Score:
        """Leave out the end of a response, where that is asked for; the prompt is never cut."""

        def row_of(response: str) -> Row:
            (row,) = self._rows(ready, [replace(conversation, response=response)])
            if isinstance(row, Exception):
                raise row
            return row

        limit = ready.limit_tokens or tokens
        kept = None
        if self._source.too_long == "cut":
            (alone,) = ready.encoder.encode([conversation.response], templated=True)
            kept = fitted(conversation.response, alone, limit, lambda text: len(row_of(text).ids))
        if kept is None:
            remedy = "the prompt alone is too long" if self._source.too_long == "cut" else "set too_long to 'cut', or raise max_tokens if it is the limit"
            return unscored(FailureKind.CONTEXT, f"prompt and response have {tokens} tokens and the model takes {limit}: {remedy}")
        note = f"the end of the response was cut, so that {tokens} tokens fit into {limit}"
        return Prepared(row_of(kept), truncated=True, notes=(*notes, note))

    def _read(self, ready: Ready, prepared: Prepared, outcome: Outcome) -> Score:
        if outcome is None:
            return unscored(FailureKind.UNSCORABLE, f"{self.name} was closed before it came to this response", retryable=True)
        if isinstance(outcome, Exception):
            memory = "memory" in str(outcome).casefold()
            return unscored(FailureKind.UNSCORABLE, f"the model failed: {type(outcome).__name__}: {outcome}", retryable=memory)
        return self._score_of(ready, prepared, outcome)

    def _writing_of(self, weights: Weights, recipe: Recipe, template: ChatTemplate | None) -> Writing:
        """Choose how conversations are written.

        Raises:
            InputError: nothing says how.
        """
        system = recipe.system if self._source.system is None else self._source.system
        if recipe.layout == "human_assistant":
            return Turns()
        if recipe.layout == "plain":
            return Places("{prompt} {response}")
        if recipe.layout == "pair" or (recipe.layout == "auto" and template is None and _reads_pairs(weights)):
            return Pair()
        if template is None:
            message = (
                f"'{weights.origin}' has no chat template, so nothing says how it reads a conversation: give template = '...' with {{prompt}} and {{response}}"
            )
            raise InputError(message, field="template")
        return Chat(template, system=system or None)

    def _groups(self, recipe: Recipe, encoder: Encoder) -> tuple[tuple[int, ...], ...]:
        del recipe, encoder
        return ()

    def _notes_of(self, weights: Weights) -> Sequence[str]:
        del weights
        return ()

    def _check(self, weights: Weights, recipe: Recipe, loaded: "Loaded") -> None:
        """Compare the loaded model with the settings; raises `InputError` where they do not fit."""
        del weights, recipe, loaded

    @abstractmethod
    def _recipes(self) -> tuple[Recipe, ...]:
        """Return the recipes of this kind."""

    @abstractmethod
    def _settings(self) -> str:
        """Write down the settings of this kind that may change a score."""

    @abstractmethod
    def _recipe_of(self, weights: Weights) -> Recipe:
        """Choose the recipe of a model."""

    def _written(self, ready: Ready, conversations: Sequence[Conversation]) -> Sequence[Written | TemplateFailedError]:
        """Write conversations as the model reads them."""
        return ready.writing.write(conversations)

    @abstractmethod
    def _row(self, ready: Ready, written: Written, encoded: Encoded) -> Row:
        """Say where a text is read.

        Raises:
            ValueError: it lacks a place that is to be read.
        """

    @abstractmethod
    def _score_of(self, ready: Ready, prepared: Prepared, readings: Readings) -> Score:
        """Make a score of what the model said."""


def end_tokens(weights: Weights, recipe: Recipe) -> tuple[int, ...]:
    """Return the ids that follow a conversation."""
    found = weights.integer(recipe.end_token) if recipe.end_token else None
    return () if found is None else (found,)


def _plain(encoder: Encoder, candidate: Candidate) -> tuple[Conversation, tuple[str, ...]]:
    """Break up what looks like markup of the model, and note it."""
    texts = [encoder.plain(text) for text in (*(message.content for message in candidate.prompt.messages), candidate.completion.text)]
    *contents, response = (text for text, _ in texts)
    messages = [Message(message.role, content) for message, content in zip(candidate.prompt.messages, contents, strict=True)]
    broken = sum(number for _, number in texts)
    return Conversation(messages, response), (f"{broken} markers of the model in the text were broken up",) if broken else ()


def _probes(weights: Weights, recipe: Recipe, encoder: Encoder, writing: Writing) -> list[Row]:
    written = writing.write([Conversation([Message("user", prompt)], response) for prompt, response in _PROBES])
    rows = []
    for one in written:
        if isinstance(one, TemplateFailedError):
            raise one
        (encoded,) = encoder.encode([one.text], templated=writing.templated, pairs=[] if one.pair is None else [one.pair])
        rows.append(Row((*encoded.ids, *end_tokens(weights, recipe)), (), encoded.types))
    return rows


def _reads_pairs(weights: Weights) -> bool:
    return weights.integer("type_vocab_size") is not None


def _template(tokenizer: Tokenizer) -> ChatTemplate | None:
    source = tokenizer.chat_template
    if isinstance(source, dict):
        source = source.get("default")
    constants: Mapping[str, Json] = {name: str(token) for name, token in tokenizer.special_tokens_map.items() if not isinstance(token, list)}
    return None if source is None else ChatTemplate(source, constants=constants)
