"""Redis' memory in, whether it may take more out: vectors share it with questions, and questions come first."""

from __future__ import annotations

from worker.errors import RedisNearlyFull, SettingError
from worker.journal import Memory

_MEGABYTE = 1 << 20


def require_noeviction(memory: Memory) -> None:
    """Raise SettingError where a full Redis would throw away questions, answers or vectors."""
    if memory.eviction != "noeviction":
        raise SettingError(
            f"Redis evicts what it holds when it is full (maxmemory-policy {memory.eviction}), questions included: "
            "run `CONFIG SET maxmemory-policy noeviction` there, and write it into its configuration"
        )


def require_room(memory: Memory, *, mark: float) -> None:
    """Raise RedisNearlyFull where more than the share `mark` of the memory is taken."""
    if memory.limit and memory.used > mark * memory.limit:
        raise RedisNearlyFull(
            f"Redis holds {memory.used // _MEGABYTE} of {memory.limit // _MEGABYTE} MB, above {mark:.0%}: "
            "nothing more is ingested, so that questions still find room. Raise maxmemory, drop a collection, "
            "or set RAG_REDIS_MARK"
        )
