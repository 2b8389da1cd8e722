"""Documents are read in parallel and embedded in common batches, and each comes out with its own vectors."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.pipeline import Reading, embedded
from worker.records import Chunk
from worker.stored import DocumentInfo


def reading(number: int, count: int) -> Reading:
    info = DocumentInfo(name=str(number), content_hash="", state="indexed", chunks=count)
    return Reading(info, [Chunk(f"{number * 1000 + place}", 0, 1) for place in range(count)])


def embed(texts) -> np.ndarray:
    """A vector that tells which text it belongs to."""
    return np.array([[float(text), 1.0] for text in texts], dtype=np.float32)


@settings(deadline=None, max_examples=50)
@given(counts=st.lists(st.integers(0, 12), max_size=20), window=st.integers(1, 10), readers=st.integers(1, 4))
def test_every_document_comes_out_once_with_the_vectors_of_its_own_chunks(counts, window, readers):
    reads = (lambda number=number, count=count: reading(number, count) for number, count in enumerate(counts))
    out = {one.info.name: (one, vectors) for one, vectors in embedded(reads, embed, window=window, readers=readers)}
    assert sorted(out, key=int) == [str(number) for number in range(len(counts))]
    for number, count in enumerate(counts):
        _, vectors = out[str(number)]
        assert [row[0] for row in vectors] == [number * 1000 + place for place in range(count)]


def test_no_call_of_the_embedder_has_more_than_a_window_and_small_documents_share_one():
    calls: list[int] = []

    def counting(texts) -> np.ndarray:
        calls.append(len(texts))
        return embed(texts)

    reads = [lambda number=number: reading(number, 1 if number else 25) for number in range(31)]
    assert len(list(embedded(reads, counting, window=10, readers=1))) == 31
    assert sum(calls) == 55
    assert max(calls) == 10
    assert len(calls) < 10


def test_memory_holds_a_few_windows_however_many_documents_there_are():
    """Documents that were begun and not yet handed on never pile up behind a slow embedder."""
    begun = threading.Semaphore(0)

    def read(number: int) -> Reading:
        begun.release()
        return reading(number, 5)

    def slow(texts) -> np.ndarray:
        time.sleep(0.002)
        return embed(texts)

    most = handed_on = 0
    reads = (lambda number=number: read(number) for number in range(400))
    for _ in embedded(reads, slow, window=10, readers=2):
        handed_on += 1
        most = max(most, begun._value - handed_on)
    assert handed_on == 400
    assert most <= 20


def test_while_one_window_is_embedded_the_next_documents_are_read():
    second_is_read = threading.Event()

    def embed_first(texts) -> np.ndarray:
        assert second_is_read.wait(10)
        return embed(texts)

    def read_second() -> Reading:
        second_is_read.set()
        return reading(1, 3)

    assert len(list(embedded([lambda: reading(0, 3), read_second], embed_first, window=3, readers=1))) == 2


def test_a_document_that_takes_long_does_not_look_like_a_dead_run():
    pulses: list[float] = []

    def slow(texts) -> np.ndarray:
        time.sleep(0.5)
        return embed(texts)

    list(embedded([lambda: reading(0, 1)], slow, pulse=lambda: pulses.append(time.monotonic()), seconds=0.02))
    assert len(pulses) > 5


@pytest.mark.parametrize("fault", ["read", "embed", "consume"])
def test_a_failure_ends_all_and_leaves_no_thread(fault):
    class Fault(Exception):
        pass

    def fail(*_: object):
        raise Fault

    def consume() -> None:
        reads = [lambda number=number: reading(number, 1) for number in range(50)] + [fail] * (fault == "read")
        for _ in embedded(reads, fail if fault == "embed" else embed, window=4, readers=2):
            if fault == "consume":
                raise Fault

    before = threading.active_count()
    with pytest.raises(Fault):
        consume()
    end = time.monotonic() + 10
    while threading.active_count() > before:
        assert time.monotonic() < end
        time.sleep(0.01)
