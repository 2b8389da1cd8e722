"""Chunks and vectors in and out of Redis, one document at a time and never half of one.

Layout 1. `{C}` is the collection's name in braces: all its keys lie in one slot of a Redis Cluster. G is the random
id of a generation, NAME a document's name in UTF-8 (lone surrogates kept).

    rag:collections          set      names of collections
    rag:{C}:about            hash     layout, live (the G that readers follow) and, for each G that exists,
                                      G:fingerprint, G:dimension, G:version (counts changes), G:rows,
                                      G:bytes (of vectors and chunks)
    rag:{C}:G:documents      hash     NAME -> JSON of `DocumentInfo`, also for documents without chunks
    rag:{C}:G:changes        zset     NAME -> the version that changed it last; a removed NAME stays, as a tombstone
    rag:{C}:G:document:NAME  hash     version, count, vectors, chunks; only where count > 0
    rag:{C}:changed          channel  the version, after each change and each switch of generation

`vectors` is count x dimension little-endian float32, row after row. `chunks` is count + 1 little-endian uint32
offsets, then the JSON arrays [text, start, end, page, heading, location] that they delimit, in UTF-8. `stored` turns
these bytes into values and back; `scripts` holds the Lua that makes each change in one step.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import numpy.typing as npt
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from worker import scripts
from worker.errors import (
    EmbedderMismatch,
    LayoutMismatch,
    StoreError,
    StoreUnavailable,
    UnknownCollection,
    VectorRefused,
)
from worker.records import Chunk
from worker.stored import (
    ChangePage,
    DocumentInfo,
    Generation,
    decode_document,
    decode_info,
    decode_name,
    encode_chunks,
    encode_info,
    encode_name,
    encode_vectors,
)

__all__ = ["LAYOUT", "ChangePage", "DocumentInfo", "Generation", "Store"]

LAYOUT: Final = 1
_COLLECTIONS: Final = "rag:collections"
# One page of changes holds about this many rows: enough to be fast, too little to hold up Redis' other clients.
_PAGE_ROWS: Final = 2048
# Redis takes no value above 512 MB: it would close the connection without naming the document.
_LARGEST_VALUE: Final = 512 * 1024**2 - 1
# Vectors come by the megabyte: redis-py's 64 kB a read would mean thousands of system calls a load.
_READ_BYTES: Final = 1 << 20
_UNLINK_BATCH: Final = 1000


class Store:
    """A connection to Redis; safe to share between threads, not across a fork."""

    def __init__(self, client: redis.Redis, address: str) -> None:
        self._client: Any = client
        self._address = address
        self._ensure = client.register_script(scripts.ENSURE)
        self._replace = client.register_script(scripts.REPLACE)
        self._remove = client.register_script(scripts.REMOVE)
        self._switch = client.register_script(scripts.SWITCH)
        self._changes = client.register_script(scripts.CHANGES)
        # Which embedder this process uses for a collection: its vectors must not enter another one's generation.
        self._embedders: dict[str, str] = {}

    @classmethod
    def connect(cls, url: str) -> Store:
        """Return a store for `redis://`, `rediss://` or `unix://`; the first command connects.

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

    # --- collections and generations -------------------------------------------------------------

    def ensure(self, collection: str, *, fingerprint: str, dimension: int) -> None:
        """Create the collection with its first generation, or check that this embedder wrote it.

        Raises:
            EmbedderMismatch: another embedder wrote the collection.
            LayoutMismatch: another layout version wrote it.
        """
        self._call(self._client.sadd, _COLLECTIONS, collection)
        reply = self._run(self._ensure, collection, _new_generation(), LAYOUT, fingerprint, dimension)
        live = _live(collection, dict(zip(reply[::2], reply[1::2], strict=True)))
        if (live.fingerprint, live.dimension) != (fingerprint, dimension):
            raise mismatch(collection)
        self._embedders[collection] = fingerprint

    def generation(self, collection: str) -> Generation:
        """Return the live generation.

        Raises:
            UnknownCollection: there is no such collection.
            LayoutMismatch: another layout version wrote it.
        """
        return _live(collection, self._call(self._client.hgetall, _about(collection)))

    def version(self, collection: str, generation: str) -> tuple[str, int]:
        """Return the id of the live generation ("" where there is none) and the version of the given one."""
        fields = ["live", f"{generation}:version"]
        live, version = self._call(self._client.hmget, _about(collection), fields)
        return (live or b"").decode(), int(version or 0)

    def stage(self, collection: str, *, fingerprint: str, dimension: int) -> str:
        """Create an empty generation beside the live one and return its id; readers do not see it.

        An earlier staged generation that was never switched to is dropped.

        Raises:
            UnknownCollection: there is no such collection.
        """
        live = (self._call(self._client.hget, _about(collection), "live") or b"").decode()
        if not live:
            raise _unknown(collection)
        self._drop_generations(collection, keep=live)
        staged = _new_generation()
        fields = {"fingerprint": fingerprint, "dimension": dimension, "version": 0, "rows": 0, "bytes": 0}
        mapping = {f"{staged}:{field}": value for field, value in fields.items()}
        self._call(self._client.hset, _about(collection), mapping=mapping)
        return staged

    def switch(self, collection: str, generation: str) -> None:
        """Make a staged generation the live one, in one step, and drop the others.

        Raises:
            UnknownCollection: the generation does not exist (any more).
        """
        self._run(self._switch, collection, generation, LAYOUT)
        self._embedders.pop(collection, None)
        self._drop_generations(collection, keep=generation)

    def collections(self) -> list[str]:
        """Return the names of all collections, sorted."""
        return sorted(name.decode() for name in self._call(self._client.smembers, _COLLECTIONS))

    def last_ingest(self, collection: str) -> float | None:
        """Return when an ingest of the collection last ended well, in Unix seconds; None where none did."""
        moment = self._call(self._client.hget, _about(collection), "ingested_at")
        return float(moment) if moment else None

    def drop(self, collection: str) -> None:
        """Remove a collection with all its generations; an unknown one is fine."""
        about = self._call(self._client.hgetall, _about(collection))
        self._call(self._client.unlink, _about(collection))
        self._call(self._client.publish, _channel(collection), 0)
        for generation in _generations(about):
            self._unlink(collection, generation)
        self._call(self._client.srem, _COLLECTIONS, collection)
        self._embedders.pop(collection, None)

    # --- documents -------------------------------------------------------------------------------

    def documents(self, collection: str, *, generation: str = "") -> dict[str, DocumentInfo]:
        """Return every known document by name, also empty and refused ones; {} for an unknown collection."""
        found = generation or self.version(collection, "")[0]
        stored = self._call(self._client.hgetall, _base(collection, found) + b"documents")
        return {decode_name(name): decode_info(info) for name, info in stored.items()}

    def replace(
        self,
        collection: str,
        info: DocumentInfo,
        chunks: Sequence[Chunk],
        vectors: npt.ArrayLike,
        *,
        generation: str = "",
    ) -> None:
        """Put a document in place of whatever was stored under its name, in one step.

        Args:
            collection: its name.
            info: what is known of the document; `info.name` is the key.
            chunks: its chunks in order; none for an empty or refused document.
            vectors: (len(chunks), dimension) float32; scaled to length 1 where they are not.
            generation: a staged generation; "" for the live one.

        Raises:
            VectorRefused: wrong dimension or count, a zero vector, NaN or infinity.
            UnknownCollection: no such collection or generation.
            EmbedderMismatch: the collection was rebuilt with another embedder since `ensure`.
        """
        rows, dimension = encode_vectors(info.name, vectors, len(chunks))
        packed = encode_chunks(chunks)
        if max(len(rows), len(packed)) > _LARGEST_VALUE:
            raise StoreError(f"{info.name}: more than 512 MB of chunks or vectors; split the document")
        embedder = "" if generation else self._embedders.get(collection, "")
        target = (encode_name(info.name), generation, embedder)
        self._run(self._replace, collection, *target, encode_info(info), len(chunks), dimension, rows, packed)

    def remove(self, collection: str, name: str) -> bool:
        """Forget a document and say whether it was there.

        Raises:
            UnknownCollection: there is no such collection.
        """
        return bool(self._run(self._remove, collection, encode_name(name), "", ""))

    def changes(self, collection: str, generation: Generation, since: int) -> ChangePage:
        """Return what changed after version `since`, oldest change first, up to some thousand rows.

        Raises:
            UnknownCollection: the generation does not exist any more.
        """
        version, *entries = self._run(self._changes, collection, generation.id, since, _PAGE_ROWS)
        return ChangePage(int(version), tuple(decode_document(entry, generation.dimension) for entry in entries))

    def listen(self, on_change: Callable[[str], None], stop: Callable[[], bool]) -> None:
        """Call `on_change(collection)` after each change of any collection, until `stop()`; blocks.

        What is announced while the connection is away is lost: an announcement saves waiting, it proves nothing.

        Raises:
            StoreUnavailable: the connection broke.
        """
        prefix, suffix = _channel("*").split("*")
        with self._translated(), self._client.pubsub(ignore_subscribe_messages=True) as announcements:
            announcements.psubscribe(_channel("*"))
            while not stop():
                message = announcements.get_message(timeout=0.2)
                if message is not None:
                    on_change(message["channel"].decode()[len(prefix) : -len(suffix)])

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    # --- Redis -----------------------------------------------------------------------------------

    def _drop_generations(self, collection: str, *, keep: str) -> None:
        about = self._call(self._client.hgetall, _about(collection))
        for generation in _generations(about) - {keep}:
            fields = [field for field in about if field.startswith(f"{generation}:".encode())]
            self._call(self._client.hdel, _about(collection), *fields)
            self._unlink(collection, generation)

    def _unlink(self, collection: str, generation: str) -> None:
        base = _base(collection, generation)
        names = self._call(self._client.zrange, base + b"changes", 0, -1)
        keys = [base + b"document:" + name for name in names] + [base + b"documents", base + b"changes"]
        for start in range(0, len(keys), _UNLINK_BATCH):
            self._call(self._client.unlink, *keys[start : start + _UNLINK_BATCH])

    def _run(self, script: Callable[..., Any], collection: str, *arguments: object) -> Any:
        try:
            return self._call(script, keys=[_about(collection)], args=arguments)
        except StoreError as error:
            raise _refusal(str(error.__cause__), collection) or error from error.__cause__

    def _call(self, command: Callable[..., Any], *arguments: object, **named: object) -> Any:
        with self._translated():
            return command(*arguments, **named)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Redis' exceptions as ours; they name the address, never the password."""
        try:
            yield
        except (redis.AuthenticationError, redis.exceptions.AuthorizationError) as error:
            raise StoreError(f"Redis at {self._address} refuses the user or the password") from error
        except (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError) as error:
            raise StoreUnavailable(f"Redis at {self._address} is away ({type(error).__name__})") from error
        except redis.OutOfMemoryError as error:
            raise StoreError(f"Redis at {self._address} is full: raise maxmemory or drop a collection") from error
        except redis.RedisError as error:
            raise StoreError(f"Redis at {self._address} refused a command: {error}") from error


