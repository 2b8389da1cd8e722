"""Coroutines in, their results out, for code without an event loop: one thread runs a loop for all callers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    """An event loop in a thread that ends with the process; safe to call from any other thread."""

    def __init__(self) -> None:
        running = threading.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(running)), name="rag-client", daemon=True
        )
        self._thread.start()
        running.wait()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result; where the caller is interrupted, it is cancelled."""
        future = asyncio.run_coroutine_threadsafe(self._noted(coroutine), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def cancel(self) -> None:
        """Cancel what others run here, and return when it has ended: nothing uses then what is closed next."""
        self.run(self._cancel())

    def close(self) -> None:
        """Stop the loop and what still runs on it; nothing can be run afterwards."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _noted(self, coroutine: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            return await coroutine
        finally:
            self._tasks.discard(task)

    async def _cancel(self) -> None:
        others = self._tasks - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, running: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        running.set()
        await self._stop.wait()
