"""A tiny classifier behind a server, asked by two processes at once: the scores are those it gives in this process."""

import asyncio
import json
import sys
from collections.abc import Sequence
from math import isclose
from pathlib import Path

import pytest
from tests.server.launch import COMMAND, ROOT, served

from multigraft.rewards.remote import Remote
from multigraft.testing.reward_suite import candidate
from multigraft.types import Candidate
from multigraft.wire.endpoints import Endpoint, Endpoints

COUNT = 48


def answers() -> Sequence[Candidate]:
    return [
        candidate(f"Answer {number}. " + "It is so because it is so. " * (number % 7), ordinal=number, reference=None, constraints=[])
        for number in range(COUNT)
    ]


async def from_elsewhere(url: str) -> Sequence[float | None]:
    """Score from another process, in requests of three candidates at once."""
    async with Endpoints([Endpoint(url=url)], name="served") as opened:
        remote = Remote(opened, shape="multigraft", model="classifier")
        asked = answers()
        batches = await asyncio.gather(*(remote.score(asked[start : start + 3]) for start in range(0, COUNT, 3)))
        return [score.value for batch in batches for score in batch]


def tell(url: str) -> None:
    """Print what is scored from another process."""
    sys.stdout.write(json.dumps(asyncio.run(from_elsewhere(url))))


@pytest.mark.slow
async def test_a_served_classifier_scores_as_in_process(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install 'multigraft[hf]'")
    pytest.importorskip("transformers", reason="transformers is not installed: pip install 'multigraft[hf]'")
    from tests.rewards_hf.tiny_models import make

    from multigraft.rewards.hf.classifier import Classifier

    folder = make("classifier", tmp_path / "classifier")
    here = Classifier(model=str(folder))
    await here.start()
    expected = [score.value for score in await here.score(answers()) if score.value is not None]
    await here.close()
    assert len({round(value, 3) for value in expected}) > 20
    with served([*COMMAND, "--reward", f"classifier:{folder}", "--port", "0"], start_s=120.0) as running:
        assert running.said["max_batch"] == 64
        code = "import sys\nfrom tests.server.test_served_classifier import tell\ntell(sys.argv[1])"
        pipe = asyncio.subprocess.PIPE
        processes = [await asyncio.create_subprocess_exec(sys.executable, "-c", code, running.url, cwd=ROOT, stdout=pipe) for _ in range(2)]
        outputs = [json.loads(output) for output, _ in await asyncio.gather(*(process.communicate() for process in processes))]
        stats = running.stats()
    for values in outputs:
        assert all(isclose(one, other, rel_tol=1e-4, abs_tol=1e-6) for one, other in zip(values, expected, strict=True))
    assert stats["scored"] == 2 * COUNT
    assert stats["batches"] < 2 * COUNT / 3, "requests shared batches"
