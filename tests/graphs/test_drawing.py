"""Pictures of graphs: everything is there, nothing overlaps, and no name gets out of its place."""

import unicodedata
import xml.etree.ElementTree as ET  # what is parsed here was written by the code under test
from itertools import combinations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from multigraft.budget.cost import ModelCost
from multigraft.budget.flops import ModelShape
from multigraft.graphs.cost import KnownCosts, Workload, dense
from multigraft.graphs.drawing.facts import cost_line, model_shares, shape_line, shape_of, shares_of
from multigraft.graphs.drawing.labels import columns, plain
from multigraft.graphs.drawing.layout import laid_out
from multigraft.graphs.drawing.palette import PALETTE, colours_of, ink_on
from multigraft.graphs.drawing.svg import svg_of
from multigraft.graphs.drawing.terminal import as_text, lines_of
from multigraft.graphs.graph import Graph, Node, NodeRole
from multigraft.graphs.latency import LatencyModel

SVG = "{http://www.w3.org/2000/svg}"
COSTS = KnownCosts(
    {"large": ModelCost(ModelShape(3000, 2, 10)), "small": ModelCost(ModelShape(1000, 2, 10))},
    Workload(10, 5),
    latency={"large": LatencyModel(2.0), "small": LatencyModel(1.0)},
)
MIXED = Graph(
    (
        Node("a1", "small"),
        Node("a2", "small"),
        Node("f", "large", NodeRole.FUSER),
        Node("dead", "small"),
        Node("sink", "", NodeRole.VOTE),
    ),
    (("a1", "f"), ("a2", "f"), ("a2", "sink"), ("f", "sink"), ("a1", "dead")),
)


def drawn(graph: Graph, title: str = "") -> ET.Element:
    text = svg_of(graph, nodes=COSTS.nodes_of(graph), cost=COSTS.of(graph), critical=("a1", "f", "sink"), title=title)
    return ET.fromstring(text)  # noqa: S314 - written by the code under test


def texts(picture: ET.Element) -> list[str]:
    return ["".join(element.itertext()) for element in picture.iter(f"{SVG}text")]


def test_the_picture_says_what_the_graph_is() -> None:
    said = texts(drawn(MIXED, "A graph"))
    assert said[:2] == ["A graph", "width 2, depth 2, 3 calls, 1 node never run"]
    assert said.count("small") == 3
    assert "large" in said
    assert "majority vote" in said
    assert "dead" in said
    assert [line for line in said if "cost" in line] == ["large: 1 call, 69% of the cost", "small: 2 calls, 31% of the cost"]
    assert "fuser: condenses what it reads" in said
    assert "best: takes the answer with the highest reward" not in said


def test_nodes_wires_and_bars() -> None:
    text = svg_of(MIXED, nodes=COSTS.nodes_of(MIXED), cost=COSTS.of(MIXED), critical=("a1", "f", "sink"))
    # Five wires, two of them bold; the dead node and its wire are dashed; bars for three calls; one ring around the sink.
    assert text.count('class="tip"') == 5
    assert text.count('stroke-width="2.8"') == 3  # and one in the legend
    assert text.count("stroke-dasharray") == 2
    assert text.count('class="bar"') == 3
    assert text.count('class="ring"') == 1


def test_without_costs_there_are_no_bars() -> None:
    text = svg_of(MIXED)
    assert 'class="bar"' not in text
    assert "%" not in text
    assert "critical" not in text


def test_a_model_alone() -> None:
    said = texts(drawn(Graph((Node("sink", "large"),))))
    assert said[:2] == ["Collaboration graph", "one model alone, 1 call"]
    assert "sink \u00b7 100%" in said


