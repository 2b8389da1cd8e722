"""A running worker in, its entry on the noticeboard out, every few seconds: apps see who listens and how well."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from producer.names import PRESENCE_SECONDS
from worker.errors import StoreError
from worker.noticeboard import Noticeboard

_log = logging.getLogger(__name__)

# A worker that stops does not wait longer for its entry to go: it grows old by itself.
_LEAVE_SECONDS = 1.0
# Faults are looked for less often: a model that is asked after itself has other work too.
_LOOK_SECONDS = 20.0


class Presence:
    """Tells until it is stopped, on a thread of its own; `faults` are the sentences that an operator should read."""

    def __init__(
        self,
        board: Noticeboard,
        *,
        queues: Sequence[str],
        node: str,
        concurrency: int,
        faults: Callable[[], Sequence[str]],
    ) -> None:
        self._board = board
        self._queues = queues
        self._node = node
        self._concurrency = concurrency
        self._look = faults
        self._looked_at = float("-inf")
        self._faults: Sequence[str] = ()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        """Tell now, and again every few seconds."""
        self._thread.start()

    def stop(self) -> None:
        """Take leave; questions that are still sent wait for another worker."""
        self._stopped.set()
        self._thread.join(_LEAVE_SECONDS)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._tell()
            self._stopped.wait(PRESENCE_SECONDS)
        try:
            self._board.take_leave(self._queues, self._node)
        except StoreError as error:
            _log.warning("presence: %s", error)

    def _tell(self) -> None:
        """An entry that cannot be made is made next time."""
        if time.monotonic() - self._looked_at > _LOOK_SECONDS:
            self._looked_at = time.monotonic()
            self._faults = self._look_after_itself()
        try:
            self._board.tell_presence(self._queues, self._node, concurrency=self._concurrency, faults=self._faults)
        except StoreError as error:
            _log.warning("presence: %s", error)

    def _look_after_itself(self) -> Sequence[str]:
        try:
            return self._look()
        except Exception as error:  # noqa: BLE001 - whatever is wrong is what an operator should know
            return [f"the worker cannot look after itself: {type(error).__name__}"]
