"""Every shape that `remote` speaks and a server has, against a server in a process of its own: the scores are those of the scorer itself."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from tests.server.launch import COMMAND, ROOT, Running, scripted, served
from tests.server.scripted_server import by_conversation

from multigraft.rewards.confidence import Confidence
from multigraft.rewards.remote import SHAPES, Remote
from multigraft.rewards.remote_whole import score_of, told, written
from multigraft.rewards.rules.reward import Rules
from multigraft.rewards.scripted import Scripted
from multigraft.server.reading import whole
from multigraft.testing.reward_suite import TEXTS, RewardSuite, candidate
from multigraft.types import Candidate, Completion, Constraint, Failure, FailureKind, Finish, Json, Message, Prompt, Reward, Score, TokenLogprob
from multigraft.wire.endpoints import Endpoint, Endpoints
from multigraft.wire.exchange import Reply

SERVED_TEXTS = [text for text in TEXTS if "\ud800" not in text]
"""JSON cannot carry a lone surrogate."""


@pytest.fixture(scope="module")
def rules() -> Iterator[Running]:
    with served([*COMMAND, "--reward", "rules", "--port", "0"]) as running:
        yield running


@pytest.fixture(scope="module")
def drawn() -> Iterator[Running]:
    with served(scripted(delay_s=0.005)) as running:
        yield running


@pytest.fixture
async def to_rules(rules: Running) -> AsyncIterator[Endpoints]:
    async with Endpoints([Endpoint(url=rules.url)], name="served") as opened:
        yield opened


@pytest.fixture
async def to_drawn(drawn: Running) -> AsyncIterator[Endpoints]:
    async with Endpoints([Endpoint(url=drawn.url)], name="served") as opened:
        yield opened


def drawing() -> Scripted:
    """Return the scorer of the scripted server."""
    return Scripted(by_conversation)


def conversation(response: str, *, turns: int = 1) -> Candidate:
    messages = tuple(Message("assistant" if index % 2 else "user", f"Turn {index}") for index in range(2 * turns - 1))
    one = candidate(response)
    return Candidate(Prompt("served", messages), one.call, one.completion)


async def test_whole_candidates_get_the_very_scores_of_the_scorer(to_rules: Endpoints) -> None:
    constraints = [Constraint("punctuation:no_comma", {}), Constraint("keywords:existence", {"keywords": ["Seine", "Rhine"]})]
    candidates = [candidate(text, ordinal=index, constraints=constraints) for index, text in enumerate(SERVED_TEXTS)]
    candidates.append(candidate("None of them can be checked.", reference=None, constraints=[]))
    remote = await Remote(to_rules, shape="multigraft", model="rules").score(candidates)
    here = await Rules().score(candidates)
    assert list(remote) == list(here)
    assert (remote[1].value, remote[1].answer) == (0.75, "42")
    assert remote[-1].reason is FailureKind.UNSCORABLE


@pytest.mark.parametrize("shape", ["pooling", "classify", "v1_classify", "score", "sglang_classify", "multigraft"])
async def test_every_shape_brings_the_scores_in_order(to_drawn: Endpoints, shape: str) -> None:
    candidates = [conversation(f"Answer {index}" * (index + 1)) for index in range(20)]
    here = [score.value for score in await drawing().score(candidates)]
    assert len(set(here)) == 20
    assert [score.value for score in await Remote(to_drawn, shape=shape, model="scripted").score(candidates)] == here
    llama = Remote(to_drawn, shape=shape, model="default", turn="llama3")
    assert [score.value for score in await llama.score(candidates)] == here


def test_no_shape_is_forgotten() -> None:
    assert set(SHAPES) == {"pooling", "classify", "v1_classify", "score", "sglang_classify", "multigraft"}


@pytest.mark.parametrize("shape", ["pooling", "classify", "v1_classify", "sglang_classify", "multigraft"])
async def test_a_conversation_keeps_its_turns(to_drawn: Endpoints, shape: str) -> None:
    one, other = conversation("Fine.", turns=3), conversation("Fine.", turns=1)
    here = [score.value for score in await drawing().score([one, other])]
    assert here[0] != here[1]
    assert [score.value for score in await Remote(to_drawn, shape=shape, model="scripted").score([one, other])] == here


@pytest.mark.parametrize("shape", ["pooling", "classify", "v1_classify", "score", "sglang_classify"])
async def test_shapes_without_words_for_reasons_bring_no_number(to_rules: Endpoints, shape: str) -> None:
    (score,) = await Remote(to_rules, shape=shape, model="rules").score([conversation("The answer is 42.")])
    assert (score.value, score.reason) == (None, FailureKind.INVALID_SCORE)


async def test_a_text_without_marked_turns_is_refused(to_drawn: Endpoints) -> None:
    (score,) = await Remote(to_drawn, shape="pooling", model="scripted", turn="plain").score([conversation("Fine.")])
    assert score.reason is FailureKind.BAD_REQUEST
    assert "field 'input[0]': must be turns in the form of ChatML" in score.message


async def test_another_model_than_the_served_one_is_refused(to_drawn: Endpoints) -> None:
    (score,) = await Remote(to_drawn, shape="multigraft", model="armo").score([conversation("Fine.")])
    assert score.reason is FailureKind.NOT_FOUND
    assert "there is no model 'armo' here; there is 'scripted', 'scripted@1-0', 'default'" in score.message


async def test_a_version_can_be_insisted_on(to_drawn: Endpoints) -> None:
    assert (await Remote(to_drawn, shape="multigraft", model="scripted@1-0").score([conversation("Fine.")]))[0].value is not None


async def test_a_response_cut_here_stays_marked(to_drawn: Endpoints) -> None:
    long = conversation("x" * 100)
    (score,) = await Remote(to_drawn, shape="multigraft", model="scripted", max_characters=46, too_long="cut").score([long])
    assert (score.value, score.truncated) == ((await drawing().score([conversation("x" * 40)]))[0].value, True)


def test_a_score_survives_the_way() -> None:
    scores = [
        Score(0.1 + 0.2, message="all of it", truncated=True, answer="42", details={"step 1": 0.5}),
        Score(None, FailureKind.CONTEXT, "too long", retryable=False),
        Score(None, FailureKind.SERVER, "broken", retryable=True, truncated=True, answer="x", details={"a": 1.0}),
    ]
    assert [score_of(told(score, 0)) for score in scores] == scores


def test_what_a_hostile_server_says_of_a_score() -> None:
    wrong: list[dict[str, Json]] = [{"score": "0.9"}, {"score": True}, {"score": None}, {"score": 1.0, "reason": "because"}, {"score": 1.0, "reason": 3}, {}]
    for item in wrong:
        assert (score_of(item).value, score_of(item).reason) == (None, FailureKind.INVALID_SCORE)
    odd = score_of({"score": 1, "message": 3, "truncated": "yes", "answer": 3, "details": {"a": "1", "b": True, "c": float("inf"), "d": 2, "e": 10**400}})
    assert odd == Score(1.0, details={"d": 2.0})
    assert score_of({"score": 5.0, "reason": "context", "message": "m" * 999}) == Score(None, FailureKind.CONTEXT, "m" * 300)


def test_a_candidate_survives_the_way() -> None:
    one = candidate("Some text", constraints=[Constraint("keywords:existence", {"keywords": ["a", "b"]})])
    first = (TokenLogprob("Yes", -0.25), TokenLogprob("No", -1.5))
    completion = replace(one.completion, first_token=first, flags=("normalised",), finish=Finish.LENGTH)
    full = replace(one, completion=completion, prompt=replace(one.prompt, name="row 1", fields={"source": "Hallo", "nested": {"deep": [1, None, 2.5]}}))
    assert whole({"candidates": [written(full)]}) == [full]


@pytest.mark.parametrize("wrong", [{}, {"data": None}, {"data": []}, {"data": [5]}, {"data": [{"score": 1.0}]}, {"data": [{"index": True, "score": 1.0}]}])
async def test_replies_of_the_wrong_form_are_no_scores(wrong: Mapping[str, Json]) -> None:
    class Wrong:
        async def post(self, path: str, body: Mapping[str, Json]) -> Reply | Failure:
            return Reply(200, {}, dict(wrong), "http://test", 0.0)

    (score,) = await Remote(Wrong(), shape="multigraft", model="m").score([conversation("x")])
    assert (score.value, score.reason, score.retryable) == (None, FailureKind.INVALID_SCORE, True)


async def test_confidence_gets_across() -> None:
    one = candidate("x")
    sent = whole({"candidates": [written(replace(one, completion=Completion("x", Finish.STOP, one.completion.usage, mean_logprob=-0.75)))]})
    assert [score.value for score in await Confidence().score(sent)] == [-0.75]


class _EachByItself:
    """Posts over a connection of its own, as the suite runs each test in a loop of its own."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def post(self, path: str, body: Mapping[str, Json]) -> Reply | Failure:
        async with Endpoints([Endpoint(url=self.url)], name="served") as opened:
            return await opened.post(path, body)


