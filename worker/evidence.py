"""A question in, the passages that may answer it out; or none, when nothing is near enough."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from worker.records import Hit, Passage

# Below this cosine a passage is about something else. Settings may override it.
MIN_SCORE = 0.25


class Searcher(Protocol):
    """What `worker.index.Index` offers."""

    def search(self, collection: str, queries: np.ndarray, *, k: int, min_score: float = -1.0) -> list[list[Hit]]:
        """Return the hits of each query, best first."""
        ...


class QueryEmbedder(Protocol):
    """What `worker.embedding.Embedder` offers."""

    def embed_query(self, text: str) -> np.ndarray:
        """Return the question's unit vector, float32 of shape (d,)."""
        ...


def gather(
    question: str,
    *,
    collection: str,
    embedder: QueryEmbedder,
    index: Searcher,
    k: int,
    min_score: float,
) -> tuple[Passage, ...]:
    """Return at most `k` passages of cosine `min_score` or more, best first; () means: abstain.

    Raises UnknownCollection, StoreUnavailable.
    """
    query = embedder.embed_query(question)[None, :]
    hits = index.search(collection, query, k=k, min_score=min_score)[0]
    return tuple(_passage(hit) for hit in hits)


def _passage(hit: Hit) -> Passage:
    chunk = hit.chunk
    return Passage(
        name=hit.document,
        text=chunk.text,
        page=chunk.page,
        heading=chunk.heading,
        location=chunk.location,
        start=chunk.start,
        score=hit.score,
    )
