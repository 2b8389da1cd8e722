"""One collection held in memory: which row of the matrix is which chunk of which document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from worker.devices import require
from worker.filters import Filter
from worker.lexical import LexicalIndex, Scored
from worker.records import Hit
from worker.search_kernel import Floats, Mask, Matrix, Places, Scores
from worker.stored import ChangePage, DocumentInfo, Generation, PackedChunks, StoredDocument

# Filters whose documents are remembered; a byte a document each.
_KEPT_MASKS: Final = 16
_NO_ROWS: Final = np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class _Held:
    """A document with rows: `rows[ordinal]` is where the vector of its chunk `ordinal` lies."""

    info: DocumentInfo
    chunks: PackedChunks
    rows: Places

    def texts(self) -> Iterator[str]:
        """The texts that were embedded, in order."""
        return (self.chunks[ordinal].embedded_text for ordinal in range(len(self.chunks)))


class Resident:
    """The documents of one generation as of one version; must not be changed while it is searched.

    Rows stay dense: those of a document that shrinks or goes away are filled from the end of the matrix.

    Raises:
        CollectionTooLarge: the generation does not fit into the memory of the device.
    """

    def __init__(self, generation: Generation, device: str) -> None:
        _require_memory(generation, device)
        self.generation = generation
        self.version = 0
        self._masks: dict[Filter, Mask] = {}
        self._words: LexicalIndex | None = None
        self._matrix = Matrix(generation.dimension, device, room=generation.rows)
        self._held: dict[int, _Held] = {}
        self._numbers: dict[str, int] = {}
        self._next_number = 0
        self._owner = np.empty(generation.rows, dtype=np.int64)
        self._ordinal = np.empty(generation.rows, dtype=np.int64)

    @property
    def size(self) -> int:
        """The number of vectors."""
        return self._matrix.size

    def apply(self, page: ChangePage) -> None:
        """Bring the documents of the page to what they are now; the cost grows with the page only."""
        self._masks.clear()
        placed = [(held, document) for document in page.documents if (held := self._place(document))]
        if placed:
            # Only now: placing a later document may have moved the rows of an earlier one.
            rows = np.concatenate([held.rows for held, _ in placed])
            self._matrix.write(rows, np.concatenate([document.vectors for _, document in placed]))
        if page.documents:
            self.version = page.documents[-1].version

    def search(self, queries: Floats, k: int, where: Filter | None = None) -> list[list[Hit]]:
        """Return the k best hits of each query, best first; ties by document name, then by ordinal."""
        if self._matrix.size == 0:
            return [[] for _ in queries]
        allowed = self._allowed_rows(where) if where else None
        return [self._hits(rows, scores, k) for rows, scores in self._matrix.best(queries, k, allowed)]

    def search_words(
        self, question: str, query: Floats, most: int, where: Filter | None = None
    ) -> tuple[list[Hit], list[Hit]]:
        """Return the chunks that share words with the question, and those that hold a rare name of it, best first.

        The first question reads all texts once, some seconds for a hundred thousand chunks; after that the words
        follow the changes. `query` (d,) is the question's vector: hits carry their cosine to it, as all hits do.
        """
        if self._words is None:
            self._words = LexicalIndex()
            for number, held in self._held.items():
                self._words.put(number, held.texts())
        allowed = None if where is None else self._allowed_documents(where)
        named = [entry for entry in self._words.by_names(question) if allowed is None or allowed[entry[1]]]
        numbers = None if allowed is None else np.flatnonzero(allowed).tolist()
        return self._scored(self._words.by_words(question, most, numbers), query), self._scored(named, query)

    def _scored(self, found: list[Scored], query: Floats) -> list[Hit]:
        """Hits in the order of their BM25 scores; ties by document name, then by ordinal."""
        entries = [(score, self._held[number], ordinal) for score, number, ordinal in found]
        entries.sort(key=lambda entry: (-entry[0], entry[1].info.name, entry[2]))
        rows = np.array([held.rows[ordinal] for _, held, ordinal in entries], dtype=np.int64)
        cosines = self._matrix.cosines(query[None], np.zeros_like(rows), rows).tolist()
        return [
            Hit(held.info.name, ordinal, cosine, held.chunks[ordinal])
            for (_, held, ordinal), cosine in zip(entries, cosines, strict=True)
        ]

    def _place(self, document: StoredDocument) -> _Held | None:
        """Give the document as many rows as it has chunks; None where it has none."""
        number = self._numbers.pop(document.name, None)
        rows = _NO_ROWS if number is None else self._held.pop(number).rows
        count = len(document.chunks)
        if self._words is not None and number is not None:
            self._words.remove(number)
        rows = self._give_back(rows, count) if count < len(rows) else self._take(rows, count)
        if count == 0 or document.info is None:
            return None
        if number is None:
            number = self._next_number
            self._next_number += 1
        self._numbers[document.name] = number
        self._owner[rows], self._ordinal[rows] = number, np.arange(count)
        self._held[number] = held = _Held(document.info, document.chunks, rows)
        if self._words is not None:
            self._words.put(number, held.texts())
        return held

    def _take(self, rows: Places, count: int) -> Places:
        """Add fresh rows at the end of the matrix until there are `count`."""
        before = self._matrix.size
        size = before + count - len(rows)
        self._matrix.resize(size)
        if size > len(self._owner):
            self._owner = np.resize(self._owner, self._matrix.room)
            self._ordinal = np.resize(self._ordinal, self._matrix.room)
        return np.concatenate([rows, np.arange(before, size)])

    def _give_back(self, rows: Places, count: int) -> Places:
        """Keep the first `count` rows; move rows from the end of the matrix into the others."""
        kept, freed = rows[:count].copy(), rows[count:]
        size = self._matrix.size - len(freed)
        moving = np.setdiff1d(np.arange(size, self._matrix.size), freed, assume_unique=True)
        holes = freed[freed < size]
        for source, hole in zip(moving.tolist(), holes.tolist(), strict=True):
            owner, ordinal = int(self._owner[source]), int(self._ordinal[source])
            moved = self._held[owner].rows if owner in self._held else kept
            moved[ordinal] = hole
            self._owner[hole], self._ordinal[hole] = owner, ordinal
        self._matrix.move(moving, holes)
        self._matrix.resize(size)
        return kept

    def _allowed_rows(self, where: Filter) -> Mask:
        return self._allowed_documents(where)[self._owner[: self._matrix.size]]

    def _allowed_documents(self, where: Filter) -> Mask:
        """Which documents, by number, may answer; kept until something changes."""
        if where not in self._masks:
            if len(self._masks) >= _KEPT_MASKS:
                self._masks.clear()
            mask = np.zeros(self._next_number, dtype=np.bool_)
            mask[[number for number, held in self._held.items() if where.allows(held.info)]] = True
            self._masks[where] = mask
        return self._masks[where]

    def _hits(self, rows: Places, scores: Scores, k: int) -> list[Hit]:
        owners, ordinals = self._owner[rows].tolist(), self._ordinal[rows].tolist()
        found = sorted(
            (-score, self._held[owner].info.name, ordinal, owner)
            for owner, ordinal, score in zip(owners, ordinals, scores.tolist(), strict=True)
        )
        return [
            Hit(name, ordinal, -negated, self._held[owner].chunks[ordinal])
            for negated, name, ordinal, owner in found[:k]
        ]


def _require_memory(generation: Generation, device: str) -> None:
    vectors = Matrix.bytes_for(generation.rows, generation.dimension, device)
    texts = max(0, generation.bytes - 4 * generation.rows * generation.dimension)
    what = f"{generation.rows} vectors of {generation.dimension} numbers"
    if device == "cpu":
        require(vectors + texts, device, f"{what} and their texts")
    else:
        require(vectors, device, what)
        require(texts, "cpu", f"the texts of {what}")
