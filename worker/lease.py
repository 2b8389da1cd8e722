"""One run at a time changes a collection: a lease in Redis, `rag:{COLLECTION}:run`, that its holder renews."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from redis.lock import Lock

from worker.database import Database
from worker.errors import IngestRunning, StoreError, StoreUnavailable

# How long a dead run keeps others out; longer than Redis is away when it restarts.
LEASE_SECONDS: Final = 15.0


class Lease:
    """The right to change a collection; a thread renews it until it is released."""

    def __init__(self, database: Database, collection: str, *, seconds: float = LEASE_SECONDS) -> None:
        self._database = database
        self._collection = collection
        self._seconds = seconds
        self._lock = Lock(database.client, f"rag:{{{collection}}}:run", timeout=seconds, thread_local=False)
        self._lost = threading.Event()
        self._over = threading.Event()

    @contextmanager
    def held(self, *, wait: float = 0.0) -> Iterator[None]:
        """Hold the lease inside the block.

        wait: seconds to wait for another run's end.

        Raises IngestRunning where another run holds it, StoreUnavailable.
        """
        if not self._database.call(self._lock.acquire, blocking=wait > 0, blocking_timeout=wait or None):
            raise self._running()
        renewal = threading.Thread(target=self._renew, name="lease", daemon=True)
        renewal.start()
        try:
            yield
        finally:
            self._over.set()
            renewal.join()
            with suppress(StoreError):  # it was lost, or Redis is away: it ends by itself
                self._database.call(self._lock.release)

    def check(self) -> None:
        """Raise IngestRunning where the lease was lost: Redis was away for so long that others may hold it."""
        if self._lost.is_set():
            raise self._running()

    def _renew(self) -> None:
        while not self._over.wait(self._seconds / 3):
            try:
                self._database.call(self._lock.reacquire)
            except StoreUnavailable:
                continue
            except StoreError:  # it ended while Redis was away
                self._lost.set()
                return

    def _running(self) -> IngestRunning:
        return IngestRunning(
            f"another run is at work on collection {self._collection!r}; try again when it has ended "
            f"(a run that died is forgotten after {self._seconds:g} seconds)"
        )
