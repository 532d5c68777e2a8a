"""Models and tokenizers from safetensors, by the classes of transformers or by the native heads; no code that came with the weights runs unless trusted."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import torch
import transformers
from safetensors import safe_open

from multigraft.errors import InputError, WeightsError, boundary
from multigraft.rewards.hf.network import TorchNetwork
from multigraft.rewards.hf.placement import Placement
from multigraft.rewards.hf.reading import Way, ways_of
from multigraft.rewards.hf.recipes import Head
from multigraft.rewards.hf.tokens import Row, Tokenizer, last_position
from multigraft.rewards.hf.weights import Weights

_ERRORS = (OSError, ValueError, KeyError, TypeError, RuntimeError, AttributeError, ImportError)
"""What transformers raises for a folder it cannot make sense of."""
_SMALL = 50_000_000
"""Parameters below which a batch runs on one core."""
_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to run."""

    networks: tuple[TorchNetwork, ...]
    pad_id: int | None
    """The token the classes of transformers look for when they search the last token of a row; None: they take the last."""
    labels: tuple[str, ...]
    """Of a classifier, by its config."""
    at_token: bool
    """Whether a row is read at a token, rather than as a whole."""


def load_tokenizer(weights: Weights, *, trust_remote_code: bool) -> Tokenizer:
    """Load the tokenizer of a model.

    Raises:
        WeightsError: it cannot be read.
        InputError: it knows no offsets.
    """
    with _quiet(), boundary(WeightsError, f"loading the tokenizer of '{weights.origin}'", *_ERRORS):
        made = transformers.AutoTokenizer
        internlm2 = weights.config.get("model_type") == "internlm2" and not trust_remote_code
        if internlm2:
            # Its class lives with the weights; its file is what the tokenizer of Llama reads.
            made = transformers.PreTrainedTokenizerFast if (weights.folder / "tokenizer.json").is_file() else transformers.LlamaTokenizerFast
        found = made.from_pretrained(weights.folder, trust_remote_code=trust_remote_code, local_files_only=True)
    if not found.is_fast:
        message = f"'{weights.origin}' has a tokenizer without offsets; save it as tokenizer.json with a current transformers"
        raise InputError(message, field="model")
    return cast("Tokenizer", found)


def load_networks(
    weights: Weights, head: Head, placement: Placement, *, probes: tuple[Row, Row], trust_remote_code: bool, groups: tuple[tuple[int, ...], ...]
) -> Loaded:
    """Load a model once for each device, and find out how it may be batched.

    Args:
        weights: of the model.
        head: see `Head`.
        placement: where it runs.
        probes: a short and a long row without marks, to try it with.
        trust_remote_code: whether code that came with the weights may run.
        groups: for `causal`, the token ids of each group whose probability is read.

    Raises:
        WeightsError: the weights do not fit the architecture.
        InputError: a device that is not there, or too large a model without `split`.
    """
    devices = placement.replicas()
    spread = placement.split and len(devices) > 1
    found: list[Loaded] = []
    for device in devices[:1] if spread else devices:
        threads = placement.threads_of(device, 1 if spread else len(devices))
        with _quiet(), boundary(WeightsError, f"loading '{weights.origin}'", *_ERRORS):
            model = _model(weights, head, placement, device, devices if spread else (), trust_remote_code=trust_remote_code)
            model.eval()
            # Code of a repository may read the last column, padding or not, and some positions follow the longest row: neither is padded.
            padded = not (trust_remote_code and _auto_map(weights)) and not _follows_length(weights)
            found.append(_best(model, ways_of(model, head, groups, probes[0]), device, threads, probes=probes, padded=padded))
    # On a CPU as many threads as cores run batches of their own, with one copy of the weights.
    networks = [network for one in found for network in one.networks for _ in range(1 if _follows_length(weights) else network.threads or 1)]
    return Loaded(tuple(networks), found[0].pad_id, found[0].labels, found[0].at_token)


def _model(
    weights: Weights, head: Head, placement: Placement, device: str, spread: tuple[str, ...], *, trust_remote_code: bool
) -> "transformers.PreTrainedModel":
    options: dict[str, object] = {_dtype_name(): _dtype(weights, placement, device), "output_loading_info": True}
    if spread:
        # Each accelerator takes what it has room for.
        options |= {"device_map": "auto", "max_memory": {torch.device(name).index or 0: torch.cuda.get_device_properties(name).total_memory for name in spread}}
    auto_map = _auto_map(weights) if trust_remote_code else frozenset()
    native = None if auto_map else _native(head)
    if native is None:
        made = transformers.AutoModelForCausalLM if head == "causal" else transformers.AutoModelForSequenceClassification
        if "AutoModel" in auto_map and "AutoModelForSequenceClassification" not in auto_map:
            made = transformers.AutoModel
        options |= {"trust_remote_code": trust_remote_code}
    else:
        made = native
    options |= {"use_safetensors": True, "local_files_only": True}
    if weights.config.get("attn_logit_softcapping") is not None:
        # The fused attention of torch leaves the cap out, in the versions that do not refuse it.
        options["attn_implementation"] = "eager"
    if head == "internlm2" and native is not None:
        model, info = _translated(weights, native, options)
    else:
        model, info = made.from_pretrained(weights.folder, **options)
    missing = sorted(info["missing_keys"]) + sorted(str(key) for key in info["mismatched_keys"])
    if missing:
        what = f"{len(missing)} tensors of {type(model).__name__}, such as {missing[0]}"
        message = f"'{weights.origin}' lacks {what}: it is no reward model of this kind, and would score at random"
        raise WeightsError(message)
    model.config.use_cache = False
    return model if spread else model.to(device)


