"""`multigraft graph`: every command on files as users have them."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.cli.test_what_a_run_loads import loaded
from typer.testing import CliRunner, Result

from multigraft.cli.main import app
from multigraft.cli.optimize_caps import parse_caps
from multigraft.graphs.cost import WORKLOAD, Workload, workload_json, workload_of
from multigraft.graphs.graph import Graph, Node, NodeRole
from multigraft.graphs.graph_file import graph_of, text_of
from multigraft.types import Json

DOCS = Path(__file__).parents[2] / "docs" / "how-to"
GRAPH = Graph(
    (Node("a1", "Llama-3.2-1B"), Node("a2", "Llama-3.2-1B"), Node("f", "Llama-3.1-8B", NodeRole.FUSER), Node("dead", "odd"), Node("sink", "Llama-3.2-3B")),
    (("a1", "f"), ("a2", "f"), ("f", "sink"), ("a1", "dead")),
)
RUN_FILE = """
prompts = "prompts.jsonl"

[[models]]
name = "small"
kind = "scripted"
shape = { parameters = 1e9, layers = 16, width = 2048 }
price = { prompt = 1, completion = 10 }

[[models]]
name = "large"
kind = "openai"
model = "somebody/Llama-3.1-8B-Instruct"
endpoints = [{ url = "http://localhost:9/v1", key_env = "A_KEY_THAT_IS_NOT_SET" }]
"""


def said(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["graph", *map(str, arguments)], prog_name="multigraft", env={"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"})


def of(*arguments: str | Path) -> dict[str, Json]:
    done = said(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Json] = json.loads(done.stdout)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "graph.json"
    path.write_text(text_of(GRAPH, about={"method": "random", "validation": {"mean": 0.5, "low": 0.4, "high": 0.6}}), "utf-8")
    return path


def test_show(file: Path) -> None:
    done = said("show", file)
    assert done.exit_code == 0
    for words in ("width 2, depth 2, 4 calls, 1 node never run", "3 assistant, 1 fuser", "random", "mean 0.5", "▶ f Llama-3.1-8B", "← a1 a2", "odd: never run"):
        assert words in done.stdout


def test_show_as_json(file: Path) -> None:
    found = of("show", file)
    assert (found["width"], found["depth"], found["calls"], found["dead"], found["sink"]) == (2, 2, 4, ["dead"], "sink")
    assert found["models"] == {"Llama-3.2-1B": 2, "Llama-3.1-8B": 1, "Llama-3.2-3B": 1}
    assert found["roles"] == {"assistant": 3, "fuser": 1}
    assert found["about"] == {"method": "random", "validation": {"mean": 0.5, "low": 0.4, "high": 0.6}}
    nodes = found["nodes"]
    assert isinstance(nodes, list)
    assert nodes[2] == {"id": "f", "model": "Llama-3.1-8B", "role": "fuser", "level": 1, "reads": ["a1", "a2"], "live": True}


def test_a_file_that_does_not_fit_is_named_with_its_line(file: Path) -> None:
    file.write_text(file.read_text("utf-8").replace('"fuser"', '"boss"'), "utf-8")
    done = said("show", file)
    assert done.exit_code == 2
    assert f"{file}:7: field 'nodes[2].role'" in done.stderr
    assert said("show", file.with_name("none.json")).exit_code == 2
    assert json.loads(said("cost", file, "--json").stdout)["error"]["kind"] == "InputError"


def test_hostile_names_do_not_steer_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(text_of(Graph((Node("sink", "\x1b[2J\u202e\nname"),)), about={"\x1b]0;": "\x1b[31m", "a": {"b": "\x07"}}), "utf-8")
    for arguments in (("show", path), ("draw", path, "--terminal"), ("cost", path, "--tokens", "1,2")):
        done = said(*arguments)
        assert done.exit_code == 0
        assert not {"\x1b", "\x07", "\u202e"} & set(done.stdout)


def test_cost_of_known_models(file: Path) -> None:
    found = of("cost", file, "--tokens", "202,275", "--cost-form", "exact")
    # Units of arXiv 2511.00086's models in the exact form: a single 3B costs 2.707.
    sink = found["sink_alone"]
    assert isinstance(sink, dict)
    assert sink["units"] == pytest.approx(2.707, abs=1e-3)
    assert (found["calls"], found["usd"], found["latency_s"]) == (4, None, None)
    nodes = found["nodes"]
    assert isinstance(nodes, list)
    assert [node["node_id"] for node in nodes if isinstance(node, dict)] == ["a1", "a2", "f", "sink"]
    assert found["tokens"] == 477 + 477 + 477 + 550 + 477 + 275


def test_cost_as_a_table(file: Path) -> None:
    done = said("cost", file, "--tokens", "202,275")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["node", "model", "reads", "prompt", "answer", "FLOPs", "units", "share"]
    assert lines[4].split()[:5] == ["f", "Llama-3.1-8B", "2", "752", "275"]
    assert "no dollars: 'Llama-3.2-1B' has no price" in done.stdout
    cap = next(line for line in lines if "a budget that allows it" in line).rpartition(" ")[2]
    needed = of("cost", file, "--tokens", "202,275")["units"]
    assert isinstance(needed, float)
    assert needed <= parse_caps(cap)["units"] <= needed * 1.001


def test_what_a_cap_needs_is_never_rounded_down(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    (tmp_path / "run.toml").write_text(RUN_FILE.replace("prompt = 1,", "prompt = 0.000123,"), "utf-8")
    for agents in (1, 2, 7, 30):
        assert said("make", "parallel", "--models", f"{agents}xsmall", "--sink", "small", "-o", path, "--force").exit_code == 0
        found = of("cost", path, "-c", tmp_path / "run.toml", "--tokens", "11.7,3.3")
        stdout = said("cost", path, "-c", tmp_path / "run.toml", "--tokens", "11.7,3.3").stdout
        caps = parse_caps(next(line for line in stdout.splitlines() if "a budget that allows it" in line).rpartition(" ")[2])
        for kind in ("units", "usd", "calls"):
            value = found[kind]
            assert isinstance(value, int | float)
            assert value * (1 - 1e-9) <= caps[kind] <= value * 1.002


def test_sizes_and_prices_of_a_run_file_without_its_keys(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(RUN_FILE, "utf-8")
    path = tmp_path / "graph.json"
    said("make", "parallel", "--models", "small,small", "--sink", "large", "-o", path)
    found = of("cost", path, "-c", tmp_path / "run.toml", "--tokens", "202,275")
    assert found["unit_flops"] == 968942601216
    assert found["usd"] is None
    nodes = found["nodes"]
    assert isinstance(nodes, list)
    assert isinstance(nodes[0], dict)
    assert nodes[0]["usd"] == pytest.approx((202 + 2750) / 1e6)
    done = said("cost", path, "-c", tmp_path / "run.toml", "--tokens", "202,275")
    assert "no dollars: 'large' has no price" in done.stdout
    assert "?" in done.stdout
    refused = said("cost", path, "-c", tmp_path / "run.toml", "--tokens", "202,275", "--cost-form", "exact")
    assert refused.exit_code == 2
    assert "model 'small'" in refused.stderr


def test_lengths_in_the_file_itself(file: Path) -> None:
    workload = Workload(202, 275, {"Llama-3.1-8B": (100, 50)})
    assert workload_of(workload_json(workload, 2e12)) == (workload, 2e12)
    assert said("cost", file).exit_code == 2
    assert "--tokens" in said("cost", file).stderr
    file.write_text(text_of(GRAPH, about={WORKLOAD: workload_json(workload, 2e12)}), "utf-8")
    found = of("cost", file)
    assert found["unit_flops"] == 2e12
    nodes = found["nodes"]
    assert isinstance(nodes, list)
    assert isinstance(nodes[2], dict)
    assert nodes[2]["prompt_tokens"] == 100 + 2 * 275
    # Another way to count has another unit.
    assert of("cost", file, "--cost-form", "exact")["unit_flops"] != 2e12


@pytest.mark.parametrize(
    "told",
    [
        None,
        3,
        {},
        {"prompt_tokens": "1", "completion_tokens": 2},
        {"prompt_tokens": True, "completion_tokens": 2},
        {"prompt_tokens": -1, "completion_tokens": 2},
        {"prompt_tokens": 10**400, "completion_tokens": 2},
        {"prompt_tokens": 1, "completion_tokens": 2, "by_model": [1]},
        {"prompt_tokens": 1, "completion_tokens": 2, "by_model": {"m": [1]}},
        {"prompt_tokens": 1, "completion_tokens": 2, "by_model": {"m": [1, "x"]}},
    ],
)
def test_other_things_in_the_place_of_lengths_are_no_lengths(told: Json) -> None:
    assert workload_of(told) is None


def test_a_measured_run_tells_tokens_seconds_and_prices(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "one two three", "reference": "1"}\n{"prompt": "four five", "reference": "2"}\n', "utf-8")
    (tmp_path / "run.toml").write_text(RUN_FILE.partition('[[models]]\nname = "large"')[0], "utf-8")
    command = [sys.executable, "-m", "multigraft", "synth", "-c", "run.toml", "--strategy", "random", "-n", "3", "-o", "run"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    said("make", "parallel", "--models", "small,small", "--sink", "small", "-o", tmp_path / "graph.json")
    found = of("cost", tmp_path / "graph.json", "--measured", tmp_path / "run", "--slots", "1")
    assert isinstance(found["usd"], float)
    assert isinstance(found["latency_s"], float)
    assert found["latency_slots_s"] == found["latency_sum_s"]
    assert found["critical_path"] == ["a1", "sink"]
    assert "by a1 > sink; one call after the other" in said("cost", tmp_path / "graph.json", "--measured", tmp_path / "run", "--slots", "1").stdout
    text = said("draw", tmp_path / "graph.json", "--measured", tmp_path / "run", "-o", tmp_path / "a.svg")
    assert text.exit_code == 0
    assert "critical path" in (tmp_path / "a.svg").read_text("utf-8")


def test_draw(file: Path) -> None:
    assert said("draw", file).stdout.strip() == f"wrote {file.with_suffix('.svg')}"
    assert of("draw", file, "-o", file.with_name("b.svg"), "--tokens", "202,275") == {"written": str(file.with_name("b.svg"))}
    plain, priced = file.with_suffix(".svg").read_text("utf-8"), file.with_name("b.svg").read_text("utf-8")
    assert 'class="bar"' not in plain
    assert priced.count('class="bar"') == 4
    assert ET.fromstring(priced).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - written by the code under test
    terminal = said("draw", file, "--terminal", "--tokens", "202,275").stdout
    assert "█" in terminal
    assert "▶ f Llama-3.1-8B" in terminal


def test_the_picture_in_the_documentation_is_what_its_example_draws(tmp_path: Path) -> None:
    page = (DOCS / "graphs.md").read_text("utf-8")
    text = page.partition("<!-- file: graph.json -->\n```json\n")[2].partition("```")[0]
    (tmp_path / "graph.json").write_text(text, "utf-8")
    assert said("draw", tmp_path / "graph.json", "--tokens", "202,275").exit_code == 0
    assert (tmp_path / "graph.svg").read_text("utf-8") == (DOCS / "images" / "graph.svg").read_text("utf-8")


COUNTS = [
    (["--n", "7"], 243668),
    (["--n", "7", "--unlabelled"], 243668),
    (["--n", "7", "--labelled"], 1138779265),
    (["--n", "7", "--one-sink"], 654313415),
    (["--n", "6", "--colours", "2"], 357468),
    (["--n", "5", "--paper-legacy"], 762),
    (["--n", "12", "--unlabelled"], 1094026876269892596),
    (["--n", "12", "--labelled"], 521939651343829405020504063),
]


@pytest.mark.parametrize(("arguments", "number"), COUNTS)
def test_count_prints_the_number_alone(arguments: list[str], number: int) -> None:
    assert said("count", *arguments).stdout == f"{number}\n"


def test_count_refuses_what_it_cannot() -> None:
    both = said("count", "--n", "3", "--labelled", "--one-sink")
    assert (both.exit_code, "--one-sink" in both.stderr) == (2, True)
    assert "--unlabelled" in said("count", "--n", "8", "--paper-legacy").stderr
    assert said("count", "--n", "99").exit_code == 2
    assert json.loads(said("count", "--n", "3", "--json").stdout) == {"n": 3, "counted": "unlabelled", "graphs": 6}


MADE = [
    (["single", "--sink", "m"], 1, (0, 0)),
    (["parallel", "--models", "3xa,b", "--sink", "m"], 5, (4, 1)),
    (["chain", "--models", "a,b,a", "--sink", "m"], 4, (1, 3)),
    (["grid", "--width", "3", "--depth", "4", "--models", "a", "--sink", "m"], 13, (3, 4)),
    (["moa", "--models", "a,b/2xa/c"], 6, (2, 3)),
]


@pytest.mark.parametrize(("arguments", "num_nodes", "extent"), MADE)
def test_make(arguments: list[str], num_nodes: int, extent: tuple[int, int], tmp_path: Path) -> None:
    printed = said("make", *arguments)
    assert printed.exit_code == 0
    graph = graph_of(printed.stdout)
    assert len(graph.nodes) == num_nodes
    path = tmp_path / "g.json"
    assert of("make", *arguments, "-o", path) == {"written": str(path)}
    assert path.read_text("utf-8") == printed.stdout
    shown = of("show", path)
    assert (shown["width"], shown["depth"]) == extent
    assert said("make", *arguments, "-o", path).exit_code == 2
    assert said("make", *arguments, "-o", path, "--force").exit_code == 0


def test_names_with_an_x_are_names() -> None:
    graph = graph_of(said("make", "parallel", "--models", "2xmixtral-8x7b,xavier", "--sink", "8x7b").stdout)
    assert [node.model for node in graph.nodes] == ["mixtral-8x7b", "mixtral-8x7b", "xavier", "8x7b"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["cube"], "Known: chain, grid, moa, parallel, single"),
        (["grid", "--models", "a"], "--width and --depth"),
        (["parallel", "--models", "a", "--width", "2"], "belong to a grid"),
        (["parallel"], "does not name"),
        (["moa", "--models", "a//b"], "does not name"),
        (["single", "--sink", "m", "--models", "a"], "sink alone"),
        (["single"], "vote"),
        (["grid", "--models", "a", "--width", "100000", "--depth", "100000"], "10,000,000,000 agents; a graph has 1,000 at most"),
        (["parallel", "--models", "999xa,2xb"], "1,001 agents; a graph has 1,000 at most"),
        (["chain", "--models", "1000000xa"], "1000000 agents"),
        (["moa", "--models", "600xa/401xb"], "1,001 agents"),
    ],
)
def test_make_says_what_is_missing(arguments: list[str], told: str) -> None:
    done = said("make", *arguments)
    assert done.exit_code == 2
    assert told in done.stderr


def test_counting_and_showing_load_no_models(file: Path) -> None:
    names = ("multigraft.models.local", "multigraft.build", "multigraft.engine", "multigraft.config", "aiohttp", "numpy")
    assert loaded(file.parent, "graph", "show", str(file), names=names) == []
    assert loaded(file.parent, "graph", "count", "--n", "5", names=names) == []
