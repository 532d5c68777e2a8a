"""Pickles planted where caches and records are, and weights that are pickles: never opened, or opened no further than their first bytes."""

import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.reports.command import laid_out, multigraft, one_each, synth

from multigraft.errors import InputError, WeightsError
from multigraft.models.local.gguf import read_metadata

WATCHING = (
    "import sys; found = []; "
    "sys.addaudithook(lambda event, args: found.append([event, str(args[0])]) "
    "if event == 'pickle.find_class' or (event == 'open' and 'planted' in str(args[0])) else None); "
    "import json; atexit.register(lambda: Path('audit.json').write_text(json.dumps(found))); "
)
NAMES = ("planted.pkl", "planted.pickle", "planted.pt", "planted.bin", "planted.dill", "planted-cache.db", "planted.marshal", "planted.joblib")


class Touching:
    """Makes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.marker}",)


def weights(marker: Path) -> bytes:
    """A checkpoint in the form of `torch.save`."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({"weight": Touching(marker)}))
        archive.writestr("archive/version", "3\n")
    return file.getvalue()


def planted(folder: Path, marker: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        (folder / name).write_bytes(weights(marker) if name.endswith((".pt", ".bin")) else pickle.dumps(Touching(marker)))


def audited(folder: Path) -> list[list[str]]:
    found: list[list[str]] = json.loads((folder / "audit.json").read_text())
    return found


def test_the_trap_works(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    planted(tmp_path, marker)
    code = f"import atexit; from pathlib import Path; {WATCHING}import pickle; pickle.load(open('planted.pkl', 'rb'))"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert marker.exists()
    assert {event for event, _ in audited(tmp_path)} == {"open", "pickle.find_class"}


def test_pickles_where_caches_and_records_are_stay_closed(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    cache = tmp_path / "cache"
    run = laid_out(tmp_path, f'{one_each(2)}[[models]]\nname = "a"\nkind = "scripted"\n[[reward.parts]]\nkind = "scripted"\n', "One?", "Two?")
    for place in (cache, cache / "multigraft", cache / "multigraft" / "models", cache / "huggingface", tmp_path / "tmp", tmp_path, run):
        planted(place, marker)
    environment: Mapping[str, str] = {"XDG_CACHE_HOME": str(cache), "HF_HOME": str(cache / "huggingface"), "TMPDIR": str(tmp_path / "tmp")}
    assert synth(tmp_path, prelude=WATCHING, environment=environment).code == 0
    seen = audited(tmp_path)
    commands = (("resume", run, "-q"), ("show", run), ("show", run, "0"), ("export", run, "--all", "all.parquet", "--sft", "sft.jsonl"), ("models", "list"))
    for arguments in commands:
        done = multigraft(tmp_path, *arguments, prelude=WATCHING, environment=environment)
        assert done.code == 0, done.err
        seen += audited(tmp_path)
    assert seen == []
    assert not marker.exists()


@pytest.mark.parametrize("name", ["evil.pt", "evil.bin", "evil.ckpt", "evil.gguf"])
def test_weights_that_are_a_pickle_are_no_gguf(tmp_path: Path, name: str) -> None:
    marker = tmp_path / "marker"
    for content in (weights(marker), pickle.dumps(Touching(marker))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(WeightsError, match=r"is no readable GGUF file: it begins with|is no GGUF file"):
            read_metadata(tmp_path / name)
    assert not marker.exists()


@pytest.mark.parametrize("field", ['source = "file:planted.pt"', 'source = "file:planted.pt"\nshape = "planted.pt"'])
def test_a_run_refuses_weights_that_are_a_pickle(tmp_path: Path, field: str) -> None:
    marker = tmp_path / "marker"
    planted(tmp_path, marker)
    laid_out(tmp_path, f'{one_each()}[[models]]\nname = "a"\nkind = "local"\n{field}\n[[reward.parts]]\nkind = "scripted"\n', "One?")
    done = synth(tmp_path, prelude=WATCHING)
    assert done.code not in {0, None}
    assert "Traceback" not in done.err
    assert "planted.pt" in done.err
    assert [event for event, _ in audited(tmp_path) if event != "open"] == []
    assert not marker.exists()


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth", "weights.ckpt"])
def test_a_reward_model_that_is_a_pickle_is_refused(tmp_path: Path, name: str) -> None:
    from multigraft.rewards.hf.weights import read_folder

    marker = tmp_path / "marker"
    (tmp_path / "config.json").write_text('{"architectures": ["LlamaForSequenceClassification"], "model_type": "llama"}')
    (tmp_path / name).write_bytes(weights(marker))
    with pytest.raises(InputError, match="safetensors"):
        read_folder("mine", tmp_path)
    assert not marker.exists()