def _translated(
    weights: Weights, native: "type[transformers.PreTrainedModel]", options: dict[str, object]
) -> "tuple[transformers.PreTrainedModel, dict[str, list[str]]]":
    from multigraft.rewards.hf.heads import internlm2  # noqa: PLC0415 - each head is imported where it is used

    config = internlm2.config_of(weights.config)
    tensors: dict[str, torch.Tensor] = {}
    for path in weights.files:
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 - the file is no mapping
                tensors.update(internlm2.renamed(name, file.get_tensor(name), config))
    made = {name: value for name, value in options.items() if name not in {"use_safetensors", "local_files_only"}}
    model, info = native.from_pretrained(None, config=config, state_dict=tensors, **made)
    return model, info


def _native(head: Head) -> "type[transformers.PreTrainedModel] | None":
    # Each head is imported where it is used, so that a class missing from one version of transformers harms no other model.
    if head == "gated":
        from multigraft.rewards.hf.heads.gated import GatedReward as Native  # noqa: PLC0415 - see above
    elif head == "regression":
        from multigraft.rewards.hf.heads.regression import RegressionReward as Native  # noqa: PLC0415 - see above
    elif head == "internlm2":
        from multigraft.rewards.hf.heads.internlm2 import InternLM2Reward as Native  # noqa: PLC0415 - see above
    elif head == "qwen2_reward":
        from multigraft.rewards.hf.heads.qwen2_score import Qwen2Reward as Native  # noqa: PLC0415 - see above
    elif head == "qwen2_process":
        from multigraft.rewards.hf.heads.qwen2_score import Qwen2Process as Native  # noqa: PLC0415 - see above
    else:
        return None
    return Native


def _best(model: "transformers.PreTrainedModel", ways: Iterator[Way], device: str, threads: int | None, *, probes: tuple[Row, Row], padded: bool) -> Loaded:
    """Choose the first way that says what the model says and bears padding; one that does not bear it, where none does."""
    unpadded = None
    for way in ways:
        found = _network(model, way, device, threads, probes=probes, padded=padded)
        if found is not None and (found.networks[0].padded or not padded):
            return found
        unpadded = unpadded or found
    if unpadded is None:
        message = f"{type(model).__name__} gives no output that can be read"
        raise WeightsError(message)
    return unpadded


def _network(model: "transformers.PreTrainedModel", way: Way, device: str, threads: int | None, *, probes: tuple[Row, Row], padded: bool) -> Loaded | None:
    """Try one way of reading a model; None where it does not say what the model says."""
    pad_id = None if hasattr(model, "project") else _pad_id(model)
    labels = tuple(str(label) for _, label in sorted(model.config.id2label.items()))
    small = sum(parameter.numel() for parameter in model.parameters()) < _SMALL
    network = TorchNetwork(way.run, way.project, group=way.group, pad_id=pad_id or 0, device=device, padded=padded, threads=threads, small=small)
    network.prepare(1)
    short, long = (Row(row.ids, (last_position(row.ids, pad_id),) * way.group if way.at_token else (0,), row.types) for row in probes)
    if way.check is not None and not network.agrees(short, way.check, model.dtype):
        return None
    network.settle(short, long, model.dtype)
    return Loaded((network,), pad_id, labels, way.at_token)


def _pad_id(model: "transformers.PreTrainedModel") -> int | None:
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    found = getattr(config, "pad_token_id", None)
    return found if isinstance(found, int) and found >= 0 else None


def _follows_length(weights: Weights) -> bool:
    """Whether the angles of positions are chosen, and kept, by the length of a batch."""
    settings = [weights.config.get(name) for name in ("rope_scaling", "rope_parameters")]
    return any(isinstance(one, dict) and one.get("rope_type", one.get("type")) in {"dynamic", "longrope"} for one in settings)


def _auto_map(weights: Weights) -> frozenset[str]:
    found = weights.config.get("auto_map")
    return frozenset(found) if isinstance(found, dict) else frozenset()


def _dtype(weights: Weights, placement: Placement, device: str) -> torch.dtype:
    if placement.dtype != "auto":
        return _DTYPES[placement.dtype]
    written = weights.config.get("dtype", weights.config.get("torch_dtype"))
    return torch.float32 if device == "cpu" else _DTYPES.get(str(written), torch.float32)


def _dtype_name() -> str:
    major, minor = (int(part) for part in transformers.__version__.split(".")[:2])
    return "dtype" if (major, minor) >= (4, 56) else "torch_dtype"


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers from drawing bars and from warning of what is checked here anyway."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
