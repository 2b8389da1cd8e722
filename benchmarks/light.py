"""The workers' app with an embedder that is a word count: real queue, flows, store and connectors, up in a second.

`celery --app=benchmarks.light worker ...` is `celery --app=worker.app worker ...` without torch. LIGHT_VISIBILITY
gives a dead worker's tasks to the next one after so many seconds, and a dead run's lease after half of that.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from worker import runtime
from worker.config import load
from worker.ingest import IngestFlow
from worker.records import Hit
from worker.store import Store

Floats = npt.NDArray[np.float32]

DIMENSION = 1024
VISIBILITY = float(os.environ.get("LIGHT_VISIBILITY", "30"))
_WORDS = DIMENSION // 2


class WordEmbedder:
    """Texts that share words are near one another."""

    dimension = DIMENSION
    max_tokens = 24
    fingerprint = "benchmarks.light"
    min_score = 0.2

    def count_tokens(self, text: str) -> int:
        """Return the number of words."""
        return len(_words(text))

    def embed_query(self, text: str) -> Floats:
        """Return a unit vector of shape (DIMENSION,)."""
        vector = np.zeros(DIMENSION, dtype=np.float32)
        for word in _words(text):
            vector[_place(word)] += 1
        vector[0] += 0.01  # a text without words has a direction too
        return vector / np.linalg.norm(vector)

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        """Return unit vectors of shape (n, DIMENSION)."""
        return np.stack([self.embed_query(text) for text in texts]) if texts else np.zeros((0, DIMENSION), np.float32)


class PlainSearch:
    """Reads the whole collection for every search: no index that could be stale."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def search(
        self, collection: str, queries: Floats, *, k: int, min_score: float = -1.0, **_: Any
    ) -> list[list[Hit]]:
        """Return the k best hits of each query, best first."""
        generation = self._store.generation(collection)
        documents = self._store.changes(collection, generation, 0).documents
        found: list[list[Hit]] = []
        for query in queries:
            hits = [
                Hit(document.name, ordinal, float(score), document.chunks[ordinal])
                for document in documents
                for ordinal, score in enumerate(document.vectors @ query)
                if score >= min_score
            ]
            found.append(sorted(hits, key=lambda hit: -hit.score)[:k])
        return found

    def load_all(self) -> None:
        """There is nothing to load."""


class LightRuntime(runtime.Runtime):
    """The workers' own, but for the two objects that need torch."""

    @cached_property
    def embedder(self) -> Any:
        """The word count."""
        return WordEmbedder()

    @cached_property
    def index(self) -> Any:
        """The plain search."""
        return PlainSearch(self.store)

    @cached_property
    def ingests(self) -> IngestFlow:
        """The ingest flow."""
        return IngestFlow(store=self.store, embedder=self.embedder, lease_seconds=VISIBILITY / 2)


def _place(word: str) -> int:
    """Return a word's coordinate: numbers below 512 share theirs with nothing else."""
    if word.isdecimal():
        return _WORDS + int(word) % _WORDS
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest()) % _WORDS


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


runtime.use(LightRuntime(load()))

from worker.app import app  # noqa: E402 - it asks for the runtime at once

app.conf.broker_transport_options = {
    **app.conf.broker_transport_options,
    "visibility_timeout": VISIBILITY,
    "unacked_restore_interval": VISIBILITY / 6,
}