def _new_generation() -> str:
    """Random, so that a dropped collection that is made anew is never taken for the old one."""
    return uuid.uuid4().hex[:12]


def _about(collection: str) -> str:
    return f"rag:{{{collection}}}:about"


def _channel(collection: str) -> str:
    return f"rag:{{{collection}}}:changed"


def _base(collection: str, generation: str) -> bytes:
    return f"rag:{{{collection}}}:{generation}:".encode()


def _live(collection: str, about: Mapping[bytes, bytes]) -> Generation:
    if b"live" not in about:
        raise _unknown(collection)
    layout = int(about[b"layout"])
    if layout != LAYOUT:
        raise LayoutMismatch(
            f"collection {collection!r} has layout {layout} and this worker reads layout {LAYOUT}: "
            f"rebuild it with `python -m worker rebuild {collection}`"
        )
    live = about[b"live"]
    return Generation(
        id=live.decode(),
        fingerprint=about[live + b":fingerprint"].decode(),
        dimension=int(about[live + b":dimension"]),
        version=int(about[live + b":version"]),
        rows=int(about[live + b":rows"]),
        bytes=int(about[live + b":bytes"]),
    )


def _generations(about: Mapping[bytes, bytes]) -> set[str]:
    return {field.decode().partition(":")[0] for field in about if field.endswith(b":version")}


def _refusal(code: str, collection: str) -> StoreError | None:
    """What a script's one-word refusal means; None for any other error."""
    match code:
        case "UNKNOWN":
            return _unknown(collection)
        case "EMBEDDER":
            return mismatch(collection)
        case "DIMENSION":
            return VectorRefused(f"vectors of another dimension than those of collection {collection!r}")
    return None


def _unknown(collection: str) -> UnknownCollection:
    return UnknownCollection(f"nothing was ever ingested into collection {collection!r}: ingest a folder first")


def mismatch(collection: str) -> EmbedderMismatch:
    """Return the error that says how to make embedder and collection fit again."""
    return EmbedderMismatch(
        f"another embedder wrote collection {collection!r}: set that embedder again, "
        f"or rebuild with `python -m worker rebuild {collection}`"
    )