HOSTILE = [
    "</title><script>alert(1)</script>",
    '" onload="alert(1)',
    "]]><!--",
    "&lt;b&gt; &amp; &#0;",
    "nul \x00 escape \x1b[2J bell \x07",
    "right \u202e to left",
    "half \ud800 pair",
    "end \uffff of \ufffe plane",
    "x" * 100_000,
    "\u6f22" * 50,
    "{0} %s {model}",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_names(name: str) -> None:
    graph = Graph((Node("a", name), Node("sink", name, NodeRole.FUSER)), (("a", "sink"),))
    picture = drawn(graph, title=name)
    allowed = {f"{SVG}{tag}" for tag in ("svg", "title", "desc", "style", "rect", "text", "g", "path", "polygon")}
    assert {element.tag for element in picture.iter()} <= allowed
    assert not [key for element in picture.iter() for key in element.attrib if key.startswith("on") or "href" in key]
    assert all(len(line) < 1000 for line in texts(picture))
    written = as_text(lines_of(graph, title=name[:200]))
    assert not [char for char in written if char != "\n" and unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


@pytest.mark.parametrize(("name", "wanted"), [("ab", "ab"), ("abcdef", "abc\u2026"), ("\u6f22\u6f22\u6f22", "\u6f22\u2026"), ("a\nb", "a\u2423b")])
def test_names_are_cut_to_columns(name: str, wanted: str) -> None:
    assert plain(name, 4) == wanted
    assert columns(wanted) <= 4


def test_ink_is_read_on_every_colour() -> None:
    def light(colour: str) -> float:
        channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
        return float(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])

    for colour in PALETTE:
        darker, lighter = sorted((light(colour), light(ink_on(colour))))
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5  # WCAG 2.1, level AA


def test_models_have_colours_of_their_own_whatever_their_order() -> None:
    assert colours_of(["b", "a", "", "b"]) == colours_of(["a", "b"]) == {"a": PALETTE[0], "b": PALETTE[1]}
    assert len(set(colours_of("abcdefgh").values())) == 8


def test_shapes() -> None:
    assert shape_of(MIXED) == (2, 2, 3, 1)
    assert shape_of(dense(4, "small", "large")) == (1, 4, 5, 0)
    assert shape_of(Graph((Node("sink", "m"),))) == (0, 0, 1, 0)
    assert shape_line(dense(4, "small", "large")) == "width 1, depth 4, 5 calls"


def test_shares() -> None:
    # FLOPs: 2 M N + 2 L D N (N + 1) with L D = 20; N = 15 for the small ones, 25 for the fuser.
    small, fuser = 2 * 1000 * 15 + 40 * 15 * 16, 2 * 3000 * 25 + 40 * 25 * 26
    shares = shares_of(COSTS.nodes_of(MIXED))
    assert shares == pytest.approx({"a1": small / (2 * small + fuser), "a2": small / (2 * small + fuser), "f": fuser / (2 * small + fuser), "sink": 0})
    assert [(found.model, found.calls) for found in model_shares(MIXED, shares)] == [("large", 1), ("small", 2)]
    assert shares_of(KnownCosts({}, Workload(1, 1)).nodes_of(MIXED)) == {}
    assert cost_line(COSTS.of(MIXED)) == f"{(2 * small + fuser) / small:.4g} units, 255 kFLOPs, 3 s"


TERMINAL = """\
width 2, depth 2, 3 calls, 1 node never run; 6.444 units, 255 kFLOPs, 3 s

level 1        level 2        sink
● a2 small     ▶ f large      ◆ sink vote
  █▍     16%     ██████ 69%     ← a2 f
                 ← a1 a2
● a1 small
  █▍     16%   ○ dead small
                 never run
                 ← a1

█ large: 1 call, 69% of the cost
█ small: 2 calls, 31% of the cost
● assistant   ▶ fuser   ◆ vote   ○ never run   ← reads
"""


def test_the_terminal_picture() -> None:
    assert as_text(lines_of(MIXED, nodes=COSTS.nodes_of(MIXED), cost=COSTS.of(MIXED))) == TERMINAL


def test_a_narrow_terminal_gets_levels_as_rows() -> None:
    graph = dense(6, "small", "large")
    lines = as_text(lines_of(graph, width=40)).splitlines()
    assert [line for line in lines if line.startswith("level")] == [f"level {number}" for number in range(1, 7)]
    assert max(map(columns, lines)) <= 40
    wide = as_text(lines_of(graph, width=200)).splitlines()
    assert sum("level" in line for line in wide) == 1


@given(st.integers(1, 9), st.lists(st.booleans(), min_size=45, max_size=45))
@settings(deadline=None, max_examples=60)
def test_any_graph_is_laid_out_without_overlap(num_agents: int, drawn_edges: list[bool]) -> None:
    ids = [*(f"a{number}" for number in range(num_agents)), "sink"]
    pairs = [(source, target) for place, target in enumerate(ids) for source in ids[:place]]
    edges = {pair for pair, wanted in zip(pairs, drawn_edges, strict=False) if wanted} | {("a0", "sink")}
    graph = Graph(tuple(Node(node_id, "m") for node_id in ids), tuple(edges))
    layout = laid_out(graph)
    levels = graph.depth_of()
    assert {node_id: point.column for node_id, point in layout.places.items()} == dict(levels)
    for one, other in combinations(layout.places.values(), 2):
        assert one.column != other.column or abs(one.height - other.height) >= 1 - 1e-9
    for (source, target), wire in layout.wires.items():
        assert (wire[0], wire[-1]) == (layout.places[source], layout.places[target])
        assert [point.column for point in wire] == list(range(levels[source], levels[target] + 1))
        for passed in wire[1:-1]:
            # A wire that passes a column runs clear of its nodes.
            assert all(abs(passed.height - place.height) >= 0.67 for place in layout.places.values() if place.column == passed.column)
    assert svg_of(graph) == svg_of(Graph(graph.nodes, tuple(reversed(graph.edges))))
    ET.fromstring(svg_of(graph))  # noqa: S314 - written by the code under test
