"""The link to Redis: messages into queues, ids into states, a wait that ends when a task does; few connections."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Final

import redis
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError

from producer.config import ProducerConfig
from producer.contract import ENDED, TaskStatus
from producer.errors import BrokerUnavailable, ConfigurationError
from producer.names import (
    ABSENT_SECONDS,
    CANCEL_PREFIX,
    RECEIPT_PREFIX,
    RECEIPT_SECONDS,
    RESULT_PREFIX,
    SENT_PREFIX,
    UPLOAD_PREFIX,
    WORKERS_PREFIX,
)
from producer.scripts import CANCEL, SEND
from producer.states import ahead, interpret, receipt, seconds_until_it_may_change
from producer.subscription import Subscription

# Commands take well under a millisecond: more connections would not be faster.
_CONNECTIONS: Final = 8
# Whoever waits looks for itself now and then, should a message be lost on the way.
_LOOK_AGAIN_SECONDS: Final = 30.0
# One piece of an upload fits into the time that a command may take.
_PIECE_BYTES: Final = 4 << 20


class Link:
    """Belongs to one event loop. Every call fails within about `broker_timeout` seconds while Redis is away."""

    def __init__(self, config: ProducerConfig) -> None:
        # Half of the time goes to connecting and half to the command, so that a frozen Redis fails in time too.
        half = config.broker_timeout / 2
        pool = BlockingConnectionPool.from_url(
            config.broker_url,
            # One more for the subscription.
            max_connections=_CONNECTIONS + 1,
            timeout=config.broker_timeout,
            socket_timeout=half,
            socket_connect_timeout=half,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
        )
        self._redis: Any = Redis.from_pool(pool)
        self._turns = asyncio.Semaphore(_CONNECTIONS)
        self._failed_at = float("-inf")
        self._subscription = Subscription(self._redis, keep=f"{RESULT_PREFIX}{uuid.uuid4()}")
        self._send = self._redis.register_script(SEND)
        self._cancel = self._redis.register_script(CANCEL)

    async def send(self, message: str, *, id: str, kind: str, queue: str, deadline: float) -> bool:
        """Put a message into its queue; False where this id is on its way already, or was answered.

        Raises BrokerUnavailable, and then nothing was sent, unless the connection broke after Redis had it: sending
        the same id again is safe.
        """
        now = time.time()
        note = receipt(kind=kind, queue=queue, deadline=deadline)
        seconds = max(1, int(deadline - now)) + RECEIPT_SECONDS
        async with self._turn():
            keys = [RECEIPT_PREFIX + id, CANCEL_PREFIX + id, SENT_PREFIX + queue, queue]
            return bool(await self._send(keys, [RESULT_PREFIX + id, now, note, seconds, message]))

    async def look(self, id: str) -> tuple[TaskStatus, Any]:
        """Return a task's status and, where it succeeded, its result as JSON; raises BrokerUnavailable."""
        status, result, _ = await self._look(id)
        return status, result

    async def status(self, id: str) -> TaskStatus:
        """Return a task's status, with its place in the queue while it waits; raises BrokerUnavailable."""
        async with self._turn():
            sent, meta, flag = await self._redis.mget(_keys(id))
            status, _ = interpret(id, sent, meta, flag)
            if status.state != "queued" or not status.queue:
                return status
            last = await self._redis.get(SENT_PREFIX + status.queue)
            waiting = await self._redis.llen(status.queue)
            workers = await self._redis.hvals(WORKERS_PREFIX + status.queue)
        return replace(status, ahead=ahead(sent, last=int(last), waiting=waiting), workers=len(present(workers)))

    async def wait(self, id: str, *, timeout: float) -> tuple[TaskStatus, Any]:
        """Return like `look`, but not before the task ended or `timeout` seconds passed.

        Raises BrokerUnavailable where Redis is away when the time is over.
        """
        end, cancelled = time.monotonic() + timeout, _cancellations()
        async with self._subscription.listen(RESULT_PREFIX + id) as news:
            while True:
                news.clear()
                pause = _LOOK_AGAIN_SECONDS
                try:
                    status, result, pause = await self._look(id)
                    if status.state in ENDED or time.monotonic() >= end:
                        return status, result
                except BrokerUnavailable:
                    if time.monotonic() >= end:
                        raise
                # Up to Python 3.11, `wait_for` swallows a cancellation that comes together with what it waits for; it
                # is not used here, but in redis-py.
                if _cancellations() > cancelled:
                    raise asyncio.CancelledError
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(pause, max(0.0, end - time.monotonic()))):
                        await news.wait()

    async def cancel(self, id: str) -> bool:
        """Say that nobody wants a task any more; True where no worker had begun it. Raises BrokerUnavailable."""
        # In the form of Celery's own announcements, for those who listen with Celery.
        news = json.dumps({"status": "PENDING", "result": None, "task_id": id})
        async with self._turn():
            keys = [RECEIPT_PREFIX + id, CANCEL_PREFIX + id]
            return bool(await self._cancel(keys, [RESULT_PREFIX + id, news]))

    async def upload(self, id: str, data: bytes, *, seconds: float) -> None:
        """Store a document's bytes for the ingest worker, for `seconds` at most; raises BrokerUnavailable."""
        key = UPLOAD_PREFIX + id
        async with self._turn():
            await self._redis.set(key, data[:_PIECE_BYTES], ex=int(seconds) + 1)
            for start in range(_PIECE_BYTES, len(data), _PIECE_BYTES):
                await self._redis.append(key, data[start : start + _PIECE_BYTES])

    async def survey(self, queues: tuple[str, ...]) -> Mapping[str, Any]:
        """Return what Redis says about itself, each queue's length, and what its workers said last.

        Raises BrokerUnavailable.
        """
        async with self._turn():
            pipeline = self._redis.pipeline(transaction=False)
            for queue in queues:
                pipeline.llen(queue).hvals(WORKERS_PREFIX + queue)
            pipeline.info("memory").info("persistence")
            *found, memory, persistence = await pipeline.execute(raise_on_error=False)
        return {
            "waiting": dict(zip(queues, found[::2], strict=True)),
            "workers": {queue: present(told) for queue, told in zip(queues, found[1::2], strict=True)},
            "memory": memory if isinstance(memory, dict) else {},
            "persistence": persistence if isinstance(persistence, dict) else {},
        }

    async def close(self) -> None:
        """Give the connections back."""
        await self._subscription.close()
        await self._redis.aclose()
        await self._redis.connection_pool.disconnect()

    async def _look(self, id: str) -> tuple[TaskStatus, Any, float]:
        """The status, the result, and after how many seconds it is worth another look."""
        async with self._turn():
            sent, meta, flag = await self._redis.mget(_keys(id))
        status, result = interpret(id, sent, meta, flag)
        return status, result, min(_LOOK_AGAIN_SECONDS, seconds_until_it_may_change(status, sent))

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """Hold one of the connections, and translate what goes wrong on it.

        Whoever stood in line while Redis failed does not try for itself: a thousand calls fail as soon as one.
        """
        stood_since = time.monotonic()
        async with self._turns:
            if self._failed_at > stood_since:
                raise BrokerUnavailable("Redis cannot be reached")
            try:
                yield
            except (redis.AuthenticationError, NoPermissionError) as error:
                raise ConfigurationError(
                    "Redis refused the user or password in the broker URL (RAG_BROKER_URL)"
                ) from error
            except redis.OutOfMemoryError as error:
                raise BrokerUnavailable("Redis is full: it takes nothing more") from error
            except (redis.RedisError, OSError, TimeoutError) as error:
                self._failed_at = time.monotonic()
                raise BrokerUnavailable(f"Redis cannot be reached: {type(error).__name__}") from error


def _cancellations() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def present(told: list[str]) -> list[dict[str, Any]]:
    """Return what the workers said who said something lately."""
    workers = [json.loads(text) for text in told]
    return [worker for worker in workers if time.time() - worker["told_at"] < ABSENT_SECONDS]


def _keys(id: str) -> list[str]:
    return [RECEIPT_PREFIX + id, RESULT_PREFIX + id, CANCEL_PREFIX + id]
