"""A folder in, its documents stored out: plan, read, cut, embed, replace; one file's fault stops no other file.

Each document is replaced in one step, so a run that is stopped, or dies, leaves a collection that answers, and the
next run does what is left. Documents that were embedded or cut in another way than this process does are all done
anew in a generation beside the live one, which answers until the new one is whole.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol, TypedDict

import numpy as np

from worker.cutting import Cutter
from worker.errors import EmbedderMismatch, FolderMismatch, FolderUnavailable, IngestStopped
from worker.lease import LEASE_SECONDS, Lease
from worker.pipeline import Reading, embedded
from worker.records import IngestOutcome, IngestProgress
from worker.sources import Plan, SourceFile, content_hash, list_files, plan
from worker.store import Store
from worker.stored import DocumentInfo, Facts
from worker.tally import Tally
from worker.verification import require_same_vectors

_log = logging.getLogger(__name__)

_TAKEN = "an uploaded document has this name; rename the file, or delete that document"
_ANEW = "every document was embedded anew: the embedder or the way of cutting has changed"
_NO_VECTORS = np.empty((0, 0), dtype=np.float32)

Infos = Mapping[str, DocumentInfo]


class Embedding(TypedDict):
    """What decides whether stored vectors and chunks are those that this process would make."""

    fingerprint: str
    dimension: int
    chunking: str


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


def embedding_of(embedder: PassageEmbedder, cutter: Cutter) -> Embedding:
    """Return what is stored with each generation."""
    return {"fingerprint": embedder.fingerprint, "dimension": embedder.dimension, "chunking": cutter.name}


def _never() -> bool:
    return False


class IngestFlow:
    """Holds what lives as long as the process.

    Args:
        store: where documents go.
        embedder: what makes their vectors.
        largest_loss: a folder that lost more than this share of its documents, 0..1, was more likely unmounted than
            tidied up: nothing is deleted.
        lease_seconds: how long a run that died keeps the next one out.
    """

    def __init__(
        self,
        *,
        store: Store,
        embedder: PassageEmbedder,
        largest_loss: float = 0.5,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._cutter = Cutter(embedder.count_tokens, embedder.max_tokens)
        self._embedding = embedding_of(embedder, self._cutter)
        self._largest_loss = largest_loss
        self._lease_seconds = lease_seconds
        self._checked: set[str] = set()

    def ingest(
        self,
        folder: Path,
        *,
        collection: str,
        progress: Callable[[IngestProgress], None] = lambda _: None,
        stop: Callable[[], bool] = _never,
        wait: float = 0.0,
    ) -> IngestOutcome:
        """Make `folder` the content of `collection`; an unchanged file costs a look at its size and time.

        `stop` is asked between documents; `wait` seconds are waited for another run's end. Raises
        FolderUnavailable and FolderMismatch (nothing was changed), IngestRunning, IngestStopped, EmbedderMismatch,
        StoreUnavailable.
        """
        with self._leased(collection, folder, wait=wait) as lease:
            files = list_files(folder)
            facts = self._store.facts(collection)
            _require_its_folder(facts, collection, folder)
            run = _Run(collection, Tally(len(files), progress), stop, lease)
            is_ours = self._is_ours(collection)
            self._store.note(collection, replace(facts, folder=_real(folder)))
            if is_ours:
                self._update(run, files)
            else:
                run.tally.warnings.append(_ANEW)
                self._build(run, files)
            return self._finished(run, folder)

    def rebuild(
        self,
        folder: Path | None,
        *,
        collection: str,
        accept_loss: bool = False,
        progress: Callable[[IngestProgress], None] = lambda _: None,
        stop: Callable[[], bool] = _never,
    ) -> IngestOutcome:
        """Read and embed every file of `folder` anew, beside what answers now, and switch when all is there.

        For what `ingest` cannot see: a mended library, another layout, a loss that is meant, another folder. Without
        a folder only what was uploaded is embedded anew. Raises as `ingest`, and UnknownCollection; FolderUnavailable
        also where too many of the stored names are gone, unless `accept_loss`.
        """
        with self._leased(collection, folder) as lease:
            files = list_files(folder) if folder else []
            run = _Run(collection, Tally(len(files), progress), stop, lease)
            self._build(run, files, accept_loss=accept_loss)
            return self._finished(run, folder)

    # --- before and after ------------------------------------------------------------------------

    @contextmanager
    def _leased(self, collection: str, folder: Path | None, *, wait: float = 0.0) -> Iterator[Lease]:
        """Keep other runs out; note a fault of the collection's folder where operators look."""
        lease = Lease(self._store.database, collection, seconds=self._lease_seconds)
        with lease.held(wait=wait):
            try:
                yield lease
            except FolderUnavailable as error:
                facts = self._store.facts(collection)
                if facts.folder in ("", _real(folder)):
                    _log.warning("collection %s: %s", collection, error)
                    self._store.note(collection, replace(facts, warning=str(error)))
                raise

    def _is_ours(self, collection: str) -> bool:
        """Say whether this process' vectors and chunks fit the live generation; open it for changes if they do."""
        try:
            self._store.ensure(collection, **self._embedding)
        except EmbedderMismatch:
            return False
        live = self._store.generation(collection)
        if live.id not in self._checked:
            require_same_vectors(self._store, self._embedder, collection, live)
            self._checked.add(live.id)
        return True

    def _finished(self, run: _Run, folder: Path | None) -> IngestOutcome:
        self._store.note(run.collection, Facts(_real(folder), time.time(), run.alarm))
        return run.tally.outcome(changed=run.changed)

    # --- the two ways ----------------------------------------------------------------------------

    def _update(self, run: _Run, files: list[SourceFile]) -> None:
        """Bring the live generation to what the folder holds."""
        self._store.drop_staged(run.collection)
        stored = self._store.documents(run.collection)
        todo = self._planned(run, files, stored, stored)
        for item in todo.unreadable:
            run.tally.refuse(item.file.name, item.reason)
        self._replace(run, self._reads(run, todo))
        self._remove(run, todo.remove, known=sum(info.origin == "folder" for info in stored.values()))

    def _build(self, run: _Run, files: list[SourceFile], *, accept_loss: bool = False) -> None:
        """Build all anew beside the live generation, or go on where a run that died left off; then switch."""
        live = self._store.documents(run.collection)
        known = {name for name, info in live.items() if info.origin == "folder"}
        gone = known - {file.name for file in files}
        if self._is_suspicious(len(gone), len(known), len(files)) and not accept_loss:
            raise FolderUnavailable(_loss(run.collection, len(gone), len(known)))
        run.tally.removed = len(gone)
        run.generation = self._store.stage(run.collection, **self._embedding)
        carried = self._carry_over(run, live)
        todo = self._planned(run, files, self._store.documents(run.collection, generation=run.generation), live)
        for item in todo.unreadable:
            if item.file.name in live:
                carried.append(live[item.file.name])
                run.tally.warnings.append(f"{item.file.name}: {item.reason}; its stored text is kept")
            else:
                run.tally.refuse(item.file.name, item.reason)
        for name in todo.remove:
            self._store.remove(run.collection, name, generation=run.generation)
        self._replace(run, chain(self._reads(run, todo), self._rereads(run, carried)))
        run.lease.check()
        self._store.switch(run.collection, run.generation)

    def _planned(self, run: _Run, files: list[SourceFile], stored: Infos, live: Infos) -> Plan:
        """Plan what is to be done, and do what needs no reading: new times and new names."""
        uploads = {name for name, info in live.items() if info.origin == "upload"}
        for file in files:
            if file.name in uploads:
                run.tally.refuse(file.name, _TAKEN)
        ours = {name: info for name, info in stored.items() if info.origin == "folder"}

        def hashed(path: Path) -> str:
            run.tally.pulse()
            return content_hash(path)

        todo = plan((file for file in files if file.name not in uploads), ours, hash_file=hashed)
        run.changed = [change.file.name for change in todo.change]
        run.tally.keep(stored[file.name] for file in todo.unchanged)
        for change in todo.touched:
            run.tally.keep([self._move(run, change.file, stored[change.file.name])])
        for rename in todo.renamed:
            run.tally.move(self._move(run, rename.file, stored[rename.old_name]))
        return todo

    def _move(self, run: _Run, file: SourceFile, info: DocumentInfo) -> DocumentInfo:
        moved = replace(info, name=file.name, size=file.size, modified_ns=file.modified_ns)
        run.lease.check()
        self._store.move(run.collection, info.name, moved, generation=run.generation)
        return moved

    def _carry_over(self, run: _Run, live: Infos) -> list[DocumentInfo]:
        """Bring over what no file of the folder tells, and return the uploads that are still to be embedded."""
        staged = self._store.documents(run.collection, generation=run.generation)
        for name, info in staged.items():
            if info.origin == "upload" and name not in live:
                self._store.remove(run.collection, name, generation=run.generation)
        for info in live.values():
            if info.state == "deleted":
                self._store.replace(run.collection, info, (), _NO_VECTORS, generation=run.generation)
        uploads = [info for info in live.values() if info.origin == "upload"]
        return [info for info in uploads if not _is_same(info, staged.get(info.name))]

    # --- documents -------------------------------------------------------------------------------

    def _reads(self, run: _Run, todo: Plan) -> Iterator[Callable[[], Reading]]:
        for change in (*todo.add, *todo.change):
            if run.is_stopped():
                return
            file = change.file
            info = DocumentInfo(
                name=file.name,
                content_hash=change.content_hash,
                state="indexed",
                size=file.size,
                modified_ns=file.modified_ns,
            )
            yield partial(self._cutter.file, file.path, info)

    def _rereads(self, run: _Run, carried: list[DocumentInfo]) -> Iterator[Callable[[], Reading]]:
        run.tally.total += len(carried)
        for info in carried:
            if run.is_stopped():
                return
            yield partial(self._reread, run.collection, info)

    def _reread(self, collection: str, info: DocumentInfo) -> Reading:
        return self._cutter.again(self._store.chunks(collection, info.name), info)

    def _replace(self, run: _Run, reads: Iterable[Callable[[], Reading]]) -> None:
        """Store what each document holds now, be it nothing: an old version must not go on answering."""
        for reading, vectors in embedded(reads, self._embedder.embed_passages, pulse=run.tally.pulse):
            run.lease.check()
            self._store.replace(run.collection, reading.info, reading.chunks, vectors, generation=run.generation)
            run.tally.note(reading.info)
        if run.is_stopped():
            raise IngestStopped(f"collection {run.collection!r}: stopped between documents; the next run goes on")

    def _remove(self, run: _Run, names: list[str], *, known: int) -> None:
        """Remove what the folder lost, unless it lost so much that the folder itself is the likelier fault."""
        if self._is_suspicious(len(names), known, run.tally.total):
            run.alarm = _loss(run.collection, len(names), known)
            run.tally.warnings.append(run.alarm)
            _log.warning("collection %s: %s", run.collection, run.alarm)
            return
        for name in names:
            run.lease.check()
            run.tally.removed += self._store.remove(run.collection, name)

    def _is_suspicious(self, gone: int, known: int, files: int) -> bool:
        return gone > 0 and (files == 0 or gone > max(1, known * self._largest_loss))