class TestServedRules(RewardSuite):
    @pytest.fixture(autouse=True)
    def at(self, rules: Running) -> None:
        self.url = rules.url

    def reward(self) -> Reward:
        return Remote(_EachByItself(self.url), shape="multigraft", model="rules", max_batch=3)


async def test_two_processes_at_once_get_what_one_gets(drawn: Running) -> None:
    here = [score.value for score in await drawing().score([conversation(f"Answer {index}") for index in range(60)])]
    before = drawn.stats()
    code = "import asyncio, json, sys\nfrom tests.server.test_shapes import from_elsewhere\nprint(json.dumps(asyncio.run(from_elsewhere(sys.argv[1], 60))))"
    pipe = asyncio.subprocess.PIPE
    processes = [await asyncio.create_subprocess_exec(sys.executable, "-c", code, drawn.url, cwd=ROOT, stdout=pipe) for _ in range(2)]
    outputs = await asyncio.gather(*(process.communicate() for process in processes))
    assert [json.loads(output) for output, _ in outputs] == [here, here]
    after = drawn.stats()
    assert after["scored"] - before["scored"] == 120
    assert after["batches"] - before["batches"] < 60, "requests of two candidates each shared batches of eight"


async def from_elsewhere(url: str, count: int) -> Sequence[float | None]:
    """Score from another process, in many small requests at once."""
    async with Endpoints([Endpoint(url=url)], name="served") as opened:
        remote = Remote(opened, shape="multigraft", model="scripted", max_batch=2)
        batches = [remote.score([conversation(f"Answer {index}"), conversation(f"Answer {index + 1}")]) for index in range(0, count, 2)]
        return [score.value for batch in await asyncio.gather(*batches) for score in batch]
