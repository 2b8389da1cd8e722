"""Many callers, one batch at a time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from worker.coalescing import Coalescer


class Recorder:
    """Squares numbers; the first batch waits until it is let go."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.started = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        self.started.set()
        assert self.go_on.wait(30)
        return [item * item for item in items]


def test_a_lone_caller_runs_at_once_in_its_own_thread():
    seen: list[threading.Thread] = []
    coalescer = Coalescer(lambda items: [seen.append(threading.current_thread()) or 7 for _ in items], limit=9)
    assert coalescer("x") == 7
    assert seen == [threading.current_thread()]


def test_callers_that_arrive_while_a_batch_runs_share_the_next_one_up_to_the_limit():
    run = Recorder()
    coalescer = Coalescer(run, limit=3)
    with ThreadPoolExecutor(6) as pool:
        first = pool.submit(coalescer, 0)
        assert run.started.wait(30)
        others = [pool.submit(coalescer, number) for number in range(1, 6)]
        while len(coalescer._waiting) < 5:
            threading.Event().wait(0.005)
        run.go_on.set()
        assert [call.result() for call in [first, *others]] == [0, 1, 4, 9, 16, 25]
    assert [len(batch) for batch in run.batches] == [1, 3, 2]


def test_an_error_reaches_every_caller_of_its_batch_and_no_later_one():
    def run(items: Sequence[int]) -> list[int]:
        if -1 in items:
            raise ValueError("refused")
        return list(items)

    coalescer = Coalescer(run, limit=4)
    with pytest.raises(ValueError, match="refused"):
        coalescer(-1)
    assert coalescer(3) == 3


def test_under_load_everyone_gets_its_own_answer():
    coalescer = Coalescer(lambda items: [-item for item in items], limit=5)
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(coalescer, range(3_000))) == [-number for number in range(3_000)]
