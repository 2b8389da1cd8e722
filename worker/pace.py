"""How long answers take here in, whether a question that has waited still has that much time out.

Where more questions come than can be answered, the next in line is always the one that is about to expire: without
this, a worker would spend its time on answers that come too late, and answer fewer than it can.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from typing import Final

from worker.errors import DeadlineExceeded

_REMEMBERED: Final = 100
# Whoever is refused shows nothing of how long answers take by now: after this time, one is tried again.
_REMEMBERED_SECONDS: Final = 120.0
# Of fewer answers nothing is concluded, and a fifth of them may have been faster than what counts as fast.
_FEWEST: Final = 8
_FASTEST: Final = 5
# A question that hardly waited is tried: nobody is ahead of it.
_WAITED_SECONDS: Final = 1.0


class Pace:
    """Of each connector; safe to share between threads. It forgets after `remember` seconds."""

    def __init__(self, *, remember: float = _REMEMBERED_SECONDS) -> None:
        self._remember = remember
        self._answers: dict[str, deque[tuple[float, float]]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    def note(self, connector: str, seconds: float) -> None:
        """Remember how long an answer took for which a model was asked."""
        self._answers[connector].append((time.monotonic(), seconds))

    def least(self, connector: str) -> float:
        """The seconds that four of five answers take at least; 0 where few are known."""
        since = time.monotonic() - self._remember
        recent = sorted(seconds for at, seconds in tuple(self._answers[connector]) if at >= since)
        return recent[len(recent) // _FASTEST] if len(recent) >= _FEWEST else 0.0

    def require_time(self, connector: str, *, asked_at: float, deadline: float) -> None:
        """Raise DeadlineExceeded where a question has waited and has less time left than answers take at least.

        Both times are in Unix seconds.
        """
        now = time.time()
        if now > deadline:
            raise DeadlineExceeded("the question's deadline passed while it waited")
        if now - asked_at > _WAITED_SECONDS and deadline - now < self.least(connector):
            raise DeadlineExceeded("the question waited too long: its deadline would pass before an answer is there")
