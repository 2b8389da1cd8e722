"""What the workers write down in Redis beside queues and documents: starts of tasks, and nights.

rag:starts:ID            string  how often the task was started since it last ended in order
rag:night:{C}:DATE       string  the id of the task that ingests, or has ingested, collection C for that night
rag:ingested             hash    collection -> Unix time at which its last successful ingest ended
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from worker.errors import StoreError, StoreUnavailable

_SECONDS: Final = 5.0
_STARTS: Final = "rag:starts:"
# Longer than any task waits: after that, nobody asks how often it was started.
_STARTS_EXPIRE: Final = 48 * 3600
# A night is asked for until the next one is due.
_NIGHT_EXPIRES: Final = 72 * 3600
# Where kombu keeps when each unacknowledged message was last heard of.
_HELD: Final = "unacked_index"


@dataclass(frozen=True, slots=True)
class Memory:
    """How full Redis is."""

    used: int
    """Bytes."""
    limit: int
    """Bytes: `maxmemory`, or else what the machine has; 0 where neither is known."""
    eviction: str
    """`maxmemory-policy`: what goes when it is full."""


class Journal:
    """Safe to share between threads, not across a fork; every call raises StoreUnavailable while Redis is away."""

    def __init__(self, url: str) -> None:
        self._client: Any = redis.Redis.from_url(
            url,
            socket_timeout=_SECONDS,
            socket_connect_timeout=_SECONDS,
            retry=Retry(NoBackoff(), 1),
            decode_responses=True,
        )

    def note_start(self, id: str) -> int:
        """Return how often the task was started and did not end in order, this start included."""
        with _translated():
            pipeline = self._client.pipeline()
            pipeline.incr(_STARTS + id)
            pipeline.expire(_STARTS + id, _STARTS_EXPIRE)
            return int(pipeline.execute()[0])

    def note_end(self, id: str) -> None:
        """Forget the starts of a task whose worker lived to see it end."""
        with _translated():
            self._client.delete(_STARTS + id)

    def hold(self, tags: Iterable[str]) -> None:
        """Say of delivered messages that they are still worked on; those that were acknowledged stay so."""
        now = time.time()
        held = dict.fromkeys(tags, now)
        if held:
            with _translated():
                self._client.zadd(_HELD, held, xx=True)

    def claim_night(self, collection: str, date: str, id: str) -> bool:
        """Say whether the task may ingest for this night: no other one does or did."""
        with _translated():
            key = _night(collection, date)
            taken = self._client.set(key, id, nx=True, ex=_NIGHT_EXPIRES)
            return bool(taken) or self._client.get(key) == id

    def give_night_back(self, collection: str, date: str) -> None:
        """Let another task try this night: the one that claimed it has failed."""
        with _translated():
            self._client.delete(_night(collection, date))

    def waiting(self, queue: str) -> int:
        """Return how many messages wait in a queue."""
        with _translated():
            return int(self._client.llen(queue))

    def memory(self) -> Memory:
        """Return how full Redis is and what it does when it is."""
        with _translated():
            info = self._client.info("memory")
        limit = int(info["maxmemory"]) or int(info.get("total_system_memory", 0))
        return Memory(int(info["used_memory"]), limit, str(info["maxmemory_policy"]))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _night(collection: str, date: str) -> str:
    return f"rag:night:{{{collection}}}:{date}"


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (redis.ConnectionError, redis.TimeoutError) as error:
        raise StoreUnavailable(f"Redis is away ({type(error).__name__})") from error
    except redis.ResponseError as error:
        if isinstance(error, redis.exceptions.OutOfMemoryError) or "MISCONF" in str(error):
            raise StoreUnavailable("Redis takes no write now: its memory or its disk is full") from error
        raise StoreError(f"Redis refused a command: {type(error).__name__}") from error
    except redis.RedisError as error:
        raise StoreError(f"Redis refused a command: {type(error).__name__}") from error
