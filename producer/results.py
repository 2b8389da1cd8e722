"""Task id in, what became of it out: receipts and result keys in Redis, read without a Celery result backend.

Celery calls an id that was never sent, a queued one and a lost one all PENDING. So the producer writes a
receipt before it sends; receipt and result key together tell the states apart.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from producer.config import ProducerConfig
from producer.contract import Progress, State, TaskStatus
from producer.errors import BrokerUnavailable, ConfigurationError
from producer.names import (
    DEADLINE_ERROR,
    FAILURE_TYPE,
    LOST_ERROR,
    PROGRESS_STATE,
    RECEIPT_PREFIX,
    RECEIPT_SECONDS,
    RESULT_PREFIX,
    SILENCE_SECONDS,
)

# Pub/sub may lose a message (a reconnect); a waiting caller looks at the key itself this often as well.
_LOOK_AGAIN_SECONDS = 2.0
_POOL_SIZE = 16


class Results:
    """Receipts and results; safe to share among threads."""

    def __init__(self, config: ProducerConfig) -> None:
        half = config.broker_timeout / 2
        pool = redis.BlockingConnectionPool.from_url(
            config.broker_url,
            max_connections=_POOL_SIZE,
            timeout=config.broker_timeout,
            socket_timeout=half,
            socket_connect_timeout=half,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
        )
        self._redis = redis.Redis(connection_pool=pool)

    def write_receipt(self, id: str, *, kind: str, deadline: float) -> None:
        """Note that a task is about to be sent; raises BrokerUnavailable, and then nothing was sent."""
        receipt = json.dumps({"kind": kind, "deadline": deadline})
        with _translated():
            self._redis.set(RECEIPT_PREFIX + id, receipt, ex=RECEIPT_SECONDS)

    def status(self, id: str) -> TaskStatus:
        """Return what is known of a task; raises BrokerUnavailable."""
        return self.look(id)[0]

    def look(self, id: str) -> tuple[TaskStatus, Any]:
        """Return a task's status and, where it succeeded, its result; raises BrokerUnavailable."""
        with _translated():
            receipt, meta = self._redis.mget(RECEIPT_PREFIX + id, RESULT_PREFIX + id)
        known = json.loads(receipt) if receipt else {}
        return _interpret(id, known, json.loads(meta) if meta else None)

    def wait(self, id: str, *, timeout: float) -> tuple[TaskStatus, Any]:
        """Return like `look`, but not before the task ended or `timeout` seconds passed.

        Subscribing comes before looking: a result that arrives between the two is not missed.
        Raises BrokerUnavailable where Redis is away when the time is over.
        """
        end = time.monotonic() + timeout
        while True:
            try:
                return self._wait_connected(id, end)
            except BrokerUnavailable:
                if time.monotonic() >= end:
                    raise
                time.sleep(min(0.3, max(0.0, end - time.monotonic())))

    def _wait_connected(self, id: str, end: float) -> tuple[TaskStatus, Any]:
        with _translated(), self._redis.pubsub(ignore_subscribe_messages=True) as channel:  # type: ignore[no-untyped-call]
            channel.subscribe(RESULT_PREFIX + id)
            while True:
                status, result = self.look(id)
                left = end - time.monotonic()
                if status.state not in ("queued", "started", "progress") or left <= 0:
                    return status, result
                channel.get_message(timeout=min(left, _LOOK_AGAIN_SECONDS))

    def close(self) -> None:
        """Give the connections back."""
        self._redis.close()
        self._redis.connection_pool.disconnect()


def _interpret(id: str, receipt: Mapping[str, Any], meta: Mapping[str, Any] | None) -> tuple[TaskStatus, Any]:
    kind = receipt.get("kind", "")
    if meta is None:
        return TaskStatus(id=id, state=_state_without_result(receipt), kind=kind), None
    state, result = meta.get("status"), meta.get("result")
    if state == "SUCCESS":
        return TaskStatus(id=id, state="succeeded", kind=kind), result
    if state == PROGRESS_STATE:
        return _progress(id, kind, Progress.from_dict(result)), None
    if state == "FAILURE":
        return _failure(id, kind, result), None
    if state == "REVOKED":
        return TaskStatus(id=id, state=_revoked_state(receipt), kind=kind), None
    return TaskStatus(id=id, state="started", kind=kind), None


def _progress(id: str, kind: str, progress: Progress) -> TaskStatus:
    if time.time() - progress.told_at > SILENCE_SECONDS:
        reason = f"the worker has said nothing for {SILENCE_SECONDS:g} seconds; send the task again"
        return TaskStatus(id=id, state="failed", kind=kind, error=LOST_ERROR, reason=reason, retryable=True)
    return TaskStatus(id=id, state="progress", kind=kind, progress=progress)


def _state_without_result(receipt: Mapping[str, Any]) -> State:
    if not receipt:
        return "unknown"
    return "expired" if time.time() > receipt["deadline"] else "queued"


def _revoked_state(receipt: Mapping[str, Any]) -> State:
    """Celery revokes both what expired in the queue and what somebody cancelled."""
    return "expired" if receipt and time.time() > receipt["deadline"] else "cancelled"


def _failure(id: str, kind: str, result: object) -> TaskStatus:
    """Read the worker's (error type, reason, retryable), or Celery's own words for a lost worker."""
    told: Mapping[str, Any] = result if isinstance(result, Mapping) else {}
    error, reason, retryable = told.get("exc_type", "Error"), "the worker was lost or gave no reason", True
    if error == FAILURE_TYPE and len(told.get("exc_message", ())) == 3:
        error, reason, retryable = told["exc_message"]
    state: State = "expired" if error == DEADLINE_ERROR else "failed"
    return TaskStatus(id=id, state=state, kind=kind, error=error, reason=reason, retryable=bool(retryable))


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except redis.AuthenticationError as error:
        raise ConfigurationError("Redis refused the user or password in the broker URL (RAG_BROKER_URL)") from error
    except (redis.RedisError, OSError) as error:
        raise BrokerUnavailable(f"Redis cannot be reached: {type(error).__name__}") from error
