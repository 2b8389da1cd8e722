"""A sample of stored chunks, embedded again: an index that this embedder did not write is found before it is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from worker.store import Store, mismatch
from worker.stored import Generation

_SAMPLE: Final = 16
# Another number format or device moves vectors less than this, a prompt of two characters more (medians of .99995 and
# .9971 with all-MiniLM-L6-v2). The median decides: one odd text must not stop a collection from answering.
_SAME_COSINE: Final = 0.999


class PassageEmbedder(Protocol):
    """What the check needs of `worker.embedding.Embedder`."""

    def embed_passages(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return float32 unit vectors of shape (n, d)."""
        ...


def require_same_vectors(store: Store, embedder: PassageEmbedder, collection: str, generation: Generation) -> None:
    """Compare stored vectors with those that the embedder gives for the same texts now.

    The fingerprint tells settings apart; this also finds another version of a library, or a broken device.

    Raises:
        EmbedderMismatch: they have moved; the message names the command that rebuilds.
    """
    sample = store.sample(collection, generation, _SAMPLE)
    if not sample:
        return
    stored = np.stack([vector for _, vector in sample])
    now = embedder.embed_passages([chunk.embedded_text for chunk, _ in sample])
    if stored.shape != now.shape or np.median(np.sum(stored * now, axis=1)) < _SAME_COSINE:
        raise mismatch(collection)
