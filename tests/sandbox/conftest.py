"""One sandbox for all tests of a worker; a test that needs other settings makes its own."""

import asyncio
from collections.abc import Iterator

import pytest
from tests.sandbox.needed import need_walls

from multigraft.sandbox.sandbox import Sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    need_walls()
    opened = Sandbox(slots=4)
    asyncio.run(opened.start())
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
def walled() -> None:
    """For tests that make their own."""
    need_walls()