def _real(folder: Path | None) -> str:
    return os.path.realpath(folder) if folder else ""


def _loss(collection: str, gone: int, known: int) -> str:
    return (
        f"{gone} of {known} documents are gone from the folder and none was removed: check the folder and its mount; "
        f"if the loss is meant: python -m worker rebuild {collection} --accept-loss"
    )


def _require_its_folder(facts: Facts, collection: str, folder: Path) -> None:
    if facts.folder not in ("", _real(folder)):
        raise FolderMismatch(
            f"collection {collection!r} is made from {facts.folder}, and {folder} was not read: "
            f"ingest it into another collection, or move this one: python -m worker move {collection} {folder}"
        )


def _is_same(info: DocumentInfo, other: DocumentInfo | None) -> bool:
    return other is not None and (info.content_hash, info.tags) == (other.content_hash, other.tags)


@dataclass(slots=True)
class _Run:
    """One run over one folder."""

    collection: str
    tally: Tally
    stop: Callable[[], bool]
    lease: Lease
    generation: str = ""
    """The staged generation that is built; "" where the live one is changed."""
    changed: Sequence[str] = ()
    """Names of the files that are stored in an older version."""
    alarm: str = ""
    """What a person should look at."""
    _stopped: bool = False

    def is_stopped(self) -> bool:
        """Ask `stop`, until it has said yes once."""
        self._stopped = self._stopped or self.stop()
        return self._stopped
