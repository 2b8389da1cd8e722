"""Documents in, the same documents with all their vectors out: read in threads while others are embedded.

Batches are formed across documents: of a window of chunks the embedder takes those of like length together, however
many files they come from. At most two windows and the documents in the readers' hands are in memory at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from worker.records import Chunk
from worker.stored import DocumentInfo

Vectors = npt.NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

# Enough for batches of like length; few enough that a run which is stopped, or dies, has little to do again.
WINDOW: Final = 256
# Each is a process that takes a core; more than this only fill the window faster than it is embedded.
READERS: Final = min(4, os.cpu_count() or 1)
# A run that says nothing for long is taken for dead.
PULSE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of one document before it is embedded."""

    info: DocumentInfo
    chunks: Sequence[Chunk] = ()


Embedded = tuple[Reading, Vectors]


def embedded(
    reads: Iterable[Callable[[], Reading]],
    embed: Embed,
    *,
    pulse: Callable[[], None] = lambda: None,
    window: int = WINDOW,
    readers: int = READERS,
    seconds: float = PULSE_SECONDS,
) -> Iterator[Embedded]:
    """Yield each document once its vectors, (chunks, d) float32 unit rows, are all there; the order is free.

    `reads` are called in `readers` threads, `embed` in one of its own; what they raise is raised here. `pulse` is
    called at least every so many `seconds`, also while a single document takes minutes.
    """
    line = _Line(window, seconds)
    todo = iter(reads)
    with ThreadPoolExecutor(readers, "reader") as pool, ThreadPoolExecutor(1, "embedder") as embedder:
        try:
            while True:
                while line.has_room(2 * readers) and (read := next(todo, None)):
                    line.reading.add(pool.submit(read))
                if not line.embedding and line.is_worth_embedding():
                    line.embedding = embedder.submit(_embed, line.take(), embed, window)
                if not line.reading and not line.embedding:
                    return
                pulse()
                yield from line.next_done()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # after a failure nobody wants what is not begun


class _Line:
    """What is between the readers and the store."""

    def __init__(self, window: int, seconds: float) -> None:
        self._window = window
        self._seconds = seconds
        self._waiting: list[Reading] = []
        self.reading: set[Future[Reading]] = set()
        self.embedding: Future[list[Embedded]] | None = None

    def has_room(self, most: int) -> bool:
        return len(self.reading) < most and self._chunks() < self._window

    def is_worth_embedding(self) -> bool:
        return bool(self._waiting) and (self._chunks() >= self._window or not self.reading)

    def take(self) -> list[Reading]:
        taken, self._waiting = self._waiting, []
        return taken

    def next_done(self) -> list[Embedded]:
        """Wait until a document is read or a window is embedded, but not for long; return what is embedded."""
        running: set[Future[Any]] = {*self.reading}
        if self.embedding:
            running.add(self.embedding)
        done, _ = wait(running, timeout=self._seconds, return_when=FIRST_COMPLETED)
        read = self.reading & done
        self.reading -= read
        self._waiting += [future.result() for future in read]
        if self.embedding in done:
            finished, self.embedding = self.embedding, None
            return finished.result()
        return []

    def _chunks(self) -> int:
        """A document without chunks takes room as well: a folder of such must not pile up."""
        return sum(max(1, len(reading.chunks)) for reading in self._waiting)


def _embed(readings: list[Reading], embed: Embed, window: int) -> list[Embedded]:
    texts = [chunk.embedded_text for reading in readings for chunk in reading.chunks]
    parts = [embed(texts[start : start + window]) for start in range(0, len(texts), window)]
    vectors = np.concatenate(parts) if parts else np.empty((0, 0), dtype=np.float32)
    ends = list(accumulate(len(reading.chunks) for reading in readings))
    return list(zip(readings, np.split(vectors, ends[:-1]), strict=True))
