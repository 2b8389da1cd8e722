"""A running worker in, its signs of life out, every few seconds: it holds its tasks, and says whether it is well.

A thread of its own, because the worker's event loop stands still while Redis is frozen, and ends before the last
tasks do when the worker stops.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from celery.worker import state

from worker.appendonly import rewrite_after_full_disk
from worker.database import Database
from worker.errors import StoreError
from worker.journal import Journal
from worker.liveness import Consumption, Watch
from worker.transport import Channel

_READY_SECONDS: Final = 30.0
_log = logging.getLogger(__name__)


class Pulse:
    """Beats every `beat` seconds until the process ends; `ready` says whether the worker can do what it is for."""

    def __init__(
        self,
        *,
        beat: float,
        journal: Journal,
        queues: Sequence[str],
        alive: Path,
        ready_file: Path,
        ready: Callable[[], bool],
        database: Database,
        watch: Watch | None = None,
    ) -> None:
        self._seconds = beat
        self._journal = journal
        self._queues = queues
        self._alive = alive
        self._ready_file = ready_file
        self._ready = ready
        self._database = database
        self._watch = watch or Watch()

    def start(self) -> None:
        """Beat once, then go on in threads: asking a model after itself must not hold up the heart."""
        self._alive.touch()
        for task in (self._beat, self._note_readiness, self._mend_file):
            threading.Thread(target=self._repeat, args=(task,), name=task.__name__, daemon=True).start()

    def _repeat(self, task: Callable[[], None]) -> None:
        while True:
            try:
                task()
            except StoreError as error:
                _log.warning("heartbeat: %s", error)
            except Exception as error:  # noqa: BLE001 - without a heartbeat, others take over what runs here
                _log.exception("heartbeat: unforeseen %s", type(error).__name__)
            time.sleep(self._seconds)

    def _beat(self) -> None:
        running = tuple(state.requests.values())
        complaint = "" if state.should_stop is not None else self._watch.complaint(self._seen(running))
        if complaint:
            _log.critical("this worker is wedged and ends, to be started again: %s", complaint)
            os._exit(1)
        self._alive.touch()
        self._journal.hold(request.message.delivery_tag for request in running)

    def _seen(self, running: Sequence[Any]) -> Consumption:
        deadlines = [request.expires.timestamp() for request in running if request.expires]
        return Consumption(
            taken=Channel.taken,
            active=len(state.active_requests),
            waiting=self._waiting(),
            overdue=max((time.time() - deadline for deadline in deadlines), default=0.0),
        )

    def _waiting(self) -> int:
        try:
            return sum(self._journal.waiting(queue) for queue in self._queues)
        except StoreError:
            return 0

    def _mend_file(self) -> None:
        if rewrite_after_full_disk(self._database):
            _log.warning("Redis' disk was full; its append-only file is written anew, as it may have a gap")

    def _note_readiness(self) -> None:
        """Look often until it is ready, and seldom from then on: somebody else's server may be asked."""
        if self._ready():
            self._ready_file.write_text(str(os.getpid()))
            time.sleep(_READY_SECONDS)
        else:
            self._ready_file.unlink(missing_ok=True)
