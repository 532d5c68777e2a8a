from collections.abc import Iterator

import pytest
from tests.servers.launch import Running, fake_server


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with fake_server() as server:
        yield server


@pytest.fixture
def server(running: Running) -> Running:
    """A fake server with its first settings and nothing counted."""
    running.control(
        latency_s=0.0,
        faults=[],
        n="honour",
        system="take",
        max_tokens="old",
        refused_fields=[],
        logprobs="give",
        usage="give",
        thinking="none",
        keys=None,
        rate_per_s=None,
        max_concurrent=None,
        context_tokens=None,
    )
    running.reset_stats()
    return running
