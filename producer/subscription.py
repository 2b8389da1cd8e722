"""Channel names in, a wake-up a message out: one connection to Redis for everybody who waits.

A message only says that there may be news; whoever is woken looks for itself. That also covers what pub/sub may lose:
after a reconnect all channels are subscribed again, and each confirmation wakes its channel's waiters.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import redis
from redis.asyncio import Redis

_RECONNECT_SECONDS: Final = 0.3
# A connection that was silent for so long is asked whether it is there; one that stays silent is replaced.
_SILENCE_SECONDS: Final = 10.0


class Subscription:
    """Belongs to one event loop; listens from the first `listen` on until it is closed."""

    def __init__(self, client: Redis, keep: str) -> None:
        self._client = client
        # A connection without any channel is none that can be listened to.
        self._keep = keep
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._channel: Any = None
        self._pump: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def listen(self, channel: str) -> AsyncIterator[asyncio.Event]:
        """Yield an event that is set once listening has begun, and again whenever there may be news."""
        event = asyncio.Event()
        if self._pump is None:
            self._pump = asyncio.create_task(self._run())
        waiting = self._waiting.setdefault(channel, set())
        waiting.add(event)
        try:
            if len(waiting) == 1:
                await self._tell("subscribe", channel)
            else:
                event.set()
            yield event
        finally:
            waiting.discard(event)
            if not waiting and self._waiting.get(channel) is waiting:
                del self._waiting[channel]
                await self._tell("unsubscribe", channel)

    async def close(self) -> None:
        """Stop listening; nobody is woken any more."""
        # More than once: redis-py swallows a cancellation that comes while it connects.
        while self._pump is not None and not self._pump.done():
            self._pump.cancel()
            await asyncio.wait([self._pump], timeout=_RECONNECT_SECONDS)

    async def _tell(self, command: str, channel: str) -> None:
        """Change what is listened to; where the connection is broken, the next one begins with all that is wanted."""
        if self._channel is not None:
            with suppress(redis.RedisError, OSError):
                await getattr(self._channel, command)(channel)

    async def _run(self) -> None:
        while True:
            try:
                async with self._client.pubsub() as channel:
                    await channel.connect()
                    # From here on a new wish is told by itself; all earlier ones are in `_waiting`.
                    self._channel = channel
                    await channel.subscribe(self._keep, *self._waiting)
                    await self._listen(channel)
            except (redis.RedisError, OSError):
                await asyncio.sleep(_RECONNECT_SECONDS)
            finally:
                self._channel = None

    async def _listen(self, channel: Any) -> None:
        asked = False
        while True:
            message = await channel.get_message(timeout=_SILENCE_SECONDS)
            if message is None and asked:
                raise redis.ConnectionError("the subscription is silent")
            asked = message is None
            if message is None:
                await channel.ping()
            else:
                self._wake(message["channel"])

    def _wake(self, channel: str | None) -> None:
        for event in self._waiting.get(channel or "", ()):
            event.set()
