"""Ingestion on the wire: folders, single documents, and what became of them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import ClassVar

from producer.errors import InvalidRequest
from producer.message import Message, many, new_id, require_collection, require_document_name
from producer.names import DEFAULT_DEADLINE_SECONDS, INGEST_DEADLINE_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Message):
    """What is asked of a collection's documents; each kind refuses what no worker could do, with InvalidRequest."""

    patience: ClassVar[float] = INGEST_DEADLINE_SECONDS
    """Seconds until the deadline, where none is given."""

    collection: str
    id: str = field(default_factory=new_id)
    asked_at: float = field(default_factory=time.time)
    deadline: float = 0.0

    def __post_init__(self) -> None:
        if not self.deadline:
            object.__setattr__(self, "deadline", self.asked_at + self.patience)
        require_collection(self.collection)
        self._require()

    def _require(self) -> None:
        """Refuse what the other fields must not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest(Request):
    """A folder, as the ingest worker sees it, whose documents shall be the collection's."""

    folder: str

    def _require(self) -> None:
        if not self.folder.strip():
            raise InvalidRequest("folder is empty; name the folder as the ingest worker sees it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal(Message):
    """A file that yielded nothing, and why."""

    name: str
    reason: str
    state: str = "refused"
    """`refused`, `empty` where the file is fine and holds no text, or `deleted` by request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Message):
    """How far a running ingest is."""

    total: int = 0
    done: int = 0
    chunks: int = 0
    failures: int = 0
    seconds: float = 0.0
    told_at: float = field(default_factory=time.time)
    """When the worker said this, in Unix seconds."""

    @property
    def chunks_per_second(self) -> float:
        """The rate so far; 0 before the first chunk."""
        return self.chunks / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport(Message):
    """What an ingest did: every file is in exactly one of the counts."""

    collection: str
    added: int = 0
    changed: int = 0
    removed: int = 0
    renamed: int = 0
    """Moved to another name with the same bytes; nothing was read again."""
    unchanged: int = 0
    refused: tuple[Refusal, ...] = many(Refusal)
    chunks: int = 0
    """Chunks written in this run."""
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """Files seen in the folder."""
        return self.added + self.changed + self.renamed + self.unchanged + len(self.refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRequest(Request):
    """One document whose bytes lie in Redis under `rag:upload:ID`: a message in a queue stays small."""

    name: str
    size: int
    sha256: str
    tags: tuple[str, ...] = ()

    def _require(self) -> None:
        require_document_name(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRequest(Request):
    """A document that shall disappear from answers."""

    name: str

    def _require(self) -> None:
        require_document_name(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentsRequest(Request):
    """Asks what is stored in a collection."""

    patience: ClassVar[float] = DEFAULT_DEADLINE_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentState(Message):
    """One stored document."""

    name: str
    state: str
    """`indexed`, `empty` (it holds no text), `refused`, or `deleted` (by request, though its file is still there)."""
    reason: str = ""
    """Why it has no chunks; of an indexed document, what of it could not be read."""
    chunks: int = 0
    size: int = 0
    """Bytes of the file."""
    ingested_at: float = 0.0
    """Unix seconds."""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentList(Message):
    """What is stored in a collection, by name."""

    collection: str
    folder: str = ""
    """The folder that it is made from; "" where its documents came one by one."""
    ingested_at: float = 0.0
    """When that folder was last ingested to the end, in Unix seconds; 0 for never."""
    warning: str = ""
    """Why the last ingest left something undone that a person should look at, such as a folder that is gone."""
    documents: tuple[DocumentState, ...] = many(DocumentState)
