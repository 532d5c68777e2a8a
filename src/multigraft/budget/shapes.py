"""Shapes of known models, by name.

Figures of the makers' published configurations; parameters are counted from them. A mixture of experts is entered with the experts one token passes, so its
parameters are the active ones. Fine-tunes and quantisations keep the shape of what they were made from.
"""

import re
from collections.abc import Mapping

from multigraft.budget.flops import Architecture, ModelShape, shape_of_architecture


def known_shape(name: str) -> ModelShape | None:
    """Look a model up by the name a server, hub or file gives it.

    Args:
        name: such as `meta-llama/Llama-3.1-8B-Instruct`, `llama3.1:8b` or `SmolLM2-135M-Instruct.Q4_1.gguf`.

    Returns:
        Its shape; None when it is not in the table.
    """
    return SHAPES_BY_NAME.get(normalised_name(name))


def normalised_name(name: str) -> str:
    """Reduce a model's name to family and size.

    Args:
        name: as a server, hub or file gives it.

    Returns:
        Lower case, without separators, and without a vendor, a file ending, a quantisation, a context length or a mark of tuning for chat.
    """
    name = name.lower().replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".gguf")
    name = _QUANTISATION.sub("", _SHARD.sub("", name).removesuffix("-gguf"))
    name = name.removeprefix("meta-")
    words = [word for word in _SEPARATORS.split(name) if word and not _NOISE.fullmatch(word)]
    return "".join(words)


_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
_QUANTISATION = re.compile(r"[-._:](?:ud-)?(?:i?q\d(?:_[0-9a-z]+)*|tq\d_\d|mxfp4|w\d+a\d+)$")
_SEPARATORS = re.compile(r"[-_:\s]+")
_NOISE = re.compile(
    r"""
    instruct|it|pt|chat|base|hf|gguf|turbo|free                       # tuning and packaging
    | awq|gptq|bnb|mlx|qat|dynamic|bf16|fp(?:8|16|32)|f(?:16|32)|int[48]|[48]bit # number formats
    | \d+k|1m                                                         # context lengths
    | v\d+(?:\.\d+)*|2501|2507                                        # releases of one shape; other dates do change it
    """,
    re.VERBOSE,
)


def _decoder(
    layers: int,
    width: int,
    heads: tuple[int, int, int],
    feed_forward: int,
    vocabulary: int,
    *,
    experts: int = 1,
    window: int = 0,
    windowed_layers: int = 0,
) -> ModelShape:
    """Make a shape; `heads` are query heads, key and value heads, and the size of one."""
    query_heads, kv_heads, head_size = heads
    architecture = Architecture(
        heads=query_heads,
        kv_heads=kv_heads,
        head_size=head_size,
        feed_forward=experts * feed_forward,
        vocabulary=vocabulary,
        window=window,
        windowed_layers=windowed_layers,
    )
    return shape_of_architecture(layers, width, architecture)


_LLAMA_8B = _decoder(32, 4096, (32, 8, 128), 14336, 128256)
_LLAMA_70B = _decoder(80, 8192, (64, 8, 128), 28672, 128256)
_QWEN_1B = _decoder(28, 1536, (12, 2, 128), 8960, 151936)
_QWEN_7B = _decoder(28, 3584, (28, 4, 128), 18944, 152064)
_QWEN_14B = _decoder(48, 5120, (40, 8, 128), 13824, 152064)
_QWEN_32B = _decoder(64, 5120, (40, 8, 128), 27648, 152064)
_QWEN_72B = _decoder(80, 8192, (64, 8, 128), 29568, 152064)
_QWEN_HALF_B = _decoder(24, 896, (14, 2, 64), 4864, 151936)
_QWEN_3B = _decoder(36, 2048, (16, 2, 128), 11008, 151936)
_MIXTRAL_8X22B = _decoder(56, 6144, (48, 8, 128), 16384, 32768, experts=2)
_PHI_MINI = _decoder(32, 3072, (32, 32, 96), 8192, 32064)
_MISTRAL_NEMO = _decoder(40, 5120, (32, 8, 128), 14336, 131072)
_MISTRAL_LARGE = _decoder(88, 12288, (96, 8, 128), 28672, 32768)

