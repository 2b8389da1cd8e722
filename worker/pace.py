"""How long answers take here in, whether a question that has waited still has that much time out.

Where more questions come than can be answered, the next in line is always the one that is about to expire: without
this, a worker would spend its time on answers that come too late, and answer fewer than it can.
"""

from __future__ import annotations

import statistics
import time
from collections import deque
from typing import Final

from worker.errors import DeadlineExceeded

_REMEMBERED: Final = 100
# Whoever is refused shows nothing of how long answers take by now: after a minute, one is tried again.
_REMEMBERED_SECONDS: Final = 60.0
# Of fewer answers nothing is concluded.
_FEWEST: Final = 8


class Pace:
    """Safe to share between threads; what it was told is forgotten after `remember` seconds."""

    def __init__(self, *, remember: float = _REMEMBERED_SECONDS) -> None:
        self._remember = remember
        self._answers: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)

    def note(self, seconds: float) -> None:
        """Remember how long an answer took."""
        self._answers.append((time.monotonic(), seconds))

    @property
    def typical(self) -> float:
        """The median of the answers that are remembered, in seconds; 0 where there were few."""
        since = time.monotonic() - self._remember
        recent = [seconds for at, seconds in tuple(self._answers) if at >= since]
        return statistics.median(recent) if len(recent) >= _FEWEST else 0.0

    def require_time(self, deadline: float) -> None:
        """Raise DeadlineExceeded where an answer would typically come after `deadline`, in Unix seconds."""
        left = deadline - time.time()
        if left <= 0:
            raise DeadlineExceeded("the question's deadline passed while it waited")
        if left < self.typical:
            raise DeadlineExceeded("the question waited too long: its deadline would pass before an answer is there")
