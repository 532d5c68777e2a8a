"""Graph files: what is written is read again, and what does not fit is named with its place."""

import json
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from multigraft.errors import InputError
from multigraft.graphs.graph import Graph, Node, NodeRole
from multigraft.graphs.graph_file import about_of, graph_of, text_of
from multigraft.types import Json

GRAPH = Graph(
    (Node("a1", "small"), Node("a2", "small"), Node("f", "large", NodeRole.FUSER), Node("sink", "", NodeRole.VOTE)),
    (("a1", "f"), ("a2", "f"), ("a2", "sink"), ("f", "sink")),
)

TEXT = """{
  "schema": "multigraft.graph",
  "version": 1,
  "nodes": [
    {"id": "a1", "model": "small", "role": "assistant"},
    {"id": "a2", "model": "small", "role": "assistant"},
    {"id": "f", "model": "large", "role": "fuser"},
    {"id": "sink", "role": "vote"}
  ],
  "edges": [
    ["a1", "f"],
    ["a2", "f"],
    ["a2", "sink"],
    ["f", "sink"]
  ],
  "sink": "sink",
  "about": {
    "method": "random",
    "score": {
      "accuracy": 0.5
    }
  }
}
"""
ABOUT: dict[str, Json] = {"method": "random", "score": {"accuracy": 0.5}}


def test_a_graph_file_has_a_node_and_an_edge_a_line() -> None:
    assert text_of(GRAPH, about=ABOUT) == TEXT


def test_a_graph_file_is_read_back() -> None:
    assert graph_of(TEXT) == GRAPH
    assert about_of(TEXT) == ABOUT


def test_a_sink_alone_is_a_file_too() -> None:
    alone = Graph((Node("sink", "m"),))
    assert graph_of(text_of(alone)) == alone
    assert '"edges": [],' in text_of(alone)
    assert about_of(text_of(alone)) == {}


def test_role_and_about_may_be_left_out() -> None:
    text = '{"schema": "multigraft.graph", "version": 1, "nodes": [{"id": "sink", "model": "m"}], "edges": [], "sink": "sink"}'
    assert graph_of(text) == Graph((Node("sink", "m"),))
    assert about_of(text) == {}


MISTAKES = [
    # What is changed, into what, and what the message must begin with and hold.
    ('"multigraft.graph"', '"other"', "g.json:2: field 'schema'", "multigraft.graph"),
    ('"version": 1', '"version": 2', "g.json:3: field 'version'", "reads version 1"),
    ('"version": 1', '"version": true', "g.json:3: field 'version'", "true"),
    ('"version": 1', '"version": 1.0', "g.json:3: field 'version'", "1.0"),
    ('"sink": "sink"', '"sink": "top"', "g.json:16: field 'sink'", "'top' is no node"),
    ('"sink": "sink"', '"sink": null', "g.json:16: field 'sink'", "missing"),
    ('"sink": "sink"', '"sinks": "sink"', "g.json:16: field 'sinks'", "no such field"),
    ('{"id": "a2", "model": "small", "role": "assistant"}', '["a2"]', "g.json:6: field 'nodes[1]'", "a list"),
    ('"id": "a2"', '"id": "a1"', "g.json:6: field 'nodes[1].id'", "taken"),
    ('"id": "a2"', '"id": "a 2"', "g.json:6: field 'nodes[1].id'", "no node id"),
    ('"id": "a2"', '"id": 2', "g.json:6: field 'nodes[1].id'", "a number"),
    ('"model": "large"', '"model": ""', "g.json:7: field 'nodes[2].model'", "names no model"),
    ('"model": "large"', '"model": "\\ud800"', "g.json:7: field 'nodes[2].model'", "surrogate"),
    ('"model": "large", ', "", "g.json:7: field 'nodes[2].model'", "missing"),
    ('"role": "fuser"', '"role": "boss"', "g.json:7: field 'nodes[2].role'", "assistant, fuser, vote, best"),
    ('"role": "fuser"', '"role": "vote"', "g.json:7: field 'nodes[2].role'", "only the sink"),
    ('"role": "fuser"', '"rôle": "fuser"', "g.json:7: field 'nodes[2].rôle'", "id, model, role"),
    ('{"id": "sink", "role": "vote"}', '{"id": "sink", "model": "m", "role": "vote"}', "g.json:8: field 'nodes[3].model'", "leave it out"),
    ('["a2", "f"]', '["a2", "g"]', "g.json:12: field 'edges[1]'", "no node 'g'"),
    ('["a2", "f"]', '["f", "a2"]', "g.json:10: field 'edges'", "reads no other node"),
    ('["a2", "f"]', '["a2", "f", 1]', "g.json:12: field 'edges[1]'", "two node ids"),
    ('["a2", "f"]', '["a2", 1]', "g.json:12: field 'edges[1][1]'", "a number"),
    ('["a2", "f"]', '["a1", "f"]', "g.json:12: field 'edges[1]'", "twice"),
    ('["a2", "f"]', '["sink", "f"]', "g.json:12: field 'edges[1]'", "nobody reads the sink"),
    ('"score": {', '"method": {', "g.json: ", "'method' is given twice"),
    ("0.5", "NaN", "g.json: ", "NaN"),
    ("0.5", "1e999", "g.json: ", "1e999"),
    ("0.5", "1" * 5000, "g.json: ", "no JSON"),
    ('["f", "sink"]\n', '["f", "sink"],\n', "g.json:15: ", "column"),
]


