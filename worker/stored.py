"""What lies in Redis, as values and as bytes; the layout is described in `store`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from worker.errors import VectorRefused
from worker.records import Chunk

Vectors = npt.NDArray[np.float32]

_OFFSET: Final = np.dtype("<u4")
_FLOAT: Final = np.dtype("<f4")
# float32 rounding leaves a unit vector this near to 1; such vectors are stored bit for bit.
_UNIT_TOLERANCE: Final = 1e-5


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """What is known of one document of a collection, whether or not it has chunks."""

    name: str
    content_hash: str
    state: Literal["indexed", "empty", "refused", "deleted"]
    """`deleted`: by request, while its file is still in the folder; it stays away until the file changes."""
    reason: str = ""
    """Why it has no chunks; of an indexed document, what of it could not be read."""
    chunks: int = 0
    size: int = 0
    """Bytes of the file."""
    modified_ns: int = 0
    """Last modification of the file, in nanoseconds since 1970."""
    ingested_at: float = 0.0
    """Seconds since 1970."""
    tags: tuple[str, ...] = ()
    origin: Literal["folder", "upload"] = "folder"
    """`upload`: it came by itself, so no folder's loss of it means anything."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a collection beside its documents."""

    folder: str = ""
    """The folder it is made from; "" where its documents came one by one."""
    ingested_at: float = 0.0
    """When its folder was last ingested to the end, in seconds since 1970; 0 for never."""
    warning: str = ""
    """Why the last ingest left something undone that a person should look at; "" where it did not."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One complete set of a collection's documents, all cut and embedded in one way."""

    id: str
    fingerprint: str
    """Of the embedder."""
    dimension: int
    chunking: str
    """Names the way in which documents were cut."""
    version: int
    """Counts the changes of this generation, from 0."""
    rows: int
    bytes: int
    """Of vectors and chunks as stored."""


class PackedChunks:
    """The chunks of one document as stored; each is decoded only when it is asked for."""

    __slots__ = ("_body", "_offsets")

    def __init__(self, packed: bytes, count: int) -> None:
        self._offsets = np.frombuffer(packed, dtype=_OFFSET, count=count + 1)
        self._body = memoryview(packed)[self._offsets.nbytes :]

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, ordinal: int) -> Chunk:
        start, end = int(self._offsets[ordinal]), int(self._offsets[ordinal + 1])
        text, first, last, page, heading, location = json.loads(str(self._body[start:end], "utf-8", "surrogatepass"))
        return Chunk(text, first, last, page, tuple(heading), location)

    def all(self) -> list[Chunk]:
        """Return every chunk, in order."""
        return [self[ordinal] for ordinal in range(len(self))]


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """One entry of the change log: what a document is now, or that it has no rows (any more)."""

    name: str
    version: int
    info: DocumentInfo | None
    """None where the document was removed."""
    vectors: Vectors
    """(count, dimension), read-only; count is 0 for removed, empty and refused documents."""
    chunks: PackedChunks


@dataclass(frozen=True, slots=True)
class ChangePage:
    """Some changes in the order of their versions, read at one moment."""

    version: int
    """The generation's version at that moment."""
    documents: tuple[StoredDocument, ...]


def generation_ids(about: Mapping[bytes, bytes]) -> set[str]:
    """Return the ids of all generations that a collection's `about` hash describes."""
    return {field.decode().partition(":")[0] for field in about if field.endswith(b":version")}


def decode_generation(about: Mapping[bytes, bytes], id: bytes) -> Generation:
    """Read one generation out of a collection's `about` hash."""
    return Generation(
        id=id.decode(),
        fingerprint=about[id + b":fingerprint"].decode(),
        dimension=int(about[id + b":dimension"]),
        chunking=about.get(id + b":chunking", b"").decode(),
        version=int(about[id + b":version"]),
        rows=int(about[id + b":rows"]),
        bytes=int(about[id + b":bytes"]),
    )


def is_written_by(about: Mapping[bytes, bytes], id: str, fields: Mapping[str, object]) -> bool:
    """Say whether a generation has these values in a collection's `about` hash."""
    return all(about.get(f"{id}:{field}".encode()) == str(value).encode() for field, value in fields.items())


def encode_name(name: str) -> bytes:
    """Return a document's name as it stands in keys; any string has one form, lone surrogates included."""
    return name.encode("utf-8", "surrogatepass")


def decode_name(stored: bytes) -> str:
    """Undo `encode_name`."""
    return stored.decode("utf-8", "surrogatepass")


def encode_info(info: DocumentInfo) -> str:
    """Return the JSON that `decode_info` reads."""
    return json.dumps(asdict(info))


def decode_info(stored: bytes) -> DocumentInfo:
    """Undo `encode_info`."""
    fields: dict[str, Any] = json.loads(stored.decode())  # from bytes, json first guesses the encoding, slowly
    return DocumentInfo(**{**fields, "tags": tuple(fields["tags"])})


def encode_chunks(chunks: Sequence[Chunk]) -> bytes:
    """Return the bytes that `PackedChunks` reads."""
    bodies = [_encode_chunk(chunk) for chunk in chunks]
    offsets = np.zeros(len(bodies) + 1, dtype=_OFFSET)
    np.cumsum([len(body) for body in bodies], out=offsets[1:])
    return offsets.tobytes() + b"".join(bodies)


def encode_vectors(name: str, vectors: npt.ArrayLike, count: int) -> tuple[bytes, int]:
    """Return the bytes of `count` unit vectors, and their dimension (0 where there are none).

    Raises:
        VectorRefused: not one row a chunk, a zero vector, NaN or infinity.
    """
    rows = np.asarray(vectors, dtype=_FLOAT)
    if count == 0 and rows.size == 0:
        return b"", 0
    if rows.ndim != 2 or len(rows) != count:
        raise VectorRefused(f"{name}: {count} chunks and vectors of shape {rows.shape}; one row a chunk is needed")
    return unit_rows(name, rows).tobytes(), rows.shape[1]


def unit_rows(name: str, rows: Vectors) -> Vectors:
    """Return the rows scaled to length 1; rows that are of length 1 already stay as they are, bit for bit.

    Raises:
        VectorRefused: a row is zero or holds NaN or infinity.
    """
    norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    broken = np.flatnonzero(~(np.isfinite(norms) & (norms > 0)))
    if broken.size:
        raise VectorRefused(f"{name}: vector {broken[0]} is zero, NaN or infinite ({broken.size} of {len(rows)})")
    if np.abs(norms - 1).max(initial=0.0) <= _UNIT_TOLERANCE:
        return rows
    scaled: Vectors = (rows / norms).astype(_FLOAT)
    return scaled


def decode_document(entry: Sequence[Any], dimension: int) -> StoredDocument:
    """Read one entry of a page of changes: name, version, info, count, vectors, chunks."""
    name, version, info, count, vectors, chunks = entry
    rows = np.frombuffer(vectors or b"", dtype=_FLOAT).reshape(-1, dimension)
    packed = PackedChunks(chunks or bytes(_OFFSET.itemsize), int(count or 0))
    return StoredDocument(decode_name(name), int(version), info and decode_info(info), rows, packed)


def _encode_chunk(chunk: Chunk) -> bytes:
    fields = (chunk.text, chunk.start, chunk.end, chunk.page, chunk.heading, chunk.location)
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
