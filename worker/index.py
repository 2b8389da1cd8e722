"""Questions as vectors in, the best chunks of a collection out, as the store is at that moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from worker.coalescing import Coalescer
from worker.devices import resolve
from worker.errors import StoreError, StoreUnavailable, UnknownCollection, VectorRefused
from worker.filters import Filter
from worker.fusion import fuse
from worker.records import Hit
from worker.resident import Resident
from worker.store import Store
from worker.stored import Generation, unit_rows

__all__ = ["Filter", "Index"]

Found = list[list[Hit]]
Check = Callable[[str, Generation], None]

# Searches that wait for one another become one pass over the vectors.
_BATCH_CALLS: Final = 64
# A generation that is switched away while it is loaded is given up for the next one, this many times.
_LOADS: Final = 5
# How deep rankings are read, and what words and names count beside nearness when they are fused. Of depths of 20 and
# 50 and weights from 0 to 1.5, tried on the sets of `benchmarks.retrieval`, these are better than nearness alone on
# every set; heavier words spoil questions on personal finance, lighter names miss forms that are asked for by number.
_FUSED_HITS: Final = 50
_WORDS_WEIGHT: Final = 0.25
_NAMES_WEIGHT: Final = 1.0
_RECONNECT_SECONDS: Final = 1.0


def _no_check(collection: str, generation: Generation) -> None:
    """Any generation will do."""


class Index:
    """The vectors of every collection that was asked for, resident on the device; one a process, for all threads.

    Every search first asks the store for the collection's version, one short round trip that searches in flight
    share: a document that was deleted before the question was asked is never returned. A listener brings changes in
    as they are announced, so that a question seldom waits for more than that answer.

    Args:
        store: where collections come from.
        device: `cpu`, `cuda`, or `auto` for CUDA where there is one.
        fingerprint: of the embedder that the queries come from; what another one wrote is not searched: the
            generation before a change of the embedder is, while it is there. "" asks no such question.
        check: called with a collection's name and the generation that is about to be loaded; raises to refuse it.

    Raises:
        SettingError: the device is unknown, or `cuda` is asked for and there is none.
    """

    def __init__(
        self, store: Store, *, device: str = "auto", fingerprint: str = "", check: Check = _no_check
    ) -> None:
        self._store = store
        self._device = resolve(device)
        self._fingerprint = fingerprint
        self._check = check
        self._collections: dict[str, _Collection] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._listener: threading.Thread | None = None

    def search(
        self,
        collection: str,
        queries: npt.NDArray[np.float32],
        *,
        k: int,
        min_score: float = -1.0,
        where: Filter | None = None,
        questions: Sequence[str] | None = None,
    ) -> list[list[Hit]]:
        """Return the k best chunks of each query by cosine, best first; ties by document name, then by ordinal.

        With `questions`, chunks that share words with the question, and above all those that hold a rare name of it
        (a form, a section, a ticker), are fused in by rank; see `lexical` and `fusion`.

        Args:
            collection: its name.
            queries: (q, d) float32; scaled to length 1 where they are not.
            k: the most hits a query.
            min_score: hits of a lower cosine are left out, unless they hold a rare name of the question.
            where: which documents may answer; None for all.
            questions: the words of each query; None to go by the vectors alone.

        Raises:
            UnknownCollection: nothing was ever ingested under this name.
            EmbedderMismatch: another embedder wrote the collection.
            VectorRefused: wrong dimension, a zero vector, NaN or infinity.
            CollectionTooLarge: the collection does not fit into the memory of the device.
            StoreUnavailable: Redis is away; what is in memory may have been deleted, so it is not used.
        """
        units = unit_rows("query", np.atleast_2d(np.asarray(queries, dtype=np.float32)))
        if k < 1 or len(units) == 0:
            return [[] for _ in units]
        words = None if questions is None else tuple(questions)
        if words is not None and len(words) != len(units):
            raise ValueError(f"{len(words)} questions for {len(units)} queries: one each is needed")
        found = self._collection(collection).search(_Search(units, words, k, min_score, where))
        if isinstance(found, VectorRefused):
            raise found
        return found

    def load_all(self) -> None:
        """Load every collection now instead of at its first search; one that cannot be is left to it."""
        for name in self._store.collections():
            with suppress(StoreError):
                self._collection(name).load()

    def close(self) -> None:
        """Stop listening for changes and let go of the vectors."""
        self._closed.set()
        if self._listener is not None:
            self._listener.join()
        self._collections.clear()

    def _collection(self, name: str) -> _Collection:
        with self._lock:
            if self._listener is None:
                self._listener = threading.Thread(target=self._listen, name="index-listener", daemon=True)
                self._listener.start()
            if name not in self._collections:
                self._collections[name] = _Collection(self._store, name, self._device, self._fingerprint, self._check)
            return self._collections[name]

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                self._store.listen(self._announced, self._closed.is_set)
            except StoreUnavailable:
                self._closed.wait(_RECONNECT_SECONDS)

    def _announced(self, name: str) -> None:
        collection = self._collections.get(name)
        if collection is not None:
            collection.refresh()


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """What one call of `Index.search` wants."""

    queries: npt.NDArray[np.float32]
    questions: tuple[str, ...] | None
    k: int
    min_score: float
    where: Filter | None

    @property
    def depth(self) -> int:
        """How many of the nearest chunks are looked at."""
        return self.k if self.questions is None else max(self.k, _FUSED_HITS)


class _Collection:
    """One collection: its resident vectors, and the searches that wait for them."""

    def __init__(self, store: Store, name: str, device: str, fingerprint: str, check: Check) -> None:
        self._store = store
        self._name = name
        self._device = device
        self._fingerprint = fingerprint
        self._check = check
        self._resident: Resident | None = None
        # The live generation when the resident one was chosen: another one is a reason to choose again.
        self._live = ""
        self._lock = threading.Lock()
        self.search: Coalescer[_Search, Found | VectorRefused] = Coalescer(self._serve, limit=_BATCH_CALLS)

    def load(self) -> None:
        """Take over the collection as the store has it now; raises StoreError."""
        with self._lock:
            self._current()

    def refresh(self) -> None:
        """Take over what changed, if anything is resident; a failure is left to the next search to report."""
        with self._lock:
            if self._resident is not None:
                with suppress(StoreError):
                    self._current()

    def _serve(self, searches: Sequence[_Search]) -> list[Found | VectorRefused]:
        """Answer all searches from one state, those with the same filter in one pass."""
        with self._lock:
            resident = self._current()
            answers: list[Found | VectorRefused] = [[] for _ in searches]
            for where, members in self._groups(searches, resident.generation.dimension, answers).items():
                queries = np.concatenate([searches[member].queries for member in members])
                depth = max(searches[member].depth for member in members)
                nearest = iter(resident.search(queries, depth, where))
                for member in members:
                    wanted = searches[member]
                    answers[member] = [
                        self._answer(resident, wanted, number, next(nearest)[: wanted.depth])
                        for number in range(len(wanted.queries))
                    ]
            return answers

    def _answer(self, resident: Resident, wanted: _Search, number: int, nearest: list[Hit]) -> list[Hit]:
        """The best hits of one query: the nearest alone, or fused with those that its question's words find."""
        near = [hit for hit in nearest if hit.score >= wanted.min_score]
        if wanted.questions is None:
            return near[: wanted.k]
        query = wanted.queries[number]
        worded, named = resident.search_words(wanted.questions[number], query, _FUSED_HITS, wanted.where)
        worded = [hit for hit in worded if hit.score >= wanted.min_score]
        return fuse([(1.0, near), (_WORDS_WEIGHT, worded), (_NAMES_WEIGHT, named)], wanted.k)

    def _groups(
        self, searches: Sequence[_Search], dimension: int, answers: list[Found | VectorRefused]
    ) -> dict[Filter | None, list[int]]:
        """Positions of the searches by filter; one whose vectors do not fit is refused, alone."""
        groups: dict[Filter | None, list[int]] = {}
        for member, search in enumerate(searches):
            if search.queries.shape[1] == dimension:
                groups.setdefault(search.where, []).append(member)
            else:
                answers[member] = VectorRefused(
                    f"a query of {search.queries.shape[1]} numbers; collection {self._name!r} has {dimension}"
                )
        return groups

    def _current(self) -> Resident:
        """The collection as the store is now: what changed since the last look is fetched first."""
        resident = self._resident
        if resident is not None:
            live, version = self._store.version(self._name, resident.generation.id)
            if (live, version) == (self._live, resident.version):
                return resident
            self._resident = None  # nobody sees it again before it is whole
            if live != self._live or not self._caught_up(resident):
                resident = None  # before the new one is loaded: two generations may not fit
        self._resident = resident or self._loaded()
        return self._resident

    def _loaded(self) -> Resident:
        for _ in range(_LOADS):
            self._live, _ = self._store.version(self._name, "")
            generation = self._store.generation(self._name, fingerprint=self._fingerprint)
            self._check(self._name, generation)
            resident = Resident(generation, self._device)
            if self._caught_up(resident):
                return resident
        raise StoreUnavailable(f"collection {self._name!r} is being rebuilt over and over: ask again later")

    def _caught_up(self, resident: Resident) -> bool:
        """Apply the change log to its end; False where the generation is gone.

        At the end every document is as the store had it at one moment, that of the last page.
        """
        while True:
            try:
                page = self._store.changes(self._name, resident.generation, resident.version)
            except UnknownCollection:
                return False
            resident.apply(page)
            if resident.version == page.version:
                return True
