import pytest

from multigraft.budget.shapes import KNOWN_SHAPES, SHAPES_BY_NAME, known_shape, normalised_name


@pytest.mark.parametrize(
    ("name", "parameters", "head"),
    [
        ("Llama-3.2-1B", 973_078_528, 262_668_288),
        ("Llama-3.2-3B", 2_818_572_288, 394_002_432),
        ("Llama-3.1-8B", 6_979_321_856, 525_336_576),
        ("Llama-3.1-70B", 68_451_041_280, 1_050_673_152),
        ("Gemma-3-1B", 697_761_792, 301_989_888),
        ("Gemma-1.1-2B", 1_981_808_640, 524_288_000),
        ("Gemma-1.1-7B", 7_751_073_792, 786_432_000),
    ],
)
def test_parameters_of_layers_and_head(name: str, parameters: int, head: int) -> None:
    shape = KNOWN_SHAPES[name]
    assert shape.parameters == parameters
    assert shape.architecture is not None
    assert shape.width * shape.architecture.vocabulary == head


@pytest.mark.parametrize(
    ("name", "billions", "heads_stored"),
    [
        # Published totals: layers, and the embeddings once (tied) or twice.
        ("SmolLM2-135M", 0.1345, 1),
        ("SmolLM2-360M", 0.362, 1),
        ("SmolLM2-1.7B", 1.711, 1),
        ("Gemma-3-270M", 0.268, 1),
        ("Gemma-3-4B", 3.88, 1),
        ("Gemma-2-9B", 9.24, 1),
        ("Qwen2.5-0.5B", 0.494, 1),
        ("Qwen2.5-1.5B", 1.544, 1),
        ("Qwen2.5-3B", 3.086, 1),
        ("Qwen2.5-7B", 7.616, 2),
        ("Qwen2.5-14B", 14.77, 2),
        ("Qwen2.5-32B", 32.76, 2),
        ("Qwen2.5-72B", 72.7, 2),
        ("Qwen3-8B", 8.19, 2),
        ("Llama-3.1-405B", 405.9, 2),
        ("Mistral-7B", 7.248, 2),
        ("Mistral-Large-2407", 122.6, 2),
        ("Mistral-Nemo", 12.25, 2),
        ("Yi-1.5-9B", 8.83, 2),
        ("Phi-3-mini", 3.821, 2),
        ("Phi-4", 14.66, 2),
        # Active parameters of mixtures of experts.
        ("Mixtral-8x7B", 12.88, 2),
        ("Mixtral-8x22B", 39.15, 2),
    ],
)
def test_shapes_reproduce_published_sizes(name: str, billions: float, heads_stored: int) -> None:
    shape = KNOWN_SHAPES[name]
    assert shape.architecture is not None
    assert (shape.parameters + heads_stored * shape.width * shape.architecture.vocabulary) / 1e9 == pytest.approx(billions, rel=3e-3)


def test_no_two_names_fall_together() -> None:
    assert len(SHAPES_BY_NAME) == len(KNOWN_SHAPES)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "Llama-3.1-8B"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo", "Llama-3.1-8B"),
        ("meta-llama/llama-3.1-8b-instruct:free", "Llama-3.1-8B"),
        ("llama3.1:8b-instruct-q4_K_M", "Llama-3.1-8B"),
        ("unsloth/llama-3-8b-bnb-4bit", "Llama-3-8B"),
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M"),
        ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "Qwen2.5-Coder-0.5B"),
        ("/models/Qwen2.5-72B-Instruct-Q8_0-00001-of-00003.gguf", "Qwen2.5-72B"),
        ("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "Qwen2.5-Coder-1.5B"),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen2.5-7B"),
        ("gemma-3-270m-q4_k_m.gguf", "Gemma-3-270M"),
        ("google/gemma-3-1b-it-qat-q4_0-gguf", "Gemma-3-1B"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "Mistral-7B"),
        ("mistralai/Mistral-Large-Instruct-2407", "Mistral-Large-2407"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "Mixtral-8x7B"),
        ("microsoft/Phi-3-mini-4k-instruct", "Phi-3-mini"),
        ("01-ai/Yi-1.5-9B-Chat-16K", "Yi-1.5-9B"),
        ("RedHatAI/Llama-3.2-1B-Instruct-FP8-dynamic", "Llama-3.2-1B"),
        (r"C:\models\SmolLM2-360M-Instruct-IQ2_XS.gguf", "SmolLM2-360M"),
    ],
)
def test_names_are_recognised_however_they_are_written(given: str, name: str) -> None:
    assert known_shape(given) is KNOWN_SHAPES[name]


@pytest.mark.parametrize("given", ["", "gpt-4o-mini", "mistral-large-latest", "mistral-large-2512", "Llama-3.1-8B-Lexi", "llama", "gemma-3n-E4B", "instruct"])
def test_a_name_that_only_looks_alike_is_not_known(given: str) -> None:
    assert known_shape(given) is None


def test_normalising_twice_changes_nothing() -> None:
    assert all(normalised_name(name) == name for name in SHAPES_BY_NAME)