KNOWN_SHAPES: Mapping[str, ModelShape] = {
    "Llama-2-7B": _decoder(32, 4096, (32, 32, 128), 11008, 32000),
    "Llama-2-13B": _decoder(40, 5120, (40, 40, 128), 13824, 32000),
    "Llama-2-70B": _decoder(80, 8192, (64, 8, 128), 28672, 32000),
    "Llama-3-8B": _LLAMA_8B,
    "Llama-3-70B": _LLAMA_70B,
    "Llama-3.1-8B": _LLAMA_8B,
    "Llama-3.1-70B": _LLAMA_70B,
    "Llama-3.1-405B": _decoder(126, 16384, (128, 8, 128), 53248, 128256),
    "Llama-3.2-1B": _decoder(16, 2048, (32, 8, 64), 8192, 128256),
    "Llama-3.2-3B": _decoder(28, 3072, (24, 8, 128), 8192, 128256),
    "Llama-3.3-70B": _LLAMA_70B,
    "TinyLlama-1.1B": _decoder(22, 2048, (32, 4, 64), 5632, 32000),
    "SmolLM2-135M": _decoder(30, 576, (9, 3, 64), 1536, 49152),
    "SmolLM2-360M": _decoder(32, 960, (15, 5, 64), 2560, 49152),
    "SmolLM2-1.7B": _decoder(24, 2048, (32, 32, 64), 8192, 49152),
    "Gemma-1.1-2B": _decoder(18, 2048, (8, 1, 256), 16384, 256000),
    "Gemma-1.1-7B": _decoder(28, 3072, (16, 16, 256), 24576, 256000),
    "Gemma-2-2B": _decoder(26, 2304, (8, 4, 256), 9216, 256000, window=4096, windowed_layers=13),
    "Gemma-2-9B": _decoder(42, 3584, (16, 8, 256), 14336, 256000, window=4096, windowed_layers=21),
    "Gemma-2-27B": _decoder(46, 4608, (32, 16, 128), 36864, 256000, window=4096, windowed_layers=23),
    "Gemma-3-270M": _decoder(18, 640, (4, 1, 256), 2048, 262144, window=512, windowed_layers=15),
    "Gemma-3-1B": _decoder(26, 1152, (4, 1, 256), 6912, 262144, window=512, windowed_layers=22),
    "Gemma-3-4B": _decoder(34, 2560, (8, 4, 256), 10240, 262208, window=1024, windowed_layers=29),
    "Gemma-3-12B": _decoder(48, 3840, (16, 8, 256), 15360, 262208, window=1024, windowed_layers=40),
    "Gemma-3-27B": _decoder(62, 5376, (32, 16, 128), 21504, 262208, window=1024, windowed_layers=52),
    "Qwen1.5-72B": _decoder(80, 8192, (64, 64, 128), 24576, 152064),
    "Qwen1.5-110B": _decoder(80, 8192, (64, 8, 128), 49152, 152064),
    "Qwen2-0.5B": _QWEN_HALF_B,
    "Qwen2-1.5B": _QWEN_1B,
    "Qwen2-7B": _QWEN_7B,
    "Qwen2-72B": _QWEN_72B,
    "Qwen2.5-0.5B": _QWEN_HALF_B,
    "Qwen2.5-1.5B": _QWEN_1B,
    "Qwen2.5-3B": _QWEN_3B,
    "Qwen2.5-7B": _QWEN_7B,
    "Qwen2.5-14B": _QWEN_14B,
    "Qwen2.5-32B": _QWEN_32B,
    "Qwen2.5-72B": _QWEN_72B,
    "Qwen2.5-Coder-0.5B": _QWEN_HALF_B,
    "Qwen2.5-Coder-1.5B": _QWEN_1B,
    "Qwen2.5-Coder-3B": _QWEN_3B,
    "Qwen2.5-Coder-7B": _QWEN_7B,
    "Qwen2.5-Coder-14B": _QWEN_14B,
    "Qwen2.5-Coder-32B": _QWEN_32B,
    "Qwen2.5-Math-1.5B": _QWEN_1B,
    "Qwen2.5-Math-7B": _QWEN_7B,
    "Qwen2.5-Math-72B": _QWEN_72B,
    "Qwen3-0.6B": _decoder(28, 1024, (16, 8, 128), 3072, 151936),
    "Qwen3-1.7B": _decoder(28, 2048, (16, 8, 128), 6144, 151936),
    "Qwen3-4B": _decoder(36, 2560, (32, 8, 128), 9728, 151936),
    "Qwen3-8B": _decoder(36, 4096, (32, 8, 128), 12288, 151936),
    "Qwen3-14B": _decoder(40, 5120, (40, 8, 128), 17408, 151936),
    "Qwen3-32B": _decoder(64, 5120, (64, 8, 128), 25600, 151936),
    "Qwen3-30B-A3B": _decoder(48, 2048, (32, 4, 128), 768, 151936, experts=8),
    "DeepSeek-R1-Distill-Qwen-1.5B": _QWEN_1B,
    "DeepSeek-R1-Distill-Qwen-7B": _QWEN_7B,
    "DeepSeek-R1-Distill-Qwen-14B": _QWEN_14B,
    "DeepSeek-R1-Distill-Qwen-32B": _QWEN_32B,
    "DeepSeek-R1-Distill-Llama-8B": _LLAMA_8B,
    "DeepSeek-R1-Distill-Llama-70B": _LLAMA_70B,
    "Mistral-7B": _decoder(32, 4096, (32, 8, 128), 14336, 32768),
    "Mistral-Nemo": _MISTRAL_NEMO,
    "Mistral-Nemo-2407": _MISTRAL_NEMO,
    "Mistral-Small-24B": _decoder(40, 5120, (32, 8, 128), 32768, 131072),
    "Mistral-Large-2407": _MISTRAL_LARGE,
    "Mistral-Large-2411": _MISTRAL_LARGE,
    "Mixtral-8x7B": _decoder(32, 4096, (32, 8, 128), 14336, 32000, experts=2),
    "Mixtral-8x22B": _MIXTRAL_8X22B,
    "WizardLM-2-8x22B": _MIXTRAL_8X22B,
    "Yi-1.5-6B": _decoder(32, 4096, (32, 4, 128), 11008, 64000),
    "Yi-1.5-9B": _decoder(48, 4096, (32, 4, 128), 11008, 64000),
    "Yi-1.5-34B": _decoder(60, 7168, (56, 8, 128), 20480, 64000),
    "Phi-3-mini": _PHI_MINI,
    "Phi-3.5-mini": _PHI_MINI,
    "Phi-3-medium": _decoder(40, 5120, (40, 10, 128), 17920, 32064),
    "Phi-4": _decoder(40, 5120, (40, 10, 128), 17920, 100352),
    "OLMo-2-7B": _decoder(32, 4096, (32, 32, 128), 11008, 100352),
}

SHAPES_BY_NAME: Mapping[str, ModelShape] = {normalised_name(name): shape for name, shape in KNOWN_SHAPES.items()}
