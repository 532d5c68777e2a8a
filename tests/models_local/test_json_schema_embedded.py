"""Embedded models held to the schemas of an optimiser's replies: what comes back can always be read, however small the model is."""

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.optimize.agent.teams import problem_of, space_of, standing_of, team_in
from tests.optimize.agent.test_prompts import situation_of

from multigraft.models.local.catalogue import weights_of
from multigraft.models.local.model import LocalModel
from multigraft.models.local.serving import Serving
from multigraft.optimize.agent.options import options_of
from multigraft.optimize.agent.picks import Picks, validated_picks
from multigraft.optimize.agent.prompts import AMOUNTS, graph_consult, picks_consult, tables_consult
from multigraft.optimize.agent.team import Names
from multigraft.optimize.agent.validator import Sound, validated
from multigraft.optimize.methods.maao import Tables, read_tables
from multigraft.optimize.problem import Consult
from multigraft.types import Completion, Finish, Message, Request, Sampling

pytest.importorskip("xllamacpp")
pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

SEEDS = (1, 2, 3)
SERVING = Serving(slots=1, context_tokens=4096, repeat_penalty=1.1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def smallest() -> AsyncIterator[LocalModel]:
    async with LocalModel(weights=weights_of("smollm2-135m"), serving=Serving(slots=1, context_tokens=2048)) as model:
        yield model


async def _replies(model: LocalModel, consult: Consult) -> list[str]:
    samples = await model.generate(Request(consult.messages, Sampling(temperature=1.0, max_tokens=1500), SEEDS, consult.json_schema))
    texts = []
    for sample in samples:
        assert isinstance(sample, Completion), sample
        assert sample.finish is Finish.STOP, "the schema bounds the reply"
        assert "json_schema_unsupported" not in sample.flags
        texts.append(sample.text)
    return texts


async def test_a_model_of_135_million_parameters_always_keeps_to_a_schema(smallest: LocalModel) -> None:
    schema = {"type": "object", "additionalProperties": False, "required": ["size", "names"], "properties": {
        "size": {"type": "number", "enum": [0.01, 0.5, 0.99]}, "names": {"type": "array", "maxItems": 3, "items": {"type": "string", "enum": ["a1", "a2"]}},
    }}  # fmt: skip
    request = Request((Message("user", "Tell me a story."),), Sampling(temperature=1.2, max_tokens=400), tuple(range(8)), json.dumps(schema))
    for sample in await smallest.generate(request):
        assert isinstance(sample, Completion)
        found = json.loads(sample.text)
        assert found.keys() == {"size", "names"}
        assert found["size"] in {0.01, 0.5, 0.99}
        assert set(found["names"]) <= {"a1", "a2"}
        assert len(found["names"]) <= 3


@pytest.mark.slow
async def test_every_reply_of_half_a_billion_parameters_is_a_graph_a_pick_or_a_table() -> None:
    space = space_of(units=20.0)
    team, problem, situation = team_in(space), problem_of(space), situation_of()
    options = options_of(space, team.sink)
    async with LocalModel(weights=weights_of("qwen2.5-coder-0.5b"), serving=SERVING) as model:
        for text in await _replies(model, graph_consult(situation, style="compact")):
            json.loads(text)
            assert isinstance(validated(text, standing_of(team, whole=False)), Sound)
        for text in await _replies(model, picks_consult(problem, team, options, picks=2, style="compact")):
            counts = [candidate["counts"] for candidate in json.loads(text)["candidates"]]
            assert all(count.keys() == {"small", "large"} for count in counts)
            # That all counts are 0 is what a schema cannot forbid.
            found = validated_picks(text, options, space.models, Names(space.models), most=2)
            assert isinstance(found, Picks) == any(any(count.values()) for count in counts)
        for text in await _replies(model, tables_consult(situation, amounts=AMOUNTS["compact"], style="compact")):
            json.loads(text)
            assert isinstance(read_tables(text, situation.table, {}), Tables)
