"""Search over a real store: exact, and never behind it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worker.errors import CollectionTooLarge, StoreUnavailable, UnknownCollection, VectorRefused
from worker.index import Filter, Index
from worker.records import Chunk, Hit
from worker.store import DocumentInfo, Store

DIMENSION = 16
Answer = list[tuple[str, int]]


def units(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)


def random_units(count: int, seed: int) -> np.ndarray:
    return units(np.random.default_rng(seed).standard_normal((count, DIMENSION)))


def put(store: Store, name: str, rows: np.ndarray, generation: str = "", **more: object) -> None:
    info = DocumentInfo(name, "h", "indexed", chunks=len(rows), **more)  # type: ignore[arg-type]
    chunks = [Chunk(f"{name}#{i}", i, i + 1) for i in range(len(rows))]
    store.replace("c", info, chunks, rows, generation=generation)


def brute_force(documents: dict[str, np.ndarray], query: np.ndarray, k: int) -> Answer:
    """The k best (document, ordinal) by float64 cosine, ties by name, then by ordinal."""
    scored = [
        (-float((row.astype(np.float64) * query.astype(np.float64)).sum()), name, ordinal)
        for name, rows in documents.items()
        for ordinal, row in enumerate(rows)
    ]
    return [(name, ordinal) for _, name, ordinal in sorted(scored)[:k]]


def places(hits: list[Hit]) -> Answer:
    return [(hit.document, hit.ordinal) for hit in hits]


@pytest.fixture
def store(redis_url: str) -> Iterator[Store]:
    store = Store.connect(redis_url)
    store.ensure("c", fingerprint="f", dimension=DIMENSION)
    yield store
    store.close()


@pytest.fixture
def index(store: Store) -> Iterator[Index]:
    index = Index(store, device="cpu")
    yield index
    index.close()


def test_hits_carry_their_chunk_and_their_cosine(store: Store, index: Index):
    rows = random_units(3, seed=1)
    put(store, "a.txt", rows)
    (hits,) = index.search("c", rows[1:2], k=2)
    assert hits[0] == Hit("a.txt", 1, pytest.approx(1.0, abs=1e-6), Chunk("a.txt#1", 1, 2))
    assert hits[0].score > hits[1].score


def test_an_empty_collection_has_no_hits_and_an_unknown_one_is_an_error(index: Index):
    assert index.search("c", random_units(2, seed=1), k=3) == [[], []]
    with pytest.raises(UnknownCollection):
        index.search("nowhere", random_units(1, seed=1), k=3)


def test_documents_are_found_as_soon_as_they_are_stored_and_never_after_they_are_removed(store: Store, index: Index):
    rows = random_units(200, seed=2)
    for number, row in enumerate(rows):
        put(store, f"{number}.txt", row[None])
        assert index.search("c", row[None], k=1)[0][0].document == f"{number}.txt"
    for number, row in enumerate(rows):
        store.remove("c", f"{number}.txt")
        assert f"{number}.txt" not in {hit.document for hit in index.search("c", row[None], k=5)[0]}


def test_ties_are_broken_by_name_then_by_ordinal(store: Store, index: Index):
    row = random_units(1, seed=3)
    for name in ("b", "a", "c"):
        put(store, name, np.repeat(row, 2, axis=0))
    (hits,) = index.search("c", row, k=5)
    assert places(hits) == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("c", 0)]


def test_hits_below_the_minimum_are_left_out(store: Store, index: Index):
    put(store, "a.txt", np.eye(3, DIMENSION, dtype=np.float32))
    (hits,) = index.search("c", np.eye(1, DIMENSION, dtype=np.float32), k=3, min_score=0.5)
    assert places(hits) == [("a.txt", 0)]


@pytest.mark.parametrize("bad", [np.zeros((1, DIMENSION)), np.full((1, DIMENSION), np.nan), np.ones((1, 3))])
def test_a_query_that_is_no_vector_of_the_collection_is_refused(store: Store, index: Index, bad: np.ndarray):
    put(store, "a.txt", random_units(1, seed=4))
    with pytest.raises(VectorRefused):
        index.search("c", bad, k=1)


def test_what_is_in_memory_is_not_used_while_the_store_is_away(store: Store):
    put(store, "a.txt", random_units(1, seed=5))
    away = Store.connect("redis://127.0.0.1:1")
    index = Index(away, device="cpu")
    with pytest.raises(StoreUnavailable):
        index.search("c", random_units(1, seed=5), k=1)
    index.close()
    away.close()


def test_a_collection_that_does_not_fit_is_refused_before_anything_is_loaded(
    store: Store, index: Index, redis_url: str
):
    put(store, "a.txt", random_units(1, seed=6))
    with redis.Redis.from_url(redis_url) as client:
        client.hset("rag:{c}:about", f"{store.generation('c').id}:rows", 10**12)
    with pytest.raises(CollectionTooLarge, match=r"1000000000000 vectors .* need [\d.]+ GB and [\d.]+ GB is free"):
        index.search("c", random_units(1, seed=6), k=1)


FILTERED = {
    "taxes/2023/a.txt": {"modified_ns": 10, "tags": ("tax", "old")},
    "taxes/2024/b.txt": {"modified_ns": 20, "tags": ("tax",)},
    "taxes.txt": {"modified_ns": 30, "tags": ()},
    "plans/c.txt": {"modified_ns": 40, "tags": ("old",)},
}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Filter(), set(FILTERED)),
        (Filter(documents=frozenset({"taxes.txt", "nowhere.txt"})), {"taxes.txt"}),
        (Filter(folder="taxes"), {"taxes/2023/a.txt", "taxes/2024/b.txt"}),
        (Filter(folder="taxes/2024/"), {"taxes/2024/b.txt"}),
        (Filter(modified_from_ns=20, modified_until_ns=40), {"taxes/2024/b.txt", "taxes.txt"}),
        (Filter(tags=frozenset({"tax", "old"})), {"taxes/2023/a.txt"}),
        (Filter(folder="plans", tags=frozenset({"tax"})), set()),
    ],
)
def test_filters_say_which_documents_may_answer(store: Store, index: Index, where: Filter, expected: set[str]):
    for seed, (name, about) in enumerate(FILTERED.items()):
        put(store, name, random_units(3, seed=seed), **about)
    (hits,) = index.search("c", random_units(1, seed=9), k=100, where=where)
    assert {hit.document for hit in hits} == expected
    assert len(hits) == 3 * len(expected)


def test_filtered_search_is_exact_over_the_rows_that_are_left(store: Store, index: Index):
    documents = {f"{number % 3}/{number}": random_units(60, seed=number) for number in range(120)}
    for name, rows in documents.items():
        put(store, name, rows)
    left = {name: rows for name, rows in documents.items() if name.startswith("1/")}
    for query in random_units(3, seed=1_000):
        (hits,) = index.search("c", query[None], k=10, where=Filter(folder="1"))
        assert places(hits) == brute_force(left, query, 10)


def test_a_question_that_names_a_form_finds_its_chunk_wherever_its_vector_lies(store: Store, index: Index):
    """Also in documents that change, go, or may not answer, after the names were first read."""
    query = np.eye(1, DIMENSION, dtype=np.float32)
    put(store, "near.txt", np.repeat(query, 30, axis=0))
    info = DocumentInfo("forms/far.txt", "h", "indexed", chunks=1)
    far = -query

    def found(question: str, **more: object) -> Answer:
        (hits,) = index.search("c", query, k=3, min_score=0.9, questions=[question], **more)  # type: ignore[arg-type]
        return places(hits)

    store.replace("c", info, [Chunk("Use Form 5329.", 0, 14)], far)
    assert found("What is Form 5329?") == [("forms/far.txt", 0), ("near.txt", 0), ("near.txt", 1)]
    assert found("What is it?") == [("near.txt", 0), ("near.txt", 1), ("near.txt", 2)]
    assert found("What is Form 5329?", where=Filter(folder="forms")) == [("forms/far.txt", 0)]
    assert ("forms/far.txt", 0) not in found("Form 5329?", where=Filter(documents=frozenset({"near.txt"})))
    store.replace("c", info, [Chunk("Use Form 5498.", 0, 14)], far)
    assert ("forms/far.txt", 0) not in found("What is Form 5329?")
    assert found("What is Form 5498?")[0] == ("forms/far.txt", 0)
    store.remove("c", "forms/far.txt")
    assert ("forms/far.txt", 0) not in found("What is Form 5498?")
    with pytest.raises(ValueError, match="2 questions for 1 queries"):
        index.search("c", query, k=3, questions=["a", "b"])


def test_a_collection_that_was_dropped_and_made_anew_is_not_taken_for_the_old_one(store: Store, index: Index):
    rows = random_units(2, seed=6)
    put(store, "old.txt", rows[:1])
    index.search("c", rows[:1], k=1)
    store.drop("c")
    with pytest.raises(UnknownCollection):
        index.search("c", rows[:1], k=1)
    store.ensure("c", fingerprint="f", dimension=DIMENSION)
    put(store, "new.txt", rows[1:])
    assert places(index.search("c", rows[:1], k=1)[0]) == [("new.txt", 0)]


def test_a_switched_generation_replaces_the_old_one_whole(store: Store, index: Index):
    put(store, "old.txt", random_units(4, seed=7))
    index.search("c", random_units(1, seed=7), k=1)
    staged = store.stage("c", fingerprint="wider", dimension=3)
    put(store, "new.txt", np.eye(3, dtype=np.float32), generation=staged)
    store.switch("c", staged)
    (hits,) = index.search("c", np.eye(1, 3), k=9)
    assert places(hits) == [("new.txt", 0), ("new.txt", 1), ("new.txt", 2)]


def test_searches_of_many_threads_with_different_wishes_each_get_their_own(store: Store, index: Index):
    documents = {f"{number % 2}/{number}": random_units(5, seed=number) for number in range(40)}
    for name, rows in documents.items():
        put(store, name, rows)
    wrong: list[int] = []

    def ask(seed: int) -> None:
        folder = str(seed % 2) if seed % 3 else ""
        left = {name: rows for name, rows in documents.items() if name.startswith(folder)}
        queries, k = random_units(1 + seed % 3, seed=500 + seed), 1 + seed % 7
        found = index.search("c", queries, k=k, where=Filter(folder=folder) if folder else None)
        if [places(hits) for hits in found] != [brute_force(left, query, k) for query in queries]:
            wrong.append(seed)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_changes_arrive_without_a_question(store: Store, index: Index):
    put(store, "a.txt", random_units(1, seed=8))
    index.search("c", random_units(1, seed=8), k=1)
    resident = index._collections["c"]._resident
    for _ in range(1_000):
        put(store, "b.txt", random_units(5, seed=9))
        if resident.size == 6:
            break
        time.sleep(0.01)
    assert resident.size == 6


def seconds_to_refresh(store: Store, index: Index, repeats: int = 15) -> float:
    best = float("inf")
    for seed in range(repeats):
        rows = random_units(4, seed=seed)
        put(store, "changed.txt", rows)
        start = time.perf_counter()
        index._collections["c"].refresh()
        best = min(best, time.perf_counter() - start)
    return best


def test_the_cost_of_a_change_does_not_grow_with_the_collection(store: Store, index: Index):
    small = Filter(documents=frozenset())
    for number in range(10):
        put(store, f"{number}", random_units(200, seed=number))
    index.search("c", random_units(1, seed=0), k=1, where=small)
    before = seconds_to_refresh(store, index)
    for number in range(10, 100):
        put(store, f"{number}", random_units(200, seed=number))
    index.search("c", random_units(1, seed=0), k=1, where=small)
    assert seconds_to_refresh(store, index) < 5 * before + 0.002


# --- the whole promise: random changes from one thread, searches from others -------------------------


@dataclass
class History:
    """The states that the writer went through; a state is begun before, and done after, its command."""

    states: list[dict[str, np.ndarray]]
    done: int = 0
    searched: threading.Event = field(default_factory=threading.Event)
    finished: threading.Event = field(default_factory=threading.Event)


def write(store: Store, history: History, seed: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    for step in range(steps):
        if step % 10 == 9:  # a slow search must not span all of the changes
            history.searched.clear()
            history.searched.wait(timeout=10)
        state = dict(history.states[-1])
        name = f"{rng.integers(0, 40)}"
        action = rng.random()
        rows = random_units(int(rng.integers(1, 60)), seed=int(rng.integers(2**31)))
        if action < 0.55:
            history.states.append({**state, name: rows})
            put(store, name, rows)
        elif action < 0.95 or step < 5:
            state.pop(name, None)
            history.states.append(state)
            store.remove("c", name)
        else:
            rebuild(store, history, {**state, name: rows})
        history.done = len(history.states) - 1
    history.finished.set()


def rebuild(store: Store, history: History, state: dict[str, np.ndarray]) -> None:
    staged = store.stage("c", fingerprint="f", dimension=DIMENSION)
    for name, rows in state.items():
        put(store, name, rows, generation=staged)
    history.states.append(state)
    store.switch("c", staged)


def watch(index: Index, history: History, seed: int, faults: list[str], counts: list[int]) -> None:
    while not history.finished.is_set():
        query = random_units(1, seed=seed + len(counts))
        earliest = history.done
        (hits,) = index.search("c", query, k=7)
        latest = len(history.states) - 1
        possible = [brute_force(history.states[at], query[0], 7) for at in range(earliest, latest + 1)]
        counts.append(latest - earliest)
        history.searched.set()
        if places(hits) not in possible:
            faults.append(f"search {len(counts)}: {places(hits)} is none of states {earliest}..{latest}")


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**31), large=st.booleans())
def test_every_search_equals_brute_force_over_the_store_at_one_moment_of_the_search(
    redis_url: str, seed: int, large: bool
):
    """Large collections take the path of two passes, small ones the plain one."""
    writer, reader = Store.connect(redis_url), Store.connect(redis_url)
    writer.drop("c")
    writer.ensure("c", fingerprint="f", dimension=DIMENSION)
    first = {f"base{n}": random_units(600, seed=n) for n in range(8)} if large else {}
    for name, rows in first.items():
        put(writer, name, rows)
    index, history = Index(reader, device="cpu"), History([first])
    faults: list[str] = []
    counts: list[int] = []
    threads = [threading.Thread(target=write, args=(writer, history, seed, 120))]
    threads += [threading.Thread(target=watch, args=(index, history, seed + n, faults, counts)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    index.close()
    writer.close()
    reader.close()
    assert faults == []
    assert len(counts) > 5
