"""A call to a model in, its result out: so many at once, again where that helps, never past the deadline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, stop_before_delay
from tenacity.wait import wait_random_exponential

from worker.errors import ConnectorError, DeadlineExceeded, ModelAnswerInvalid, ModelBusy

T = TypeVar("T")

_TRIES = 3
_LARGEST_ANSWER_BYTES = 4_000_000
# Full jitter (Brooker, "Exponential backoff and jitter", 2015): clients that were turned away come back apart.
_backoff = wait_random_exponential(multiplier=0.5, max=8)


class Calls:
    """Runs calls in threads of its own, so that a wire that drips or hangs holds no caller past the deadline."""

    def __init__(self, in_flight: int, *, retried: tuple[type[ConnectorError], ...]) -> None:
        self._places = ThreadPoolExecutor(in_flight, thread_name_prefix="model-call")
        self._in_flight = in_flight
        self._retried = retried

    def run(self, call: Callable[[], T], *, deadline: float) -> T:
        """Return what `call` returns; it is tried again after one of the errors named as `retried`.

        Raises what `call` raises, ModelBusy where no place came free before `deadline` (Unix seconds), and
        DeadlineExceeded where the call did not end before it.
        """
        attempts = Retrying(
            retry=retry_if_exception_type(self._retried),
            wait=_pause,
            stop=stop_after_attempt(_TRIES) | stop_before_delay(deadline - time.time()),
            reraise=True,
        )
        result: T = attempts(self._once, call, deadline)
        return result

    def close(self) -> None:
        """Take no more calls; those that wait for a place are given up."""
        self._places.shutdown(wait=False, cancel_futures=True)

    def _once(self, call: Callable[[], T], deadline: float) -> T:
        left = seconds_left(deadline)
        running = self._places.submit(copy_context().run, call)  # a trace of the caller goes on in the thread
        try:
            return running.result(left)
        except TimeoutError:
            if running.cancel():
                raise ModelBusy(f"none of {self._in_flight} calls in flight ended before the deadline") from None
            raise DeadlineExceeded("the model did not finish in time") from None


def seconds_left(deadline: float) -> float:
    """Return the seconds until `deadline` (Unix seconds); raises DeadlineExceeded where there are none."""
    left = deadline - time.time()
    if left <= 0:
        raise DeadlineExceeded("no time was left to ask the model")
    return left


def read_within(parts: Iterable[bytes], deadline: float) -> bytes:
    """Join the parts of a body; raises ModelAnswerInvalid where they have no end, DeadlineExceeded where no haste."""
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > _LARGEST_ANSWER_BYTES:
            raise ModelAnswerInvalid(f"the model server sent more than {_LARGEST_ANSWER_BYTES} bytes")
        seconds_left(deadline)
    return bytes(body)


def retry_after(header: str | None) -> float | None:
    """Read a `Retry-After` header: seconds, or None where there is none or it is a date (RFC 9110, 10.2.3)."""
    try:
        return max(0.0, float(header or ""))
    except ValueError:
        return None


def _pause(state: RetryCallState) -> float:
    """What the server asks for comes before our own backoff."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, ModelBusy) else None
    return _backoff(state) if asked is None else asked
