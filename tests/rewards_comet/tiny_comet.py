"""Makes tiny COMET checkpoints of every class, as Lightning writes them, and scores samples with COMET's own `predict`.

Runs in an environment with unbabel-comet, as `python tiny_comet.py FOLDER`; prints one JSON object: scores by model, and the samples.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
import yaml
from comet import load_from_checkpoint
from comet.models import str2model
from pytorch_lightning import Trainer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import XLMRobertaConfig, XLMRobertaTokenizerFast

WINDOW = 96
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?'äöüß"
HEAD = {"hidden_sizes": [24, 12], "dropout": 0.1}
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "kiwi": ("unified_metric", HEAD | {"input_segments": ["mt", "src"], "sent_layer": "mix", "word_layer": 2}),
    "unified": ("unified_metric", HEAD | {"input_segments": ["mt", "src", "ref"], "sent_layer": "mix", "word_layer": 2}),
    "xcomet": ("xcomet_metric", HEAD | {"encoder_model": "XLM-RoBERTa", "word_layer": 2}),
    "referenceless": ("referenceless_regression_metric", HEAD | {"layer_norm": True, "layer_transformation": "sparsemax"}),
    "comet22": ("regression_metric", HEAD | {"layer_norm": False, "layer_transformation": "sparsemax"}),
}
SAMPLES = [
    {"src": "Der Hund schläft.", "mt": "The dog sleeps.", "ref": "The dog is asleep."},
    {"src": "Es regnet.", "mt": "It is raining cats.", "ref": "It rains."},
    {"src": "Wo ist der Bahnhof, bitte?", "mt": "Where?", "ref": "Where is the station, please?"},
    {"src": "Ja.", "mt": "Yes, of course, why not?", "ref": "Yes."},
    {"src": "Sie kam, sah und ging.", "mt": "She came, saw and left.", "ref": "She came, saw and went."},
]


def tokenizer_and_config(folder: Path) -> None:
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    vocabulary = [(token, 0.0) for token in special] + [(letter, -3.0) for letter in ("\u2581", *LETTERS)] + [("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    ends = [("<s>", 0), ("</s>", 2)]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=ends)
    XLMRobertaTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32, "max_position_embeddings": WINDOW + 2}
    XLMRobertaConfig(vocab_size=len(vocabulary), pad_token_id=1, bos_token_id=0, eos_token_id=2, **sizes).save_pretrained(folder)


def checkpoint(folder: Path, name: str, encoder: Path) -> Path:
    identifier, settings = KINDS[name]
    torch.manual_seed(sum(map(ord, name)))
    model = str2model[identifier](pretrained_model=str(encoder), load_pretrained_weights=False, **settings)
    for parameter in model.parameters():
        parameter.data.normal_(0.0, 0.7)
    trainer = Trainer(logger=False, accelerator="cpu", enable_progress_bar=False, enable_model_summary=False, callbacks=[])
    trainer.strategy.connect(model)
    path = folder / name / "checkpoints" / "model.ckpt"
    trainer.save_checkpoint(path)
    (folder / name / "hparams.yaml").write_text(yaml.safe_dump({"class_identifier": identifier} | settings), "utf-8")
    return path


class Planted:
    """Unpickles to a file that tells on whoever did it."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.file),)


def hostile(folder: Path, good: Path) -> None:
    """Plant code in three places of a checkpoint, and in its hparams.yaml."""
    read = torch.load(good, weights_only=True)
    plain = (good.parents[1] / "hparams.yaml").read_text("utf-8")
    for place in ("state_dict", "hyper_parameters", "callbacks"):
        path = folder / f"planted-{place}" / "checkpoints" / "model.ckpt"
        path.parent.mkdir(parents=True)
        torch.save(read | {place: {**read.get(place, {}), "more": Planted(folder / "it-ran")}}, path)
        (path.parents[1] / "hparams.yaml").write_text(plain, "utf-8")
    path = folder / "planted-yaml" / "checkpoints" / "model.ckpt"
    path.parent.mkdir(parents=True)
    torch.save(read, path)
    (path.parents[1] / "hparams.yaml").write_text(f"{plain}more: !!python/object/apply:os.mkdir ['{folder / 'it-ran'}']\n", "utf-8")
    path = folder / "lacking" / "checkpoints" / "model.ckpt"
    path.parent.mkdir(parents=True)
    torch.save(read | {"state_dict": {name: value for name, value in read["state_dict"].items() if "estimator" not in name}}, path)
    (path.parents[1] / "hparams.yaml").write_text(plain, "utf-8")
    path = folder / "not-a-number" / "checkpoints" / "model.ckpt"
    path.parent.mkdir(parents=True)
    torch.save(read | {"state_dict": {name: value * float("nan") if "estimator" in name else value for name, value in read["state_dict"].items()}}, path)
    (path.parents[1] / "hparams.yaml").write_text(plain, "utf-8")


def main(folder: Path) -> None:
    encoder = folder / "encoder"
    tokenizer_and_config(encoder)
    scores: dict[str, list[float]] = {}
    for name in KINDS:
        path = checkpoint(folder, name, encoder)
        model = load_from_checkpoint(str(path))
        with_reference = name in {"unified", "xcomet", "comet22"}
        samples = [sample if with_reference else {"src": sample["src"], "mt": sample["mt"]} for sample in SAMPLES]
        scores[name] = model.predict(samples, gpus=0, batch_size=2, progress_bar=False, num_workers=0)["scores"]
        if name == "xcomet":
            without = [{"src": sample["src"], "mt": sample["mt"]} for sample in SAMPLES]
            scores["xcomet without"] = model.predict(without, gpus=0, batch_size=5, progress_bar=False, num_workers=0)["scores"]
    hostile(folder, folder / "kiwi" / "checkpoints" / "model.ckpt")
    sys.stdout.write(json.dumps({"scores": scores, "samples": SAMPLES, "window": WINDOW}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
