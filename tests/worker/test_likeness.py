"""Likeness means the same for every embedder, and no text is embedded twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from worker.embedding import Embedder
from worker.likeness import Likeness


class Counting:
    """The real embedder; what it was asked for is written down."""

    def __init__(self, embedder: Embedder, lift: float = 0.0) -> None:
        self._embedder = embedder
        self._lift = lift
        self.texts: list[str] = []

    def embed_passages(self, texts):
        self.texts += texts
        vectors = self._embedder.embed_passages(texts)
        lifted = np.hstack([vectors, np.full((len(vectors), 1), self._lift, dtype=np.float32)])
        return (lifted / np.linalg.norm(lifted, axis=1, keepdims=True)).astype(np.float32)


def test_the_same_text_is_wholly_alike_and_another_subject_hardly(embedder: Embedder):
    compare = Likeness(embedder)
    same, apart = compare(["How do bees make honey?"], ["How do bees make honey?", "Interest is deducted."])[0]
    assert same == pytest.approx(1, abs=0.01)
    assert abs(apart) < 0.15


def test_an_embedder_whose_cosines_are_all_high_finds_the_same_texts_alike(embedder: Embedder):
    """A component that all texts share lifts every cosine, as some models do."""
    words = ["founded", "provided", "seller", "payment"]
    plain, lifted = (Likeness(Counting(embedder, lift))(["established"], words)[0] for lift in (0.0, 1.5))
    assert lifted == pytest.approx(plain, abs=0.03)


def test_a_text_is_embedded_once(embedder: Embedder):
    counting = Counting(embedder)
    compare = Likeness(counting)
    first = compare(["fee", "charge"], ["fee", "rain"])
    assert compare(["fee", "charge"], ["fee", "rain"]) == first
    assert counting.texts.count("fee") == 1


def test_what_is_remembered_is_bounded(embedder: Embedder):
    compare = Likeness(embedder, remembered=4)
    for start in range(0, 12, 3):
        compare([f"word {start}", f"word {start + 1}"], [f"word {start + 2}"])
        assert len(compare._known) <= 4


def test_nothing_is_compared_with_nothing(embedder: Embedder):
    compare = Likeness(embedder)
    assert compare([], ["fee"]) == []
    assert compare(["fee"], []) == [[]]


def test_threads_get_what_one_would(embedder: Embedder):
    compare = Likeness(embedder)
    words = [f"word {number}" for number in range(40)]
    alone = [Likeness(embedder)([word], words)[0] for word in words]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda word: compare([word], words)[0], words))
    assert np.allclose(alone, together, atol=0.01)
