"""Redis in, its state in figures out: memory, persistence, queues, collections; for the metrics and the check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import redis

from producer.names import ANSWER_QUEUE, INGEST_QUEUE
from worker.errors import LayoutMismatch, StoreError, StoreUnavailable, UnknownCollection
from worker.store import Store

_SECONDS: Final = 2.0
# Kombu keeps what was delivered and not yet acknowledged in this hash.
_IN_FLIGHT: Final = "unacked"
# And a queue's messages in one list a priority.
_PRIORITIES: Final = ("", "\x06\x163", "\x06\x166", "\x06\x169")


@dataclass(frozen=True, slots=True)
class CollectionState:
    """One collection's live generation."""

    rows: int
    bytes: int
    """Of vectors and chunks as stored."""
    fingerprint: str
    """Which embedder wrote it."""
    last_ingest: float | None = None
    """When an ingest of it last ended well, in Unix seconds; None where none did."""
    warning: str = ""
    """What the last ingest left undone, for a person to look at."""


@dataclass(frozen=True, slots=True)
class Vitals:
    """What Redis holds at one moment."""

    version: str
    used_bytes: int
    limit_bytes: int
    """0: Redis may take what the machine has."""
    eviction: str
    """`maxmemory_policy`; anything but `noeviction` loses questions and vectors."""
    append_only: bool
    persistent: bool
    """The append-only file is on, and its last write went well."""
    waiting: Mapping[str, int]
    """Tasks in each queue."""
    in_flight: int
    """Tasks that a worker holds."""
    collections: Mapping[str, CollectionState]


def look(url: str, store: Store) -> Vitals:
    """Ask Redis at `url`; raises StoreUnavailable within seconds where it is away, StoreError where it refuses."""
    try:
        with redis.Redis.from_url(url, socket_timeout=_SECONDS, socket_connect_timeout=_SECONDS) as client:
            return _look(client, store)
    except (redis.AuthenticationError, redis.exceptions.NoPermissionError) as error:
        raise StoreError("Redis refuses the user or the password in RAG_BROKER_URL, or its commands") from error
    except (redis.RedisError, OSError) as error:
        raise StoreUnavailable(f"Redis cannot be reached: {type(error).__name__}") from error


def _look(client: Any, store: Store) -> Vitals:
    info = client.info()
    append_only = bool(info["aof_enabled"])
    return Vitals(
        version=str(info.get("valkey_version") or info["redis_version"]),
        used_bytes=int(info["used_memory"]),
        limit_bytes=int(info["maxmemory"]),
        eviction=str(info["maxmemory_policy"]),
        append_only=append_only,
        persistent=append_only and info["aof_last_write_status"] == "ok",
        waiting={queue: _length(client, queue) for queue in (ANSWER_QUEUE, INGEST_QUEUE)},
        in_flight=int(client.hlen(_IN_FLIGHT)),
        collections=dict(_collections(store)),
    )


def _length(client: Any, queue: str) -> int:
    return sum(int(client.llen(queue + priority)) for priority in _PRIORITIES)


def _collections(store: Store) -> list[tuple[str, CollectionState]]:
    """Collections that can be read; one that is dropped at this moment, or was never filled, has no state."""
    found = []
    for name in store.collections():
        try:
            live = store.generation(name)
        except (UnknownCollection, LayoutMismatch):
            continue
        facts = store.facts(name)
        last = facts.ingested_at or None
        found.append((name, CollectionState(live.rows, live.bytes, live.fingerprint, last, facts.warning)))
    return found
