"""Chunks and vectors in and out of Redis, one document at a time and never half of one.

Layout 1. `{C}` is the collection's name in braces: all its keys lie in one slot of a Redis Cluster. G is the random
id of a generation, NAME a document's name in UTF-8 (lone surrogates kept).

    rag:collections          set      names of collections
    rag:{C}:about            hash     layout, live (the G that readers follow), folder, ingested_at, warning and, for
                                      each G that exists, G:fingerprint, G:dimension, G:chunking, G:version (counts
                                      changes), G:rows, G:bytes (of vectors and chunks)
    rag:{C}:G:documents      hash     NAME -> JSON of `DocumentInfo`, also for documents without chunks
    rag:{C}:G:changes        zset     NAME -> the version that changed it last; a removed NAME stays, as a tombstone
    rag:{C}:G:document:NAME  hash     version, count, vectors, chunks; only where count > 0
    rag:{C}:changed          channel  the version, after each change and each switch of generation

`vectors` is count x dimension little-endian float32, row after row. `chunks` is count + 1 little-endian uint32
offsets, then the JSON arrays [text, start, end, page, heading, location] that they delimit, in UTF-8. `stored` turns
these bytes into values and back; `scripts` holds the Lua that makes each change in one step.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy.typing as npt

from worker import scripts
from worker.database import Database
from worker.errors import EmbedderMismatch, LayoutMismatch, StoreError, UnknownCollection, VectorRefused
from worker.records import Chunk
from worker.stored import (
    ChangePage,
    DocumentInfo,
    Facts,
    Generation,
    PackedChunks,
    Vectors,
    decode_document,
    decode_generation,
    decode_info,
    decode_name,
    encode_chunks,
    encode_info,
    encode_name,
    encode_vectors,
    generation_ids,
    is_written_by,
)

__all__ = ["LAYOUT", "ChangePage", "DocumentInfo", "Generation", "Store"]

LAYOUT: Final = 1
_COLLECTIONS: Final = "rag:collections"
# One page of changes holds about this many rows: enough to be fast, too little to hold up Redis' other clients.
_PAGE_ROWS: Final = 2048
# Redis takes no value above 512 MB: it would close the connection without naming the document.
_LARGEST_VALUE: Final = 512 * 1024**2 - 1
_UNLINK_BATCH: Final = 1000
_EMPTY: Final = {"version": 0, "rows": 0, "bytes": 0}


class Store:
    """The collections in a database; safe to share between threads, not across a fork."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._client: Any = database.client
        self._call = database.call
        self._ensure = self._client.register_script(scripts.ENSURE)
        self._replace = self._client.register_script(scripts.REPLACE)
        self._remove = self._client.register_script(scripts.REMOVE)
        self._move = self._client.register_script(scripts.MOVE)
        self._switch = self._client.register_script(scripts.SWITCH)
        self._changes = self._client.register_script(scripts.CHANGES)
        # Which embedder this process uses for a collection: its vectors must not enter another one's generation.
        self._embedders: dict[str, str] = {}

    @classmethod
    def connect(cls, url: str) -> Store:
        """Return the store in the database of this URL; raises as `Database.connect`."""
        return cls(Database.connect(url))

    # --- collections and generations -------------------------------------------------------------

    def ensure(self, collection: str, *, fingerprint: str, dimension: int, chunking: str = "") -> None:
        """Open the collection for changes: create it, or check that this embedder wrote it.

        The former generation is dropped: it would not follow the changes.

        Raises:
            EmbedderMismatch: it was embedded or cut in another way.
            LayoutMismatch: another layout version wrote it.
        """
        self._call(self._client.sadd, _COLLECTIONS, collection)
        fields = (_new_generation(), LAYOUT, fingerprint, dimension, chunking)
        reply = self._run(self._ensure, collection, *fields)
        about = dict(zip(reply[::2], reply[1::2], strict=True))
        live = _generation(collection, about, about[b"live"])
        if (live.fingerprint, live.dimension, live.chunking) != (fingerprint, dimension, chunking):
            raise mismatch(collection)
        self._embedders[collection] = fingerprint
        self.drop_former(collection)

    def drop_former(self, collection: str) -> None:
        """Drop what another embedder wrote before the last switch, if it is still there."""
        former = self._call(self._client.hget, _about(collection), "former")
        if former:
            about = self._call(self._client.hgetall, _about(collection))
            self._drop_generations(collection, about, keep=generation_ids(about) - {former.decode()})

    def drop_staged(self, collection: str) -> None:
        """Drop what a run that died has half-built; for one that needs no new generation."""
        about = self._call(self._client.hgetall, _about(collection))
        kept = (about.get(b"live", b""), about.get(b"former", b""))
        self._drop_generations(collection, about, keep={generation.decode() for generation in kept})

    def generation(self, collection: str, *, fingerprint: str = "") -> Generation:
        """Return the live generation; with a `fingerprint`, the one of that embedder where it is still there.

        Raises:
            UnknownCollection: there is no such collection.
            LayoutMismatch: another layout version wrote it.
            EmbedderMismatch: no generation of that embedder is there.
        """
        about = self._call(self._client.hgetall, _about(collection))
        if b"live" not in about:
            raise _unknown(collection)
        live = _generation(collection, about, about[b"live"])
        if fingerprint in ("", live.fingerprint):
            return live
        former = about.get(b"former", b"")
        if about.get(former + b":fingerprint", b"").decode() == fingerprint:
            return _generation(collection, about, former)
        raise mismatch(collection)

    def version(self, collection: str, generation: str) -> tuple[str, int]:
        """Return the id of the live generation ("" where there is none) and the version of the given one."""
        fields = ["live", f"{generation}:version"]
        live, version = self._call(self._client.hmget, _about(collection), fields)
        return (live or b"").decode(), int(version or 0)

    def stage(self, collection: str, *, fingerprint: str, dimension: int, chunking: str = "") -> str:
        """Return the id of a generation beside the live one, which readers do not see.

        It is empty, or what a run that died has half-built where that was to be embedded and cut in the same way. All
        others are dropped.

        Raises:
            UnknownCollection: there is no such collection.
        """
        about = self._call(self._client.hgetall, _about(collection))
        if b"live" not in about:
            raise _unknown(collection)
        live = about[b"live"].decode()
        new = {"fingerprint": fingerprint, "dimension": dimension, "chunking": chunking}
        half_built = generation_ids(about) - {live, about.get(b"former", b"").decode()}
        staged = next((one for one in half_built if is_written_by(about, one, new)), "")
        self._drop_generations(collection, about, keep={live, staged})
        if not staged:
            staged = _new_generation()
            mapping = {f"{staged}:{field}": value for field, value in {**new, **_EMPTY}.items()}
            self._call(self._client.hset, _about(collection), mapping=mapping)
        return staged

    def switch(self, collection: str, generation: str) -> None:
        """Make a staged generation the live one, in one step.

        What another embedder wrote stays beside it until the next `ensure`, for readers that still use that
        embedder; all else is dropped.

        Raises:
            UnknownCollection: the generation does not exist (any more).
        """
        self._run(self._switch, collection, generation, LAYOUT)
        self._embedders.pop(collection, None)
        about = self._call(self._client.hgetall, _about(collection))
        former = about[b"former"].decode()
        same_embedder = about.get(f"{former}:fingerprint".encode()) == about[f"{generation}:fingerprint".encode()]
        self._drop_generations(collection, about, keep={generation} if same_embedder else {generation, former})

    def collections(self) -> list[str]:
        """Return the names of all collections, sorted."""
        return sorted(name.decode() for name in self._call(self._client.smembers, _COLLECTIONS))

    def drop(self, collection: str) -> None:
        """Remove a collection with all its generations; an unknown one is fine."""
        about = self._call(self._client.hgetall, _about(collection))
        self._call(self._client.unlink, _about(collection))
        self._call(self._client.publish, _channel(collection), 0)
        for generation in generation_ids(about):
            self._unlink(collection, generation)
        self._call(self._client.srem, _COLLECTIONS, collection)
        self._embedders.pop(collection, None)

    def facts(self, collection: str) -> Facts:
        """Return what was noted of the collection; nothing of an unknown one."""
        fields = self._call(self._client.hmget, _about(collection), ["folder", "ingested_at", "warning"])
        folder, ingested_at, warning = ((field or b"").decode() for field in fields)
        return Facts(folder, float(ingested_at or 0), warning)

    def note(self, collection: str, facts: Facts) -> None:
        """Note what is known of a collection that exists; of an unknown one nothing is noted."""
        if self._call(self._client.exists, _about(collection)):
            self._call(self._client.hset, _about(collection), mapping=asdict(facts))

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

    def remove(self, collection: str, name: str, *, generation: str = "") -> bool:
        """Forget a document and say whether it was there.

        Raises:
            UnknownCollection: there is no such collection.
        """
        return bool(self._run(self._remove, collection, encode_name(name), generation, ""))

    def move(self, collection: str, old_name: str, info: DocumentInfo, *, generation: str = "") -> bool:
        """Give a document what `info` says, its name included, and say whether it was there; its chunks stay.

        In one step: no reader finds it under both names, or under none.

        Raises:
            UnknownCollection: no such collection or generation.
        """
        target = (encode_name(old_name), generation, "")
        return bool(self._run(self._move, collection, *target, encode_name(info.name), encode_info(info)))

    def info(self, collection: str, name: str) -> DocumentInfo | None:
        """Return what is known of one document of the live generation; None where it is not there."""
        live, _ = self.version(collection, "")
        info = self._call(self._client.hget, _base(collection, live) + b"documents", encode_name(name))
        return decode_info(info) if info else None

    def chunks(self, collection: str, name: str) -> list[Chunk]:
        """Return the chunks of one document of the live generation, in order; [] where it has none."""
        live, _ = self.version(collection, "")
        key = _base(collection, live) + b"document:" + encode_name(name)
        count, packed = self._call(self._client.hmget, key, ["count", "chunks"])
        return PackedChunks(packed, int(count)).all() if count else []

    def sample(self, collection: str, generation: Generation, most: int) -> list[tuple[Chunk, Vectors]]:
        """Return a chunk, with its vector, of each of some documents, chosen at random."""
        base = _base(collection, generation.id)
        chosen = []
        for name in self._call(self._client.hrandfield, base + b"documents", most) or []:
            rows = self._call(self._client.hmget, base + b"document:" + name, ["count", "vectors", "chunks"])
            document = decode_document((name, 0, None, *rows), generation.dimension)
            if len(document.chunks):
                ordinal = random.randrange(len(document.chunks))
                chosen.append((document.chunks[ordinal], document.vectors[ordinal]))
        return chosen

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
        with self.database.translated(), self._client.pubsub(ignore_subscribe_messages=True) as announcements:
            announcements.psubscribe(_channel("*"))
            while not stop():
                message = announcements.get_message(timeout=0.2)
                if message is not None:
                    on_change(message["channel"].decode()[len(prefix) : -len(suffix)])

    def close(self) -> None:
        """Close the connections."""
        self.database.close()

    # --- Redis -----------------------------------------------------------------------------------

    def _drop_generations(self, collection: str, about: Mapping[bytes, bytes], *, keep: set[str]) -> None:
        for generation in generation_ids(about) - keep:
            fields = [field for field in about if field.startswith(f"{generation}:".encode())]
            former = [b"former"] if about.get(b"former") == generation.encode() else []
            self._call(self._client.hdel, _about(collection), *fields, *former)
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


def _new_generation() -> str:
    """Random, so that a dropped collection that is made anew is never taken for the old one."""
    return uuid.uuid4().hex[:12]


def _about(collection: str) -> str:
    return f"rag:{{{collection}}}:about"


def _channel(collection: str) -> str:
    return f"rag:{{{collection}}}:changed"


def _base(collection: str, generation: str) -> bytes:
    return f"rag:{{{collection}}}:{generation}:".encode()


def _generation(collection: str, about: Mapping[bytes, bytes], id: bytes) -> Generation:
    layout = int(about[b"layout"])
    if layout != LAYOUT:
        raise LayoutMismatch(
            f"collection {collection!r} has layout {layout} and this worker reads layout {LAYOUT}: "
            f"rebuild it with `python -m worker rebuild {collection}`"
        )
    return decode_generation(about, id)


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
