"""Kombu's Redis transport, with every message in Redis at every moment: in its queue or among the unacknowledged.

Three changes to kombu 5.7:

- A worker waits for a message without taking it (BLMOVE from the end of the list to its end), then moves it among
  the unacknowledged in one step. Kombu's BRPOP takes first and notes later: what Redis hands to a connection that is
  dying, or to a Redis that is too full for the note, is gone.
- What this process works on stays with it when its connection breaks: the heartbeat holds it, the late
  acknowledgement finds Redis by the closed channel's pool. Kombu puts it back, to be done a second time meanwhile;
  and with Celery 5.7.0 the attempt ends the worker (tests/worker/test_transport.py says when this can go).
- After a connect, a worker takes over nobody's work for half the visibility timeout: where Redis was away, the other
  workers' heartbeats come back first.
"""

from __future__ import annotations

import logging
import time
from queue import Empty
from typing import Any, Final

import kombu.transport
import kombu.transport.redis
from celery.worker import state
from kombu.transport.virtual import QoS as LocalQoS
from kombu.utils.json import dumps, loads

# Known to type checkers in part only.
_kombu: Any = kombu.transport.redis
_transports: Any = kombu.transport
_state: Any = state
_log = logging.getLogger(__name__)

# How long a worker rests before it asks again a Redis that refuses.
_REST_SECONDS: Final = 0.5

# KEYS queue, unacked, unacked_index; ARGV message, tag, note, now. A full Redis must let this pass: it frees as much
# as it takes.
_CLAIM: Final = """#!lua flags=allow-oom
if redis.call('LINDEX', KEYS[1], -1) ~= ARGV[1] then return 0 end
redis.call('RPOP', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[2])
return 1
"""


def install() -> None:
    """Make this the transport of `redis://` and `rediss://` in this process, for every connection from now on."""
    for scheme in ("redis", "rediss"):
        _transports.TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
        _transports._transport_cache.pop(scheme, None)


class QoS(_kombu.QoS):  # type: ignore[misc]
    """What this process was given and has not acknowledged."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connected = time.monotonic()

    def append(self, message: Any, delivery_tag: str) -> None:
        """Note a message here; in Redis, `Channel` has noted it with the claim."""
        LocalQoS.append(self, message, delivery_tag)

    def restore_visible(self, *args: Any, **kwargs: Any) -> None:
        """Put back what nobody holds any more, but not before everybody could say again what they hold."""
        if time.monotonic() - self._connected >= self.visibility_timeout / 2:
            super().restore_visible(*args, **kwargs)

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """Put back what was not finished where the worker ends; where only its connection does, it goes on."""
        if _state.should_stop is not None or _state.should_terminate is not None:
            super().restore_unacked_once(stderr)
        else:
            self._on_collect.cancel()


class Channel(_kombu.Channel):  # type: ignore[misc]
    """Claims messages instead of popping them."""

    QoS = QoS
    taken = 0
    """Messages that this process has taken since it began, whatever became of them."""
    _pool: Any
    _in_poll: Any

    def close(self) -> None:
        """Close; what runs on acknowledges through the pool that stays."""
        pool = self._pool
        # The reply that kombu would wait for claims nothing: nobody misses it.
        self._in_poll = None
        super().close()
        self._pool = pool

    def _brpop_start(self, timeout: float | None = None) -> None:
        """Ask to be told when a message lies at the end of the next queue."""
        queues = self._queue_cycle.consume(1)
        if queues:
            self._in_poll = self.client.connection
            self._brpop_sent_at = time.monotonic()
            self._awaited = queues[0]
            wait = self.brpop_timeout if timeout is None else timeout
            self._in_poll.send_command("BLMOVE", queues[0], queues[0], "RIGHT", "RIGHT", wait or 0)

    def _brpop_read(self, **options: Any) -> bool:
        """Claim and deliver the message that Redis tells of; raises Empty where there is none, or no longer."""
        try:
            found = self._told(**options)
        finally:
            self._in_poll = None
            self._flush_brpop_reauth()
        self._queue_cycle.rotate(self._awaited)
        message = self._claim(self._awaited, found) if found else None
        if message is None:
            raise Empty
        self.connection._deliver(message, self._awaited)
        return True

    def _told(self, **options: Any) -> bytes | None:
        try:
            return self.client.parse_response(self.client.connection, "BLMOVE", **options)  # type: ignore[no-any-return]
        except self.ResponseError as error:
            self._rest(error)
            return self._last(self._awaited)
        except self.connection_errors:
            self.client.connection.disconnect()
            raise

    def _rest(self, error: Exception) -> None:
        """Bear with a Redis that takes no write: it is full, or its disk is. Kombu would end the worker."""
        _log.warning("Redis refuses to hand out messages: %.60s", error)
        time.sleep(_REST_SECONDS)

    def _get(self, queue: str) -> dict[str, Any]:
        found = self._last(queue)
        message = self._claim(queue, found) if found else None
        if message is None:
            raise Empty
        return message

    def _last(self, queue: str) -> bytes | None:
        with self.conn_or_acquire() as client:
            return client.lindex(queue, -1)  # type: ignore[no-any-return]

    def _claim(self, queue: str, found: bytes) -> dict[str, Any] | None:
        """Move the message among the unacknowledged; None where another worker was faster, or it is no message."""
        with self.conn_or_acquire() as client:
            try:
                message = loads(found)
                self.Message(message, channel=self)
                tag, note = _note(message)
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                client.lrem(queue, -1, found)
                _log.error(
                    "%s: %d bytes are no message (%s) and were dropped", queue, len(found), type(error).__name__
                )
                return None
            keys = [queue, self.unacked_key, self.unacked_index_key]
            try:
                claimed = client.register_script(_CLAIM)(keys, [found, tag, note, time.time()])
            except self.ResponseError as error:
                self._rest(error)
                return None
            Channel.taken += int(claimed)
            return message if claimed else None


class Transport(_kombu.Transport):  # type: ignore[misc]
    """Kombu's, with this room's channel."""

    Channel = Channel


def _note(message: dict[str, Any]) -> tuple[str, str]:
    """Return a message's tag and what kombu keeps of it until it is acknowledged."""
    address = message["properties"]["delivery_info"]
    return message["properties"]["delivery_tag"], dumps([message, address["exchange"], address["routing_key"]])
