"""What a worker consumes in, whether it lives out: a process that is there and takes no task is not alive.

RAG_DATA_DIR/alive/NODE    touched every few seconds while the node consumes, or has nothing to consume
RAG_DATA_DIR/ready/NODE    there while the node can do what it is for
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

# A reconnect may take half a minute.
PATIENCE_SECONDS: Final = 60.0
# A deadline is kept inside the task; who is so far beyond it hangs where no deadline reaches.
OVERDUE_SECONDS: Final = 120.0
# The file is touched every few seconds; a machine under load may take longer.
_STALE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Consumption:
    """What a worker has to show for itself at one moment."""

    taken: int
    """Messages taken since the process began: what has expired is taken, and never started."""
    active: int
    """Tasks that run now."""
    waiting: int
    """Messages in its queues; 0 where Redis cannot say: the worker is not to blame for that."""
    overdue: float = 0.0
    """Seconds that the latest running task is beyond its deadline."""


@dataclass(slots=True)
class Watch:
    """Tells a wedged worker from an idle and from a busy one."""

    patience: float = PATIENCE_SECONDS
    _taken: int = 0
    _well_at: float = field(default_factory=time.monotonic)

    def complaint(self, seen: Consumption) -> str:
        """Return what is wrong: tasks wait and none is taken, or one will never end; "" where nothing is."""
        now = time.monotonic()
        if seen.taken != self._taken or seen.active or not seen.waiting:
            self._taken, self._well_at = seen.taken, now
        if now - self._well_at >= self.patience:
            return f"{seen.waiting} tasks wait, none runs and none was taken for {self.patience:g} seconds"
        if seen.overdue > OVERDUE_SECONDS:
            return f"a task is {seen.overdue:.0f} seconds beyond its deadline and will not end"
        return ""


def node_file(data_dir: Path, kind: str, node: str) -> Path:
    """Return the `alive` or `ready` file of `answer@host`, `ingest@host` or `beat`; its folder is there."""
    folder = data_dir / kind
    folder.mkdir(parents=True, exist_ok=True)
    return folder / node.partition("@")[0]


def is_alive(data_dir: Path, node: str) -> bool:
    """Say whether the node consumed, or had nothing to consume, within the last minute."""
    try:
        return time.time() - node_file(data_dir, "alive", node).stat().st_mtime < _STALE_SECONDS
    except FileNotFoundError:
        return False


def is_ready(data_dir: Path, node: str) -> bool:
    """Say whether the node can do what it is for: its index is loaded and a model can be asked."""
    return node_file(data_dir, "ready", node).exists()
