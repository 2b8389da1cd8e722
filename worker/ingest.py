"""A folder in, its documents stored out: plan, read, cut, embed, replace; one file's fault stops no other file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypedDict

import numpy as np

from worker.chunking import chunk_document
from worker.documents import read_isolated
from worker.errors import DocumentError, FolderUnavailable, NothingToIndex
from worker.records import Chunk, IngestOutcome, IngestProgress, RefusedFile
from worker.sources import Change, Rename, SourceFile, Unreadable, list_files, plan
from worker.store import Store
from worker.stored import DocumentInfo

# A folder that lost more than this share of its documents was more likely unmounted than tidied up.
_LARGEST_LOSS = 0.5
_CHECK = "check the folder and its mount. If the loss is meant: python -m worker rebuild NAME --accept-loss"


def _tolerated_loss(known: int) -> float:
    return max(1, known * _LARGEST_LOSS)


class _Embedding(TypedDict):
    fingerprint: str
    dimension: int


class PassageEmbedder(Protocol):
    """What `worker.embedding.Embedder` offers."""

    dimension: int
    max_tokens: int
    fingerprint: str

    def count_tokens(self, text: str) -> int:
        """Return the text's length as the model counts it."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 unit vectors of shape (n, d)."""
        ...


class IngestFlow:
    """Holds what lives as long as the process."""

    def __init__(self, *, store: Store, embedder: PassageEmbedder) -> None:
        self._store = store
        self._embedder = embedder

    def ingest(
        self,
        folder: Path,
        *,
        collection: str,
        progress: Callable[[IngestProgress], None] = lambda _: None,
    ) -> IngestOutcome:
        """Make `folder` the content of `collection`; an unchanged file costs a look at its size and time.

        Each document is replaced in one step. Raises FolderUnavailable (nothing was changed), EmbedderMismatch,
        StoreUnavailable.
        """
        files = list_files(folder)
        self._store.ensure(collection, **self._embedding)
        stored = self._store.documents(collection)
        todo = plan(files, stored)
        run = _Run(total=len(files), tell=progress)
        run.keep(todo.unchanged, stored)
        run.keep([change.file for change in todo.touched], stored)
        wanted: list[Change | Rename] = [*todo.add, *todo.change, *todo.renamed]
        for change in wanted:
            run.note(self._replace(collection, change.file, change.content_hash))
        run.miss(todo.unreadable)
        for rename in todo.renamed:  # its content is stored under the new name by now: no proof is needed
            self._store.remove(collection, rename.old_name)
        removed = self._remove(collection, todo.remove, known=len(stored), run=run)
        added = run.indexed([*todo.add, *todo.renamed])
        return run.outcome(added=added, changed=run.indexed(todo.change), removed=removed)

    def rebuild(
        self,
        folder: Path,
        *,
        collection: str,
        accept_loss: bool = False,
        progress: Callable[[IngestProgress], None] = lambda _: None,
    ) -> IngestOutcome:
        """Read and embed every file of `folder` anew, beside what answers now, and switch when all is there.

        For another embedder, another chunking or another layout. Raises FolderUnavailable (nothing was changed),
        UnknownCollection, StoreUnavailable.
        """
        files = list_files(folder)
        known = len(self._store.documents(collection))
        if known - len(files) > _tolerated_loss(known) and not accept_loss:
            raise FolderUnavailable(f"{folder} holds {len(files)} files and {known} documents are stored: {_CHECK}")
        generation = self._store.stage(collection, **self._embedding)
        todo = plan(files, {})
        run = _Run(total=len(files), tell=progress)
        for change in todo.add:
            run.note(self._replace(collection, change.file, change.content_hash, generation=generation))
        run.miss(todo.unreadable)
        self._store.switch(collection, generation)
        return run.outcome(added=run.indexed(todo.add))

    @property
    def _embedding(self) -> _Embedding:
        return {"fingerprint": self._embedder.fingerprint, "dimension": self._embedder.dimension}

    def _replace(self, collection: str, file: SourceFile, content_hash: str, *, generation: str = "") -> DocumentInfo:
        """Store what a file holds now, be it nothing: an old version must not go on answering."""
        chunks: list[Chunk] = []
        state: Literal["indexed", "empty", "refused"] = "indexed"
        reason = ""
        try:
            chunks = self._chunks(file.path)
        except DocumentError as error:
            state = "empty" if isinstance(error, NothingToIndex) else "refused"
            reason = error.reason
        vectors = self._embedder.embed_passages([chunk.embedded_text for chunk in chunks])
        info = DocumentInfo(
            name=file.name,
            content_hash=content_hash,
            state=state,
            reason=reason,
            chunks=len(chunks),
            size=file.size,
            modified_ns=file.modified_ns,
            ingested_at=time.time(),
        )
        self._store.replace(collection, info, chunks, vectors, generation=generation)
        return info

    def _chunks(self, path: Path) -> list[Chunk]:
        document = read_isolated(path)
        embedder = self._embedder
        chunks = chunk_document(document, count_tokens=embedder.count_tokens, max_tokens=embedder.max_tokens)
        if not chunks:
            raise NothingToIndex("it holds no text")
        return chunks

    def _remove(self, collection: str, names: list[str], *, known: int, run: _Run) -> int:
        """Remove what the folder lost, unless it lost so much that the folder itself is the likelier fault."""
        if len(names) > _tolerated_loss(known):
            run.warnings.append(f"{len(names)} of {known} documents are gone; nothing was removed: {_CHECK}")
            return 0
        return sum(self._store.remove(collection, name) for name in names)


@dataclass(slots=True)
class _Run:
    """What one ingest has done so far."""

    total: int
    tell: Callable[[IngestProgress], None]
    started: float = field(default_factory=time.monotonic)
    chunks: int = 0
    unchanged: int = 0
    refused: list[RefusedFile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _indexed: set[str] = field(default_factory=set)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def keep(self, files: Iterable[SourceFile], stored: Mapping[str, DocumentInfo]) -> None:
        """Count files that need no work; one that was refused before is still refused."""
        for file in files:
            info = stored[file.name]
            if info.state == "indexed":
                self.unchanged += 1
            else:
                self.refused.append(RefusedFile(info.name, info.state, info.reason))
        self._tell()

    def note(self, info: DocumentInfo) -> None:
        """Count one file that was read."""
        self.chunks += info.chunks
        if info.state == "indexed":
            self._indexed.add(info.name)
        else:
            self.refused.append(RefusedFile(info.name, info.state, info.reason))
        self._tell()

    def miss(self, files: Iterable[Unreadable]) -> None:
        """Count files that are there and cannot be opened; what is stored of them stays."""
        self.refused += [RefusedFile(item.file.name, "refused", item.reason) for item in files]
        self._tell()

    def indexed(self, changes: Iterable[Change | Rename]) -> int:
        """Return how many of the planned files were indexed."""
        return sum(change.file.name in self._indexed for change in changes)

    def outcome(self, *, added: int, changed: int = 0, removed: int = 0) -> IngestOutcome:
        """Return what was done."""
        return IngestOutcome(
            added=added,
            changed=changed,
            removed=removed,
            unchanged=self.unchanged,
            refused=tuple(self.refused),
            chunks=self.chunks,
            seconds=self.seconds,
            warnings=tuple(self.warnings),
        )

    def _tell(self) -> None:
        done = self.unchanged + len(self._indexed) + len(self.refused)
        self.tell(IngestProgress(self.total, done, self.chunks, len(self.refused), self.seconds))
