"""Texts in, how alike they are out: 0 as texts on different subjects, 1 the same, whatever the embedder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from worker.calibration import unrelated

_REMEMBERED: Final = 4096
"""So many texts, about 6 MB with 384 dimensions: the words of questions and the sentences of popular passages."""


class PassageEmbedder(Protocol):
    """What `worker.embedding.Embedder` offers."""

    def embed_passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return float32 unit vectors of shape (n, d)."""
        ...


class Likeness:
    """Compares texts by an embedder's vectors, and remembers those of some; safe to share among threads."""

    def __init__(self, embedder: PassageEmbedder, *, remembered: int = _REMEMBERED) -> None:
        self._embedder = embedder
        self._remembered = remembered
        self._known: dict[str, npt.NDArray[np.float32]] = {}

    def __call__(self, texts: Sequence[str], others: Sequence[str]) -> list[list[float]]:
        """Return (n, m) likenesses of n texts to m others, at most 1; raises what the embedder raises."""
        if not (texts and others):
            return [[] for _ in texts]
        vectors = self._vectors([*texts, *others])
        cosines = vectors[: len(texts)] @ vectors[len(texts) :].T
        scaled: list[list[float]] = ((cosines - self._floor) / (1 - self._floor)).tolist()
        return scaled

    @cached_property
    def _floor(self) -> float:
        return unrelated(self._embedder.embed_passages)

    def _vectors(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        known = self._known
        vectors = {text: known[text] for text in texts if text in known}
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        if missing:
            found = dict(zip(missing, self._embedder.embed_passages(missing), strict=True))
            vectors.update(found)
            self._remember(found)
        return np.stack([vectors[text] for text in texts])

    def _remember(self, found: dict[str, npt.NDArray[np.float32]]) -> None:
        """Begin anew when full: what is asked for again is soon known again."""
        if len(self._known) + len(found) > self._remembered:
            self._known = {}
        self._known.update(found)
