"""Both clients behind one word, `run`, so that the same tests go over both; and Redis as a worker leaves it."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis

from producer import AsyncRagClient, RagClient
from producer.names import RESULT_PREFIX


class Form:
    """One of the two clients, called without a difference: what it returns is awaited where it must be."""

    def __init__(self, asynchronous: bool) -> None:
        self.asynchronous = asynchronous
        self._runner = asyncio.Runner()
        self._clients: list[Any] = []

    def connect(self, url: str, **options: Any) -> Any:
        client = (AsyncRagClient if self.asynchronous else RagClient)(url, **options)
        self._clients.append(client)
        return client

    def run(self, value: Any) -> Any:
        """The value itself, or what it becomes when it is awaited."""
        if hasattr(value, "__aiter__"):
            return self._runner.run(_listed(value))
        if inspect.isgenerator(value):
            return list(value)
        return self._runner.run(_awaited(value)) if inspect.isawaitable(value) else value

    def close(self) -> None:
        for client in self._clients:
            self.run(client.close())
        self._runner.close()


async def _awaited(value: Any) -> Any:
    return await value


async def _listed(values: Any) -> list[Any]:
    return [value async for value in values]


@pytest.fixture(params=["RagClient", "AsyncRagClient"])
def form(request: pytest.FixtureRequest) -> Iterator[Form]:
    form = Form(request.param == "AsyncRagClient")
    yield form
    form.close()


@pytest.fixture
def run(form: Form) -> Callable[[Any], Any]:
    return form.run


@pytest.fixture
def client(form: Form, redis_url: str) -> Any:
    return form.connect(redis_url)


@dataclass(frozen=True, slots=True)
class Backend:
    """What Celery's Redis backend does when a worker has something to tell."""

    redis: redis.Redis

    def tell(self, id: str, status: str, result: object = None) -> None:
        meta = json.dumps({"status": status, "result": result, "task_id": id})
        self.redis.set(RESULT_PREFIX + id, meta)
        self.redis.publish(RESULT_PREFIX + id, meta)

    def fail(self, id: str, error: str, reason: str = "", *, retryable: bool = False) -> None:
        told = {"exc_type": "TaskFailure", "exc_message": [error, reason, retryable], "exc_module": "worker.tasks"}
        self.tell(id, "FAILURE", told)


@pytest.fixture
def server(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url, decode_responses=True) as connection:
        yield connection


@pytest.fixture
def backend(server: redis.Redis) -> Backend:
    return Backend(server)
