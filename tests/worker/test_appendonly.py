"""A full disk, as Redis meets it: a write cut off in the middle, by the largest size that its files may have."""

from __future__ import annotations

import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import redis

from worker.appendonly import MARK, PAUSE, rewrite_after_full_disk
from worker.database import Database
from worker.embedded import Stack, prepare, services

VALUE = "v" * 5000


class Server:
    """The stack's own Redis, with a disk that can be full."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        (service,) = [service for service in services(stack, {"PATH": "/usr/bin:/bin"}) if service.name == "redis"]
        self._service = service
        self.client = redis.Redis.from_url(stack.url("default"), decode_responses=True)
        self.start()

    def start(self) -> bool:
        """Start it; False where it ends by itself."""
        with (self.stack.folder / "redis.log").open("ab") as log:
            # What is ignored here, as SIGXFSZ is, stays ignored there: a write then fails as on a full disk.
            self.process = subprocess.Popen(
                list(self._service.command),
                env=dict(self._service.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                restore_signals=False,
            )
        while self.process.poll() is None:
            with suppress(redis.ConnectionError, redis.BusyLoadingError):
                return bool(self.client.ping())
            time.sleep(0.02)
        return False

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.client.connection_pool.disconnect()

    def wait_for(self, name: str, value: object) -> None:
        end = time.monotonic() + 20
        while self.client.info("persistence")[name] != value:
            assert time.monotonic() < end, f"{name} is never {value}"
            time.sleep(0.05)

    def rewrite(self) -> None:
        """Have it rewrite its file, as it does by itself once that has grown enough."""
        self.client.set("before", "kept")
        self.client.bgrewriteaof()
        self.wait_for("aof_rewrites", 1)
        self.wait_for("aof_rewrite_in_progress", 0)

    def fill_and_free_the_disk(self) -> None:
        (file,) = (self.stack.folder / "redis/appendonlydir").glob("*.incr.aof")
        self.limit(file.stat().st_size + len(VALUE) // 2)
        self.client.set("cut off", VALUE)
        self.wait_for("aof_last_write_status", "err")
        with pytest.raises(redis.ResponseError, match="MISCONF"):
            self.client.set("refused", VALUE)
        self.limit(resource.RLIM_INFINITY)
        self.wait_for("aof_last_write_status", "ok")
        self.client.set("after", "kept")

    def limit(self, size: int) -> None:
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(prepare(tmp_path / "data"))
    yield server
    server.kill()


@pytest.fixture
def worker(server: Server) -> Iterator[Database]:
    """With the rights of a worker."""
    database = Database.connect(server.stack.url("worker"))
    yield database
    database.close()


def test_redis_itself_still_leaves_a_gap_that_it_cannot_start_from(server: Server):
    """Once this fails, `worker.appendonly` can go."""
    server.rewrite()
    server.fill_and_free_the_disk()
    server.kill()
    assert not server.start()


def test_after_a_full_disk_nothing_is_lost_by_a_restart(server: Server, worker: Database):
    server.rewrite()
    server.fill_and_free_the_disk()
    assert rewrite_after_full_disk(worker)
    server.wait_for("aof_rewrites", 2)
    server.wait_for("aof_rewrite_in_progress", 0)
    server.kill()
    assert server.start()
    assert server.client.mget("before", "cut off", "after") == ["kept", VALUE, "kept"]


def test_the_file_is_written_anew_once_and_only_where_a_write_was_refused(server: Server, worker: Database):
    assert not rewrite_after_full_disk(worker)
    server.rewrite()
    assert not rewrite_after_full_disk(worker)
    server.fill_and_free_the_disk()
    assert rewrite_after_full_disk(worker)
    server.wait_for("aof_rewrite_in_progress", 0)
    assert not rewrite_after_full_disk(worker)


def test_while_the_disk_is_full_nothing_is_tried(server: Server, worker: Database):
    server.client.set("before", "kept")
    server.limit(10)
    server.client.set("cut off", VALUE)
    server.wait_for("aof_last_write_status", "err")
    with pytest.raises(redis.ResponseError, match="MISCONF"):
        server.client.set("refused", VALUE)
    assert not rewrite_after_full_disk(worker)
    server.limit(resource.RLIM_INFINITY)
    server.wait_for("aof_last_write_status", "ok")


def test_a_rewrite_that_may_have_failed_is_not_tried_again_at_once(server: Server, worker: Database):
    server.fill_and_free_the_disk()
    assert rewrite_after_full_disk(worker)
    server.wait_for("aof_rewrite_in_progress", 0)
    server.client.set(MARK, "as if none had been")
    assert not rewrite_after_full_disk(worker)
    server.client.delete(PAUSE)
    assert rewrite_after_full_disk(worker)


def test_another_run_of_redis_counts_anew(server: Server, worker: Database):
    server.fill_and_free_the_disk()
    assert rewrite_after_full_disk(worker)
    server.wait_for("aof_rewrite_in_progress", 0)
    mark = server.client.get(MARK)
    server.client.delete(PAUSE)
    server.kill()
    assert server.start()
    assert not rewrite_after_full_disk(worker)
    server.fill_and_free_the_disk()
    assert rewrite_after_full_disk(worker)
    assert server.client.get(MARK) != mark
