"""A delivered task in, one run of it out, however often it is delivered: at once, again, or after its worker died."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

from worker.errors import StoreUnavailable, TaskAbandoned
from worker.journal import Journal

_log = logging.getLogger(__name__)

# A worker can be killed by chance once, perhaps twice.
_MOST_STARTS: Final = 3
_RETRY_SECONDS: Final = 0.5


class SingleFlight:
    """Runs the work of a task once among the threads of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, Future[Any]] = {}

    def run(self, id: str, work: Callable[[], Any]) -> Any:
        """Return or raise what `work` does; who comes while it runs waits for its end instead of working too.

        It waits and does not leave: both deliveries have one tag, and the first to be acknowledged takes both away.
        """
        with self._lock:
            first = self._running.get(id)
            if first is None:
                mine = self._running[id] = Future[Any]()
        if first is not None:
            return first.result()
        try:
            mine.set_result(work())
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            del self._running[id]
        return mine.result()


def run_capped(id: str, work: Callable[[], Any], *, journal: Journal, deadline: float) -> Any:
    """Run the work unless it has killed its worker too often; wait for a Redis that is away until the deadline.

    Raises TaskAbandoned, StoreUnavailable, and what `work` raises.
    """
    starts = while_redis_is_away(lambda: journal.note_start(id), deadline=deadline)
    try:
        if starts > _MOST_STARTS:
            raise TaskAbandoned(f"its worker died {_MOST_STARTS} times while at it; the worker's log may say of what")
        return while_redis_is_away(work, deadline=deadline)
    finally:
        _note_end(id, journal)


def while_redis_is_away(work: Callable[[], Any], *, deadline: float) -> Any:
    """Run the work again until Redis is there or the deadline (Unix seconds) has passed.

    A restart of Redis takes seconds, and a question has minutes. Raises what `work` raises.
    """
    while True:
        try:
            return work()
        except StoreUnavailable:
            if time.time() + _RETRY_SECONDS > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def _note_end(id: str, journal: Journal) -> None:
    try:
        journal.note_end(id)
    except StoreUnavailable:
        _log.warning("%s: Redis is away; that the task has ended is not noted", id)
