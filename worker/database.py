"""A connection to Redis whose failures are the worker's own errors; they name the address, never the password."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from worker.errors import StoreError, StoreUnavailable

# Vectors come by the megabyte: redis-py's 64 kB a read would mean thousands of system calls a load.
_READ_BYTES: Final = 1 << 20


class Database:
    """A pool of connections; safe to share between threads, not across a fork."""

    def __init__(self, client: redis.Redis, address: str) -> None:
        self.client: Any = client
        self._address = address

    @classmethod
    def connect(cls, url: str) -> Database:
        """Return a database for `redis://`, `rediss://` or `unix://`; the first command connects.

        Raises:
            StoreError: the URL is none of these.
        """
        try:
            parts = urlsplit(url)
            address = f"{parts.hostname}:{parts.port or 6379}" if parts.hostname else parts.path
            client = redis.Redis.from_url(
                url,
                socket_connect_timeout=2.0,
                socket_timeout=30.0,
                socket_read_size=_READ_BYTES,
                health_check_interval=30,
                retry=Retry(ConstantBackoff(0.05), 1),
            )
        except ValueError as error:
            raise StoreError("the Redis URL cannot be used: it must be redis://, rediss:// or unix://") from error
        return cls(client, address)

    def call(self, command: Callable[..., Any], *arguments: object, **named: object) -> Any:
        """Return what a command of `client` returns; raises StoreUnavailable, StoreError."""
        with self.translated():
            return command(*arguments, **named)

    def exists(self, key: str) -> bool:
        """Say whether a key is there; raises StoreUnavailable."""
        return bool(self.call(self.client.exists, key))

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Tell Redis' exceptions as ours, with theirs as the cause."""
        try:
            yield
        except (redis.AuthenticationError, redis.exceptions.AuthorizationError) as error:
            raise StoreError(f"Redis at {self._address} refuses the user or the password") from error
        except (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError) as error:
            raise StoreUnavailable(f"Redis at {self._address} is away ({type(error).__name__})") from error
        except redis.OutOfMemoryError as error:
            raise StoreError(f"Redis at {self._address} is full: raise maxmemory or drop a collection") from error
        except redis.RedisError as error:
            if "MISCONF" in str(error):
                raise StoreUnavailable(f"Redis at {self._address} takes no write now: its disk is full") from error
            raise StoreError(f"Redis at {self._address} refused a command: {error}") from error

    def close(self) -> None:
        """Close the connections."""
        self.client.close()
