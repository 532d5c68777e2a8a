"""The conformance suite over the shipped models."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from tests.servers.launch import Running

from multigraft.models.chat_request import Api
from multigraft.models.openai_chat import OpenAIChat
from multigraft.models.scripted import ScriptedModel
from multigraft.testing.model_suite import ModelSuite, as_opened
from multigraft.types import Failure, FailureKind, Model
from multigraft.wire.endpoints import Endpoint, Endpoints


class TestScripted(ModelSuite):
    def model(self) -> AbstractAsyncContextManager[Model]:
        return as_opened(ScriptedModel(name="s"))

    def failing_model(self) -> AbstractAsyncContextManager[Model]:
        return as_opened(ScriptedModel(name="s", failures=lambda request, seed: Failure(FailureKind.SERVER, "down", retryable=True)))

    def slow_model(self) -> AbstractAsyncContextManager[Model]:
        return as_opened(ScriptedModel(name="s", latency_s=1.0))


class _Served(ModelSuite):
    api: Api = "chat"
    use_n = False

    @pytest.fixture(autouse=True)
    def _served(self, server: Running) -> None:
        self.server = server

    def model(self) -> AbstractAsyncContextManager[Model]:
        return self._opened()

    def failing_model(self) -> AbstractAsyncContextManager[Model]:
        self.server.control(faults=[{"kind": "status", "status": 500}])
        return self._opened()

    def slow_model(self) -> AbstractAsyncContextManager[Model]:
        self.server.control(latency_s=1.0)
        return self._opened()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Model]:
        async with Endpoints([Endpoint(url=self.server.url)], name="m", attempt_timeout_s=5.0) as endpoints:
            yield OpenAIChat(name="m", model="fake", endpoints=endpoints, api=self.api, use_n=self.use_n)


class TestChat(_Served):
    pass


class TestChatWithN(_Served):
    use_n = True
    deterministic = False  # one seed stands for all samples of a request


class TestCompletions(_Served):
    api: Api = "completions"
