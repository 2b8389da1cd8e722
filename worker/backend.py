"""Celery's Redis result backend, which keeps a result until Redis has room for it, and shows it to no log."""

from __future__ import annotations

from typing import Any

import celery.backends.redis
import redis

# Known to type checkers in part only.
_celery: Any = celery.backends.redis


class NoRoom(redis.ConnectionError):
    """Raised to Celery, which tries again as if Redis were away: the answer is there, and a model was paid for it."""


class Backend(_celery.RedisBackend):  # type: ignore[misc]
    """Waits where Redis takes no write, as Celery's own waits where Redis is away."""

    def _set(self, key: str, value: Any, expires: int | None = None) -> None:
        try:
            super()._set(key, value, expires)
        except redis.ResponseError as error:
            # From None: redis-py puts the beginning of what was to be stored into its words.
            raise _without_the_value(error) from None


def _without_the_value(error: redis.ResponseError) -> redis.RedisError:
    """Full memory, and a full disk under the append-only file, pass; anything else does not."""
    if isinstance(error, redis.exceptions.OutOfMemoryError) or "MISCONF" in str(error):
        return NoRoom("Redis takes no write now: its memory or its disk is full")
    return redis.ResponseError(f"Redis refused a result ({type(error).__name__})")
