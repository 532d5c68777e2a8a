"""Which files are read, and which never: a pickle runs whatever its author wrote into it."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.rewards_hf.answers import answers, same, values

from multigraft.errors import InputError
from multigraft.rewards.hf.classifier import Classifier
from multigraft.rewards.hf.model_reward import ModelReward
from multigraft.rewards.hf.weights import find_weights, read_folder

Tiny = Callable[[str], Path]
Closing = Callable[[ModelReward], ModelReward]
PICKLES = ("pytorch_model.bin", "model.pt", "training_args.bin", "optimizer.pt", "adapter_model.bin")

PLANTED = """
from types import SimpleNamespace
import torch
from transformers import LlamaConfig, LlamaModel, PreTrainedModel

class LlamaRewardModel(PreTrainedModel):
    config_class = LlamaConfig

    def __init__(self, config):
        super().__init__(config)
        self.model = LlamaModel(config)
        self.regression_head = torch.nn.Linear(config.hidden_size, 1, bias=False)
        self.post_init()

    def forward(self, input_ids, attention_mask=None):
        states = self.model(input_ids, attention_mask=attention_mask).last_hidden_state
        return SimpleNamespace(logits=self.regression_head(states[:, -1]) + 100)
"""


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str, int]]:
        return os.open, (str(self.mark), os.O_CREAT | os.O_WRONLY)


def plant(folder: Path, mark: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(pickle.dumps(Bomb(mark)))


def test_the_bomb_works(tmp_path: Path) -> None:
    plant(tmp_path, tmp_path / "mark", "model.pt")
    os.close(pickle.loads((tmp_path / "model.pt").read_bytes()))  # noqa: S301 - to see that it would be noticed
    assert (tmp_path / "mark").exists()


async def test_weights_that_are_pickles_are_refused(tiny: Tiny, tmp_path: Path, closing: Closing) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny("classifier"), folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match="has no weights as safetensors"):
        await closing(Classifier(model=str(folder))).start()
    plant(folder, tmp_path / "mark", "pytorch_model.bin")
    with pytest.raises(InputError, match=r"only as pickles \(pytorch_model.bin\).*none is ever opened here.*revision = 'refs/pr/N'"):
        await closing(Classifier(model=str(folder), trust_remote_code=True)).start()
    assert not (tmp_path / "mark").exists()


async def test_pickles_beside_the_weights_are_never_opened(tiny: Tiny, tmp_path: Path, closing: Closing) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny("classifier"), folder)
    plant(folder, tmp_path / "mark", *PICKLES)
    (folder / "pytorch_model.bin.index.json").write_text('{"weight_map": {"score.weight": "pytorch_model.bin"}}')
    found = values(await closing(Classifier(model=str(folder))).score(answers()))
    assert found == same(values(await closing(Classifier(model=str(tiny("classifier")))).score(answers())))
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("named", ["evil.bin", "../evil.safetensors", "missing.safetensors"])
def test_an_index_may_name_nothing_else(named: str, tiny: Tiny, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny("classifier"), folder)
    plant(folder, tmp_path / "mark", "evil.bin")
    (tmp_path / "evil.safetensors").write_bytes(b"")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"score.weight": named}}))
    with pytest.raises(InputError, match=r"names \['.*evil|missing.*'\], which is no safetensors file of its folder"):
        read_folder("model", folder)


async def test_sharded_weights(tiny: Tiny, tmp_path: Path, closing: Closing) -> None:
    from transformers import AutoModelForSequenceClassification

    folder = tmp_path / "sharded"
    shutil.copytree(tiny("classifier"), folder)
    (folder / "model.safetensors").unlink()
    AutoModelForSequenceClassification.from_pretrained(tiny("classifier")).save_pretrained(folder, max_shard_size="40KB")
    assert len(list(folder.glob("*.safetensors"))) > 1
    found = values(await closing(Classifier(model=str(folder))).score(answers()))
    assert found == same(values(await closing(Classifier(model=str(tiny("classifier")))).score(answers())))


async def test_code_of_a_repository_runs_only_where_it_is_trusted(tiny: Tiny, tmp_path: Path, closing: Closing) -> None:
    """The planted code does the same sum as the native head, and adds 100, so that it is seen which of them ran."""
    folder = tmp_path / "trusted"
    shutil.copytree(tiny("ultrarm"), folder)
    (folder / "modeling_custom.py").write_text(PLANTED)
    native = closing(Classifier(model=str(folder)))
    remote = closing(Classifier(model=str(folder), trust_remote_code=True))
    ones, others = values(await native.score(answers()[:5])), values(await remote.score(answers()[:5]))
    # It reads the last column of a batch, so rows of different lengths must never share one.
    assert [other - 100 for other in others] == pytest.approx(ones, rel=1e-4, abs=1e-4)
    assert native.version != remote.version
    assert remote._ready is not None
    assert not remote._ready.loaded.networks[0].padded


def test_folders_that_are_none() -> None:
    for model in ("./missing", "/missing/model", "~/missing", "a/b/c"):
        with pytest.raises(InputError, match="there is no folder"):
            find_weights(model, revision=None, trust_remote_code=False)


def test_adapters_are_refused(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match="is an adapter: merge it"):
        read_folder("model", tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="merge the adapter first"):
        read_folder("model", tmp_path)
    (tmp_path / "config.json").write_text("nonsense")
    with pytest.raises(InputError, match=r"reading config.json of 'model'"):
        read_folder("model", tmp_path)


def test_versions_follow_the_content(tiny: Tiny, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "model"
    shutil.copytree(tiny("classifier"), folder)
    original = Classifier(model=str(tiny("classifier"))).version
    assert Classifier(model=str(folder)).version == original
    versions = {original}
    tensors = load_file(folder / "model.safetensors")
    save_file(tensors | {"score.weight": tensors["score.weight"] + 1}, folder / "model.safetensors", metadata={"format": "pt"})
    # The same names, shapes and sizes: only the numbers differ.
    versions.add(Classifier(model=str(folder)).version)
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    versions.add(Classifier(model=str(folder)).version)
    versions.add(Classifier(model=str(folder), max_tokens=10).version)
    versions.add(Classifier(model=str(folder), max_tokens=10, too_long="cut").version)
    versions.add(Classifier(model=str(folder), template="{prompt}{response}").version)
    assert len(versions) == 6
    assert Classifier(model="owner/name").version != Classifier(model="owner/name", revision="v2").version


def test_a_large_file_is_looked_at_in_blocks(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    path = tmp_path / "model.safetensors"
    size = 80 << 20
    with path.open("wb") as file:
        file.write((2).to_bytes(8, "little") + b"{}")
        file.truncate(size)
    first = read_folder("model", tmp_path).digest()
    with path.open("r+b") as file:
        file.seek(size // 64 * 40 + 100)
        file.write(b"changed")
    assert read_folder("model", tmp_path).digest() != first


def test_a_hub_that_cannot_be_reached_is_told(tiny: Tiny) -> None:
    tiny("classifier")
    program = (
        "from multigraft.errors import WeightsError\nfrom multigraft.rewards.hf.weights import find_weights\n"
        "try:\n    find_weights('owner/name', revision=None, trust_remote_code=False)\nexcept WeightsError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | {"HF_HUB_OFFLINE": "1"}, capture_output=True, text=True, check=True)
    assert "fetching 'owner/name' from the hub (a local folder needs no hub" in done.stdout


def test_nothing_heavy_is_imported_before_a_start() -> None:
    program = (
        "import sys\nfrom multigraft.rewards.hf.classifier import Classifier\nfrom multigraft.rewards.hf.process import Process\n"
        "from multigraft.rewards.hf.generative import Generative\nClassifier(model='owner/name').version\n"
        "print(sorted({'torch', 'transformers', 'jinja2', 'safetensors', 'huggingface_hub'} & set(sys.modules)))\n"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_missing_extra_names_the_line_that_installs_it() -> None:
    program = (
        "import asyncio, sys\nsys.modules['torch'] = None\nfrom multigraft.errors import InputError\n"
        "from multigraft.rewards.hf.classifier import Classifier\n"
        "try:\n    asyncio.run(Classifier(model='owner/name').start())\nexcept InputError as error:\n    print(error)\n"
    )
    assert "pip install 'multigraft[hf]'" in subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
