"""A running worker in, its entry on the noticeboard out, every few seconds: apps see who listens and how well."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from producer.names import PRESENCE_SECONDS
from worker.errors import StoreError
from worker.noticeboard import Noticeboard

_log = logging.getLogger(__name__)

# A worker that stops does not wait longer for its entry to go: it grows old by itself.
_LEAVE_SECONDS = 1.0


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
        self._faults = faults
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
        """An entry that cannot be made is made next time; looking for faults must not end the entries."""
        try:
            faults = self._faults()
        except Exception as error:  # noqa: BLE001 - whatever is wrong is what an operator should know
            faults = [f"the worker cannot look after itself: {type(error).__name__}"]
        try:
            self._board.tell_presence(self._queues, self._node, concurrency=self._concurrency, faults=faults)
        except StoreError as error:
            _log.warning("presence: %s", error)
