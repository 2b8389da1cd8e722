"""One document in or out of a collection by its name, without a folder; it is replaced or removed in one step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from worker.cutting import Cutter
from worker.errors import NameTaken
from worker.ingest import PassageEmbedder, embedding_of
from worker.lease import LEASE_SECONDS, Lease
from worker.records import IngestOutcome
from worker.store import Store
from worker.stored import DocumentInfo
from worker.tally import Tally

# A night of documents may hold the collection; whoever waits longer than this is told to come back.
_PATIENCE_SECONDS: Final = 60.0
_DELETED: Final = "deleted by request; it comes back when its file in the folder changes"


class SingleFlow:
    """Stores and deletes single documents; arguments as for `IngestFlow`."""

    def __init__(self, *, store: Store, embedder: PassageEmbedder, lease_seconds: float = LEASE_SECONDS) -> None:
        self._store = store
        self._embedder = embedder
        self._cutter = Cutter(embedder.count_tokens, embedder.max_tokens)
        self._lease_seconds = lease_seconds

    def is_stored(self, name: str, content_hash: str, tags: tuple[str, ...], *, collection: str) -> bool:
        """Say whether exactly this was uploaded before."""
        known = self._store.info(collection, name)
        return known is not None and (known.content_hash, known.tags, known.origin) == (content_hash, tags, "upload")

    def upload(
        self, path: Path, *, name: str, content_hash: str, collection: str, tags: tuple[str, ...] = ()
    ) -> IngestOutcome:
        """Put the file's document in place of what was uploaded under this name before.

        content_hash: SHA-256 of the file's bytes, as hex.

        Raises NameTaken where the name is that of a document of the collection's folder, IngestRunning,
        EmbedderMismatch, StoreUnavailable.
        """
        with self._leased(collection) as lease:
            self._store.ensure(collection, **embedding_of(self._embedder, self._cutter))
            known = self._store.info(collection, name)
            _require_upload(known, name)
            now = DocumentInfo(
                name=name,
                content_hash=content_hash,
                state="indexed",
                size=path.stat().st_size,
                modified_ns=time.time_ns(),
                tags=tags,
                origin="upload",
            )
            reading = self._cutter.file(path, now)
            vectors = self._embedder.embed_passages([chunk.embedded_text for chunk in reading.chunks])
            lease.check()
            self._store.replace(collection, reading.info, reading.chunks, vectors)
        tally = Tally(total=1)
        tally.note(reading.info)
        return tally.outcome(changed=[name] if known else [])

    def delete(self, name: str, *, collection: str) -> IngestOutcome:
        """Take a document out of every answer from now on; one that is not there is fine.

        One whose file is still in the folder is not read again before that file changes. Raises
        UnknownCollection, IngestRunning, StoreUnavailable.
        """
        tally = Tally(total=1)
        with self._leased(collection):
            self._store.generation(collection)  # an unknown collection is no success
            self._store.drop_former(collection)
            known = self._store.info(collection, name)
            if known and known.origin == "upload":
                tally.removed += self._store.remove(collection, name)
            elif known and known.state != "deleted":
                gone = replace(known, state="deleted", reason=_DELETED, chunks=0)
                self._store.replace(collection, gone, (), np.empty((0, 0), dtype=np.float32))
                tally.removed += 1
        return tally.outcome()

    @contextmanager
    def _leased(self, collection: str) -> Iterator[Lease]:
        lease = Lease(self._store.database, collection, seconds=self._lease_seconds)
        with lease.held(wait=_PATIENCE_SECONDS):
            yield lease


def _require_upload(known: DocumentInfo | None, name: str) -> None:
    if known and known.origin == "folder":
        raise NameTaken(f"{name!r} is the name of a file in the collection's folder: change it there, or rename this")
