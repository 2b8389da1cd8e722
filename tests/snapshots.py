"""What a collection holds, read the way a new reader does, and compared."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from worker.records import Chunk
from worker.store import Store
from worker.stored import DocumentInfo


@dataclass(frozen=True)
class Content:
    """One document with everything that is stored of it."""

    info: DocumentInfo
    chunks: tuple[Chunk, ...]
    vectors: np.ndarray


def content(store: Store, collection: str) -> dict[str, Content]:
    """Return every document that is known, also those without chunks."""
    generation, since, found = store.generation(collection), 0, {}
    while True:
        page = store.changes(collection, generation, since)
        for document in page.documents:
            if document.info is None:
                found.pop(document.name, None)
            else:
                found[document.name] = Content(document.info, tuple(document.chunks.all()), document.vectors)
        since = page.documents[-1].version if page.documents else since
        if since == page.version:
            return found


def assert_same(one: dict[str, Content], other: dict[str, Content]) -> None:
    """The same documents, chunks and vectors; when they were ingested is nobody's concern."""
    assert one.keys() == other.keys()
    for name in one:
        assert replace(one[name].info, ingested_at=0.0) == replace(other[name].info, ingested_at=0.0)
        assert one[name].chunks == other[name].chunks
        if one[name].chunks:  # batches of other company round differently in the last digits
            assert np.sum(one[name].vectors * other[name].vectors, axis=1).min() > 0.999
