"""The shipped suite for rewards, passed by each scorer."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from multigraft.rewards.hf.classifier import Classifier
from multigraft.rewards.hf.generative import Generative
from multigraft.rewards.hf.model_reward import ModelReward
from multigraft.rewards.hf.process import Process
from multigraft.testing.reward_suite import RewardSuite


class _Suite(RewardSuite):
    tolerance = 5e-4
    kind: str

    @pytest.fixture(autouse=True)
    def _folder(self, tiny: Callable[[str], Path]) -> Iterator[None]:
        self.folder = str(tiny(self.kind))
        self.opened: list[ModelReward] = []
        yield
        for reward in self.opened:
            asyncio.run(reward.close())

    def reward(self) -> ModelReward:
        self.opened.append(self.made())
        return self.opened[-1]

    def made(self) -> ModelReward:
        raise AssertionError


class TestClassifier(_Suite):
    kind = "classifier"

    def made(self) -> ModelReward:
        return Classifier(model=self.folder)


class TestCuttingClassifier(_Suite):
    kind = "ultrarm"

    def made(self) -> ModelReward:
        return Classifier(model=self.folder, max_tokens=500, too_long="cut", max_batch=2)


class TestProcess(_Suite):
    kind = "prm"

    def made(self) -> ModelReward:
        return Process(model=self.folder)


class TestGenerative(_Suite):
    kind = "causal"

    def made(self) -> ModelReward:
        return Generative(model=self.folder)
