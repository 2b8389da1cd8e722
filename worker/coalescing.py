"""Many callers at once become one batch: whoever arrives while a batch runs is served by the next one."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class _Call(Generic[T, R]):
    """One caller's item, and the answer or the error once its batch has run."""

    __slots__ = ("done", "error", "item", "result")

    def __init__(self, item: T) -> None:
        self.item = item
        self.done = False
        self.result: R | None = None
        self.error: BaseException | None = None


class Coalescer(Generic[T, R]):
    """Call it from any number of threads; `run` sees one batch at a time, in order of arrival.

    A lone caller runs at once, in its own thread: there is no waiting window and no extra thread. Callers that
    arrive while a batch runs form the next one, and the first of them runs it. An error of `run` reaches every
    caller of that batch.

    Args:
        run: maps a batch of items to as many results, in the same order.
        limit: the most items in one batch.
    """

    def __init__(self, run: Callable[[Sequence[T]], Sequence[R]], *, limit: int) -> None:
        self._run = run
        self._limit = limit
        self._waiting: deque[_Call[T, R]] = deque()
        self._changed = threading.Condition()
        self._busy = False

    def __call__(self, item: T) -> R:
        """Return `run`'s result for this item."""
        call: _Call[T, R] = _Call(item)
        with self._changed:
            self._waiting.append(call)
            while not call.done and (self._busy or self._waiting[0] is not call):
                self._changed.wait()
            if not call.done:
                self._busy = True
                batch = [self._waiting.popleft() for _ in range(min(self._limit, len(self._waiting)))]
        if not call.done:
            self._serve(batch)
        if call.error is not None:
            raise call.error
        return call.result  # type: ignore[return-value]

    def _serve(self, batch: list[_Call[T, R]]) -> None:
        try:
            for call, result in zip(batch, self._run([call.item for call in batch]), strict=True):
                call.result = result
        except BaseException as error:  # noqa: BLE001 - each caller of the batch must hear of it, or wait for ever
            for call in batch:
                call.error = error
        finally:
            with self._changed:
                for call in batch:
                    call.done = True
                self._busy = False
                self._changed.notify_all()
