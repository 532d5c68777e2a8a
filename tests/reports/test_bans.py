"""Every ban finds what it is there for."""

from pathlib import Path

import pytest
from tests.reports.bans import FORMATS_OWN_TEXT, RUN_IN_THE_BOX, TEMPLATES_OF_MODELS, violations

import multigraft

PACKAGE = Path(multigraft.__file__).parent

BANNED = (
    "import pickle",
    "import pickle as p",
    "from pickle import loads",
    "import dill",
    "import cloudpickle",
    "import diskcache",
    "import shelve",
    "import marshal",
    "import joblib",
    "from multiprocessing import Pool",
    "import multiprocessing.pool",
    "from multiprocessing.queues import Queue",
    "from concurrent.futures import ProcessPoolExecutor",
    "def f():\n    import pickle",
    "import yaml\nyaml.load(text)",
    "import yaml\nyaml.load(text, Loader=yaml.Loader)",
    "import yaml\nyaml.load(text, yaml.UnsafeLoader)",
    "import yaml\nyaml.unsafe_load(text)",
    "import yaml\nyaml.full_load(text)",
    "from yaml import load",
    "eval(text)",
    "exec(text)",
    "compile(text, 'x', 'exec')",
    "__import__(name)",
    "import builtins\nbuiltins.eval(text)",
    "import torch\ntorch.load(path)",
    "import torch\ntorch.load(path, weights_only=False)",
    "import torch\ntorch.load(path, weights_only=safe)",
    "from torch import load",
    "frame.read_pickle(path)",
    "made.load_from_checkpoint(path)",
    "numpy.load(path, allow_pickle=True)",
    "made.from_pretrained(name, trust_remote_code=True)",
    "def load(name, trust_remote_code=True): ...",
    "async def load(*, trust_remote_code=True): ...",
    "made.from_pretrained(name, use_safetensors=False)",
    "import jinja2",
    "from jinja2.sandbox import SandboxedEnvironment",
    "template.format(text)",
    "self.template.format_map(values)",
    "subprocess.run(line, shell=True)",
    "subprocess.run(line, shell=flag)",
    "os.system(line)",
    "os.popen(line)",
    "asyncio.create_subprocess_shell(line)",
)
ALLOWED = (
    "import yaml\nyaml.load(text, Loader=yaml.SafeLoader)",
    "import yaml\nyaml.safe_load(text)",
    "import re\nre.compile(pattern)",
    "import torch\ntorch.load(path, weights_only=True, mmap=True)",
    "made.from_pretrained(name, trust_remote_code=trusted)",
    "made.from_pretrained(name, trust_remote_code=False)",
    "model.eval()",
    "f'{text}'",
    "'{0}'.format(text)",
    "_PROGRAM.format(text)",
)


@pytest.mark.parametrize("source", BANNED)
def test_what_is_banned_is_found(source: str) -> None:
    assert violations(source, "rewards/new.py")


@pytest.mark.parametrize("source", ALLOWED)
def test_what_is_harmless_is_not(source: str) -> None:
    assert violations(source, "rewards/new.py") == []


def test_every_exception_is_still_needed() -> None:
    for path in RUN_IN_THE_BOX | TEMPLATES_OF_MODELS | FORMATS_OWN_TEXT:
        source = (PACKAGE / path).read_text("utf-8")
        assert violations(source, path) == []
        assert violations(source, "elsewhere.py"), f"{path} does nothing that is banned, so it needs no exception"
