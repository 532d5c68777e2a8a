"""What COMET is given of a prompt and a response, and what becomes of its scores; the model is made up, as the library has an environment of its own."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from math import nan
from pathlib import Path
from typing import Any

import pytest

from multigraft.errors import WeightsError
from multigraft.rewards.comet import Comet
from multigraft.rewards.comet_checkpoint import _beside
from multigraft.rewards.comet_model import KNOWN, CometModel, Judgement, Sample, _moved
from multigraft.testing.reward_suite import RewardSuite, candidate
from multigraft.types import Candidate, FailureKind, Json, Message, Reward


class Fake:
    """Scores by lengths, and sees 100 characters of each part."""

    def __init__(self, *, uses: bool = False, needs: bool = False) -> None:
        self.uses_references, self.needs_references, self.digest = uses, needs, f"{uses} {needs}"
        self.asked: list[Sample] = []

    def cut(self, sample: Sample) -> tuple[str, ...]:
        return tuple(name for name in ("source", "translation") if len(getattr(sample, name)) > 100)

    def judge(self, samples: Sequence[Sample], batch_size: int) -> Sequence[Judgement]:
        self.asked += samples
        return [Judgement(nan if "nan" in sample.translation else len(sample.translation) / 100.0, {"part": 0.5, "none": nan}) for sample in samples]


class Made(Comet):
    """A reward whose model is the fake one."""

    def __init__(self, fake: Fake, **settings: Any) -> None:
        super().__init__(**settings)
        self.fake = fake

    def _opened(self) -> CometModel:
        return self.fake


def translated(text: str, *, fields: dict[str, Json] | None = None, reference: str | None = None, source: str = "Es regnet.") -> Candidate:
    one = candidate(text, reference=reference)
    messages = (Message("system", "Translate."), Message("user", source))
    return replace(one, prompt=replace(one.prompt, messages=messages, fields=fields or {}))


async def test_the_source_is_a_field_or_the_last_message() -> None:
    fake = Fake()
    await Made(fake).score([translated(" It rains.\n"), translated("It rains.", fields={"source": "Regen!"}), translated("It rains.", fields={"source": 3})])
    await Made(fake, source="de").score([translated("Rain.", fields={"de": "Es gießt.", "source": "x"})])
    assert fake.asked == [
        Sample("Es regnet.", "It rains."),
        Sample("Regen!", "It rains."),
        Sample("Es regnet.", "It rains."),
        Sample("Es gießt.", "Rain."),
    ]


async def test_the_translation_may_be_the_last_line() -> None:
    fake = Fake()
    await Made(fake, translation="last_line").score([translated("Here it is:\n\n It rains. \n\n"), translated("It rains.")])
    assert [sample.translation for sample in fake.asked] == ["It rains.", "It rains."]


async def test_a_model_without_references_is_given_none() -> None:
    fake = Fake()
    await Made(fake).score([translated("It rains.", reference="It is raining.")])
    assert fake.asked == [Sample("Es regnet.", "It rains.", None)]


@pytest.mark.parametrize("needs", [True, False])
async def test_a_reference_that_is_used_must_be_there(needs: bool) -> None:
    fake = Fake(uses=True, needs=needs)
    scored, bare, blank = await Made(fake).score([translated("It rains.", reference="Rain."), translated("It rains."), translated("It rains.", reference=" ")])
    assert scored.value == 0.09
    assert (bare.value, bare.reason, blank.reason) == (None, FailureKind.UNSCORABLE, FailureKind.UNSCORABLE)
    assert bare.message.startswith("the prompt has no reference, which comet compares with; " + ("use a Kiwi model" if needs else "set reference to an empty"))
    assert fake.asked == [Sample("Es regnet.", "It rains.", "Rain.")]


async def test_the_reference_may_be_a_field_or_left_out() -> None:
    fake = Fake(uses=True)
    one = translated("It rains.", reference="Rain.", fields={"en": "It pours."})
    await Made(fake, reference="en").score([one])
    await Made(fake, reference="").score([one])
    assert [sample.reference for sample in fake.asked] == ["It pours.", None]
    (score,) = await Made(Fake(uses=True, needs=True), reference="").score([one])
    assert score.reason is FailureKind.UNSCORABLE
    (score,) = await Made(fake, reference="fr").score([one])
    assert "the prompt has no field 'fr', which comet compares with" in score.message


async def test_order_is_kept_around_what_cannot_be_scored() -> None:
    scores = await Made(Fake()).score([translated("abc"), translated("   "), translated("nan"), translated("abcde"), translated("a", source=" ")])
    assert [score.value for score in scores] == [0.03, None, None, 0.05, None]
    assert [score.reason for score in scores] == [None, FailureKind.UNSCORABLE, FailureKind.INVALID_SCORE, None, FailureKind.UNSCORABLE]
    assert scores[1].message == "there is no translation to score"
    assert scores[4].message == "there is no source text to score"
    assert dict(scores[0].details) == {"part": 0.5}


async def test_what_is_cut_is_marked_and_named() -> None:
    fits, long, both = await Made(Fake()).score([translated("x" * 100), translated("x" * 101), translated("x" * 101, source="y" * 101)])
    assert [score.truncated for score in (fits, long, both)] == [False, True, True]
    assert both.message == "COMET saw only the beginning of the source and the translation"


class TestComet(RewardSuite):
    def reward(self) -> Reward:
        return Made(Fake())


async def test_a_closed_model_is_loaded_anew() -> None:
    comet = Made(Fake())
    await comet.close()
    assert (await comet.score([translated("abc")]))[0].value == 0.03
    await comet.close()
    assert (await comet.score([translated("abc")]))[0].value == 0.03


async def test_version_follows_the_weights() -> None:
    one, other = Made(Fake()), Made(Fake(uses=True))
    await one.start()
    await other.start()
    version = one.version
    assert version != other.version
    await one.close()
    assert one.version == version


def test_version_follows_what_may_change_a_score() -> None:
    changes: list[dict[str, Any]] = [
        {"model": "xcomet-xl"},
        {"source": "de"},
        {"translation": "last_line"},
        {"reference": ""},
        {"reference": "en"},
        {"revision": "a"},
    ]
    assert len({Comet(**settings).version for settings in ({}, *changes)}) == 7
    assert Comet(name="a", gpus=0, batch_size=1, max_batch=1).version == Comet(name="b").version


def test_known_models_and_bad_settings() -> None:
    assert KNOWN["wmt22-cometkiwi-da"] == "Unbabel/wmt22-cometkiwi-da"
    assert KNOWN["xcomet-xxl"] == "Unbabel/XCOMET-XXL"
    wrong: list[dict[str, Any]] = [{"batch_size": 0}, {"max_batch": 0}, {"gpus": -1}, {"translation": "half"}]
    for settings in wrong:
        with pytest.raises(ValueError, match="comet needs batch_size and max_batch of at least 1"):
            Comet(**settings)


async def test_without_the_extra_the_remedy_is_named() -> None:
    if find_spec("comet"):
        pytest.skip("unbabel-comet is installed here")
    with pytest.raises(WeightsError, match=r"pip install 'multigraft\[comet\]'"):
        await Comet(model="file:nowhere.ckpt").start()


def test_settings_beside_a_checkpoint_are_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints" / "model.ckpt"
    assert _beside(path) == {}
    lines = [
        "class_identifier: unified_metric",
        "layer_transformation: 'sparsemax_patch'",
        "hidden_sizes:",
        "- 24",
        "input: !!python/object/apply:os.mkdir ['x']",
    ]
    (tmp_path / "hparams.yaml").write_text("\n".join(lines), "utf-8")
    assert _beside(path) == {"class_identifier": "unified_metric", "layer_transformation": "sparsemax_patch"}


def test_nested_inputs_are_moved_whole() -> None:
    class Tensor:
        def to(self, device: str) -> str:
            return f"on {device}"

    assert _moved(({"ids": Tensor(), "offsets": [[(0, 3)]]}, [Tensor()], 3), "cpu") == ({"ids": "on cpu", "offsets": [[(0, 3)]]}, ["on cpu"], 3)