@pytest.mark.parametrize(("old", "new", "place", "told"), MISTAKES)
def test_a_mistake_is_named_with_file_line_and_field(old: str, new: str, place: str, told: str) -> None:
    assert old in TEXT
    text = TEXT.replace(old, new, 1)
    if "reads no other node" in told:
        text = text.replace('["a1", "f"],', "")
    with pytest.raises(InputError) as caught:
        graph_of(text, file="g.json")
    assert str(caught.value).startswith(place)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("text", ["", "null", "[]", '"graph"', "3", "{}", "[" * 100_000, '{"schema": "multigraft.graph"}'])
def test_what_is_no_graph_file_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        graph_of(text)


def test_lists_that_are_missing_are_named() -> None:
    for name in ("nodes", "edges"):
        members = json.loads(TEXT)
        del members[name]
        with pytest.raises(InputError, match=f"field '{name}': a list is needed"):
            graph_of(json.dumps(members))


def test_broken_characters_in_about_can_be_written_to_a_file(tmp_path: Path) -> None:
    about = {"question": "half \ud800 a pair"}
    (tmp_path / "graph.json").write_text(text_of(GRAPH, about=about), encoding="utf-8")
    assert about_of((tmp_path / "graph.json").read_text(encoding="utf-8")) == about


def test_numbers_that_are_not_finite_are_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        text_of(GRAPH, about={"score": float("nan")})


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


@given(st.lists(names, min_size=1, max_size=6), st.lists(st.booleans(), min_size=15, max_size=15), st.dictionaries(names, names, max_size=3))
@settings(deadline=None, max_examples=60)
def test_any_graph_and_any_text_about_it_survive(models: list[str], drawn: list[bool], about: dict[str, str]) -> None:
    ids = [*(f"n{number}" for number in range(len(models) - 1)), "sink"]
    edges = {(ids[0], "sink")} if len(ids) > 1 else set()
    pairs = [(source, target) for place, target in enumerate(ids) for source in ids[:place]]
    edges |= {pair for pair, wanted in zip(pairs, drawn, strict=False) if wanted}
    graph = Graph(tuple(Node(node_id, model) for node_id, model in zip(ids, models, strict=True)), tuple(edges))
    text = text_of(graph, about=dict(about))
    assert graph_of(text) == graph
    assert about_of(text) == about
    assert text_of(graph_of(text), about=about_of(text)) == text


@given(st.text(max_size=200) | st.binary(max_size=80).map(lambda raw: TEXT[: len(raw) * 7] + raw.decode("latin-1") + TEXT[len(raw) * 7 :]))
@settings(deadline=None, max_examples=100)
def test_any_text_is_a_graph_or_an_input_error(text: str) -> None:
    read: Graph | InputError
    try:
        read = graph_of(text, file="g.json")
    except InputError as error:
        read = error
    assert isinstance(read, Graph) or read.file == "g.json"
