"""The threshold follows the model."""

from __future__ import annotations

import numpy as np
import pytest

from worker.calibration import PAIRS, threshold
from worker.embedding import Embedder


def units(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def vectors(embedder: Embedder) -> tuple[np.ndarray, np.ndarray]:
    questions, passages = zip(*PAIRS, strict=True)
    return embedder.embed_queries(questions), embedder.embed_passages(passages)


def test_the_bundled_embedders_threshold_is_the_documented_one(embedder: Embedder):
    assert embedder.min_score == pytest.approx(0.315, abs=0.001)


def test_pairs_are_nearer_to_their_own_than_to_any_other(vectors: tuple[np.ndarray, np.ndarray]):
    questions, passages = vectors
    assert (questions @ passages.T).argmax(axis=1).tolist() == list(range(len(PAIRS)))


def test_share_moves_from_unrelated_to_related(vectors: tuple[np.ndarray, np.ndarray]):
    none, half, full = (threshold(*vectors, share=share) for share in (0.0, 0.5, 1.0))
    assert none < half < full
    assert half == pytest.approx((none + full) / 2)


def test_a_model_whose_cosines_are_all_high_gets_a_high_threshold(vectors: tuple[np.ndarray, np.ndarray]):
    """A component that all texts share lifts every cosine, as some models do."""
    shared = np.full((len(PAIRS), 1), 1.5)
    questions, passages = (units(np.hstack([rows, shared])) for rows in vectors)
    lifted = threshold(questions, passages)
    cosines = questions @ passages.T
    assert lifted > 0.69
    assert lifted < np.diag(cosines).mean()


def test_questions_on_the_subject_pass_and_others_do_not(embedder: Embedder):
    passage = embedder.embed_passages(["The plan matches half of what an employee contributes, up to 6 % of pay."])
    on, off = embedder.embed_queries(["How much does the employer match?", "Who won the chess championship?"])
    assert on @ passage[0] > embedder.min_score > off @ passage[0]
