"""The exact best rows of a matrix, against float64 brute force."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.errors import CollectionTooLarge
from worker.quantized import int8_pays
from worker.search_kernel import Matrix

DIMENSION = 48


def units(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def random_units(count: int, seed: int, dimension: int = DIMENSION) -> np.ndarray:
    return units(np.random.default_rng(seed).standard_normal((count, dimension)))


def clustered_units(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(1, count // 50), DIMENSION))
    return units(centres[rng.integers(0, len(centres), count)] + 0.3 * rng.standard_normal((count, DIMENSION)))


def filled(vectors: np.ndarray, *, two_pass: bool | None = True) -> Matrix:
    matrix = Matrix(vectors.shape[1], "cpu", two_pass=two_pass)
    matrix.resize(len(vectors))
    matrix.write(np.arange(len(vectors)), vectors)
    return matrix


def assert_exact(
    matrix: Matrix, vectors: np.ndarray, queries: np.ndarray, k: int, allowed: np.ndarray | None = None
) -> None:
    rows = np.arange(len(vectors)) if allowed is None else np.flatnonzero(allowed)
    truth = queries.astype(np.float64) @ vectors[rows].astype(np.float64).T
    for line, (found, scores) in zip(truth, matrix.best(queries, k, allowed), strict=True):
        best = np.sort(line)[::-1][:k]
        np.testing.assert_allclose(np.sort(scores)[::-1][: len(best)], best, rtol=0, atol=1e-12)
        assert len(found) >= len(best)
        assert len(set(found.tolist())) == len(found)
        assert set(rows[line > best[-1] + 1e-12].tolist()) <= set(found.tolist()) if len(best) else len(found) == 0
        np.testing.assert_allclose(scores, line[np.searchsorted(rows, found)], rtol=0, atol=1e-12)


@pytest.mark.parametrize("count", [1, 31, 32, 33, 4095, 4096, 40_000])
@pytest.mark.parametrize("queries", [1, 5, 70])
@pytest.mark.parametrize("two_pass", [True, False])
def test_the_best_rows_are_those_of_brute_force_at_any_size(count: int, queries: int, two_pass: bool):
    vectors = clustered_units(count, seed=count)
    assert_exact(filled(vectors, two_pass=two_pass), vectors, clustered_units(queries, seed=queries), k=10)


def test_both_paths_give_the_same_bits():
    vectors, queries = clustered_units(9_000, seed=1), random_units(40, seed=2)
    two_passes, plain = (filled(vectors, two_pass=two_pass).best(queries, 10) for two_pass in (True, False))
    for (rows, scores), (plain_rows, plain_scores) in zip(two_passes, plain, strict=True):
        order, plain_order = np.argsort(rows), np.argsort(plain_rows)
        assert rows[order].tolist() == plain_rows[plain_order].tolist()
        assert scores[order].tolist() == plain_scores[plain_order].tolist()


def test_results_depend_neither_on_the_batch_nor_on_the_thread_count():
    vectors, queries = clustered_units(9_000, seed=3), random_units(33, seed=4)
    matrix = filled(vectors)
    together = matrix.best(queries, 10)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        alone = [matrix.best(query[None], 10)[0] for query in queries]
    finally:
        torch.set_num_threads(threads)
    for (rows, scores), (row, score) in zip(together, alone, strict=True):
        assert dict(zip(rows, scores, strict=True)) == dict(zip(row, score, strict=True))


def test_every_tie_of_the_last_place_is_returned():
    vectors = random_units(6_000, seed=5)
    vectors[100:900] = vectors[7]
    rows, scores = filled(vectors).best(vectors[7:8], 10)[0]
    assert set(rows.tolist()) == {7, *range(100, 900)}
    assert len(set(scores.tolist())) == 1


def test_a_matrix_of_one_repeated_vector_is_searched_within_bounded_memory():
    vectors = np.repeat(random_units(1, seed=6), 20_000, axis=0)
    rows, _ = filled(vectors).best(vectors[:1], 3)[0]
    assert len(rows) == 20_000


def test_freak_rows_with_one_huge_component_do_not_spoil_exactness():
    vectors = random_units(8_000, seed=7)
    vectors[::40] = units(vectors[::40] + 40 * np.eye(DIMENSION, dtype=np.float32)[3])
    assert_exact(filled(vectors), vectors, random_units(9, seed=8), k=10)


def test_rows_that_are_all_near_one_another_stay_exact():
    rng = np.random.default_rng(9)
    vectors = units(np.ones(DIMENSION) + 0.01 * rng.standard_normal((8_000, DIMENSION)))
    assert_exact(filled(vectors), vectors, vectors[:9], k=10)


@pytest.mark.parametrize("share", [0.0, 0.0005, 0.3, 0.999])
@pytest.mark.parametrize("two_pass", [True, False])
def test_rows_that_may_not_answer_never_do(share: float, two_pass: bool):
    vectors = clustered_units(9_000, seed=10)
    allowed = np.random.default_rng(11).random(9_000) < share
    matrix = filled(vectors, two_pass=two_pass)
    assert_exact(matrix, vectors, random_units(5, seed=12), k=10, allowed=allowed)


def test_codes_are_not_used_where_torchs_int8_product_is_wrong():
    """With one number a row it is; the check at start finds that out."""
    assert not int8_pays(1)
    vectors = random_units(5_000, seed=13, dimension=1)
    assert_exact(filled(vectors, two_pass=None), vectors, random_units(3, seed=14, dimension=1), k=5)


@pytest.mark.parametrize("dimension", [2, 7, 100, 384, 1025])
def test_any_dimension_works(dimension: int):
    vectors = random_units(5_000, seed=13, dimension=dimension)
    assert_exact(filled(vectors), vectors, random_units(3, seed=14, dimension=dimension), k=5)


@pytest.mark.parametrize("k", [1, 100, 5_000, 10_000])
def test_any_number_of_best_rows_may_be_asked_for(k: int):
    vectors = random_units(5_000, seed=15)
    assert_exact(filled(vectors), vectors, random_units(2, seed=16), k=k)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), steps=st.lists(st.integers(-3_000, 6_000), min_size=1, max_size=6))
def test_growing_shrinking_and_overwriting_leave_no_trace(seed: int, steps: list[int]):
    """A mirror in numpy gets the same changes; sizes cross the limit between the two paths both ways."""
    rng = np.random.default_rng(seed)
    matrix, mirror = Matrix(DIMENSION, "cpu", two_pass=True), np.empty((0, DIMENSION), np.float32)
    for step in steps:
        size = max(0, len(mirror) + step)
        fresh = np.arange(len(mirror), size)
        matrix.resize(size)
        mirror = np.concatenate([mirror[:size], np.empty((len(fresh), DIMENSION), np.float32)])
        places = np.concatenate([fresh, rng.permutation(size - len(fresh))[:7]])
        mirror[places] = units(rng.standard_normal((len(places), DIMENSION)))
        matrix.write(places, mirror[places])
        if size > 20:
            source, target = np.arange(size - 5, size), np.arange(5)
            matrix.move(source, target)
            mirror[target] = mirror[source]
        if size:
            assert_exact(matrix, mirror, random_units(3, seed=seed % 1000), k=10)


def test_what_does_not_fit_is_refused_with_the_numbers():
    with pytest.raises(CollectionTooLarge, match=r"100000000000 vectors of 48 numbers need .* GB and .* GB is free"):
        Matrix(DIMENSION, "cpu").resize(100_000_000_000)
