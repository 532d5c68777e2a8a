"""Tiny models, each written once, and scorers that are closed at the end of a test."""

import asyncio
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from multigraft.rewards.hf.model_reward import ModelReward

MISSING = [library for library in ("torch", "transformers", "safetensors", "jinja2") if find_spec(library) is None]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Write a model of `tiny_models.KINDS` on its first use."""
    if MISSING:
        reason = f"{', '.join(MISSING)} not installed: pip install 'multigraft[hf]'"
        # A run that should have them must not pass by skipping.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)
    from tests.rewards_hf.tiny_models import make

    root = tmp_path_factory.mktemp("tiny")
    made: dict[str, Path] = {}

    def folder(kind: str) -> Path:
        if kind not in made:
            made[kind] = make(kind, root / kind)
        return made[kind]

    return folder


@pytest.fixture
def closing() -> Iterator[Callable[[ModelReward], ModelReward]]:
    """Close what a test started."""
    opened: list[ModelReward] = []

    def remember(reward: ModelReward) -> ModelReward:
        opened.append(reward)
        return reward

    yield remember
    for reward in opened:
        asyncio.run(reward.close())
