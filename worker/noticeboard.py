"""What workers and apps tell one another beside queues and results: who is there, what nobody wants, replies.

rag:workers:QUEUE        hash     node -> JSON: told_at (Unix seconds), concurrency, faults (sentences)
rag:cancel:ID            string   there while nobody wants the task any more; written by the app
NAME of `stream:NAME`    stream   field `reply`: JSON of `producer.contract.Reply`
QUEUE of `task:T@QUEUE`  list     a Celery message that calls the app's own task T with `reply=...`
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from producer.envelope import envelope
from producer.names import ABSENT_SECONDS, CANCEL_PREFIX, REPLY_STREAM_LENGTH, WORKERS_PREFIX
from worker.errors import StoreError, StoreUnavailable

_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 1.0

_log = logging.getLogger(__name__)


class Noticeboard:
    """Safe to share between threads, not across a fork; calls raise StoreUnavailable while Redis is away."""

    def __init__(self, url: str) -> None:
        self._client: Any = redis.Redis.from_url(
            url,
            socket_timeout=_SECONDS,
            socket_connect_timeout=_SECONDS,
            retry=Retry(NoBackoff(), 1),
            decode_responses=True,
        )

    def is_cancelled(self, id: str) -> bool:
        """Say whether nobody wants the task any more."""
        with _translated():
            return bool(self._client.exists(CANCEL_PREFIX + id))

    def tell_presence(self, queues: Sequence[str], node: str, *, concurrency: int, faults: Sequence[str]) -> None:
        """Say that a worker listens on these queues, and what an operator should mend; forget who left long ago."""
        now = time.time()
        told = json.dumps({"told_at": now, "node": node, "concurrency": concurrency, "faults": list(faults)})
        with _translated():
            for queue in queues:
                key = WORKERS_PREFIX + queue
                others = self._client.hgetall(key)
                gone = [name for name, text in others.items() if now - json.loads(text)["told_at"] > ABSENT_SECONDS]
                pipeline = self._client.pipeline()
                if gone:
                    pipeline.hdel(key, *gone)
                pipeline.hset(key, node, told)
                pipeline.execute()

    def take_leave(self, queues: Sequence[str], node: str) -> None:
        """Say that a worker listens no more."""
        with _translated():
            for queue in queues:
                self._client.hdel(WORKERS_PREFIX + queue, node)

    def deliver(self, to: str, id: str, reply: Mapping[str, Any]) -> None:
        """Send the end of question `id` to `stream:NAME` or `task:NAME@QUEUE`, as `Question.reply_to` has it.

        However long Redis is away: where the worker dies meanwhile, the next one answers and replies. An app's task
        gets the id `ID:reply`, by which a reply that comes twice is known.
        """
        while True:
            try:
                return self._deliver(to, id, reply)
            except StoreUnavailable:
                time.sleep(_RETRY_SECONDS)
            except StoreError as error:
                _log.error("the reply of %s cannot be delivered to %s: %s", id, to, error)
                return

    def _deliver(self, to: str, id: str, reply: Mapping[str, Any]) -> None:
        kind, _, name = to.partition(":")
        with _translated():
            if kind == "stream":
                fields = {"reply": json.dumps(reply)}
                self._client.xadd(name, fields, maxlen=REPLY_STREAM_LENGTH, approximate=True)
            else:
                task, _, queue = name.partition("@")
                self._client.lpush(queue, envelope(task, {"reply": reply}, id=f"{id}:reply", queue=queue))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (redis.ConnectionError, redis.TimeoutError) as error:
        raise StoreUnavailable(f"Redis is away ({type(error).__name__})") from error
    except redis.RedisError as error:
        raise StoreError(f"Redis refused a command: {type(error).__name__}") from error
