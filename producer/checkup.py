"""What Redis and the workers say of themselves in, what is wrong and what to do about it out, as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from producer.names import ANSWER_QUEUE, INGEST_QUEUE

WORKERS: Final = {ANSWER_QUEUE: "answer worker", INGEST_QUEUE: "ingest worker"}
_NEARLY_FULL: Final = 0.8
_FULL: Final = 0.95
_GIGABYTE: Final = 1e9
# So many questions for each that is worked on, and the last of them waits for minutes.
_LONG_QUEUE: Final = 20

State = Literal["ok", "warning", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    state: State
    subject: str
    found: str
    remedy: str = ""
    """What to do; "" where nothing is to be done."""


def examine(survey: Mapping[str, Any]) -> list[Finding]:
    """Judge what `RagClient.survey` returns; without a fault and a warning, questions are answered."""
    memory, persistence = survey["memory"], survey["persistence"]
    return [Finding("ok", "Redis", "answers"), *_memory(memory), *_disk(persistence), *_queues(survey)]


def unreachable(reason: str) -> Finding:
    """Judge a Redis that could not be surveyed at all."""
    remedy = "start Redis, or correct the address and the user in RAG_BROKER_URL; all else needs it"
    return Finding("fault", "Redis", reason.removeprefix("Redis "), remedy)


def is_well(findings: Sequence[Finding]) -> bool:
    """Say whether nothing is a fault."""
    return all(finding.state != "fault" for finding in findings)


def fullness(used: int, limit: int) -> Finding:
    """Judge how full Redis is, in bytes; a limit of 0 is none."""
    if not limit:
        return Finding("ok", "Redis' memory", f"{_size(used)} used, no limit set")
    share = used / limit
    found = f"{_size(used)} of {_size(limit)} used"
    if share < _NEARLY_FULL:
        return Finding("ok", "Redis' memory", found)
    state: State = "fault" if share >= _FULL else "warning"
    return Finding(
        state, "Redis' memory", found, "raise maxmemory, or drop a collection, before it takes nothing more"
    )


def eviction(policy: str) -> Iterator[Finding]:
    """Judge what Redis does when it is full."""
    if policy != "noeviction":
        found = f"it throws questions and documents away when it is full ({policy})"
        yield Finding("fault", "Redis' memory", found, "run CONFIG SET maxmemory-policy noeviction on it")


def durability(*, append_only: bool, failed: bool) -> Finding:
    """Judge whether a restart of Redis loses something."""
    if failed:
        return Finding(
            "fault", "Redis' disk", "the last write to it failed", "make room on that disk; see Redis' log"
        )
    if append_only:
        return Finding("ok", "Redis' disk", "the append-only file is on and written")
    found = "the append-only file is off: a restart loses what waits and what was ingested"
    return Finding(
        "warning", "Redis' disk", found, "run CONFIG SET appendonly yes, and write it into its configuration"
    )


def nobody_listens(queue: str, waiting: int) -> Finding:
    """Judge a queue without a worker: what is sent to it waits for ever."""
    worker = WORKERS[queue]
    remedy = f"start the {worker}; if it runs, look into its log"
    return Finding("fault", worker, f"nobody listens on {queue}, {waiting_words(waiting)}", remedy)


def waiting_words(waiting: int) -> str:
    """Say how many tasks wait in a queue."""
    return f"{waiting} waiting" if waiting else "nothing waits"


def _size(amount: int) -> str:
    return f"{amount / _GIGABYTE:.1f} GB" if amount >= _GIGABYTE else f"{amount / 1e6:.0f} MB"


def _memory(memory: Mapping[str, Any]) -> Iterator[Finding]:
    if not memory:
        yield Finding("warning", "Redis' memory", "this user may not ask how full it is", "allow it the command INFO")
        return
    yield fullness(int(memory["used_memory"]), int(memory["maxmemory"] or memory.get("total_system_memory", 0)))
    yield from eviction(memory.get("maxmemory_policy", "noeviction"))


def _disk(persistence: Mapping[str, Any]) -> Iterator[Finding]:
    if persistence:
        writes = (persistence.get(name) for name in ("aof_last_write_status", "rdb_last_bgsave_status"))
        yield durability(append_only=bool(persistence.get("aof_enabled")), failed="err" in writes)


def _queues(survey: Mapping[str, Any]) -> Iterator[Finding]:
    for queue in WORKERS:
        workers = survey["workers"][queue]
        yield _queue(queue, survey["waiting"][queue], workers)
        for worker in workers:
            yield from (Finding("fault", worker["node"], fault) for fault in worker["faults"])


def _queue(queue: str, waiting: int, workers: Sequence[Mapping[str, Any]]) -> Finding:
    if not workers:
        return nobody_listens(queue, waiting)
    capacity = sum(worker["concurrency"] for worker in workers)
    nodes = ", ".join(sorted(worker["node"] for worker in workers))
    found = f"{nodes} on {queue}, {capacity} at once, {waiting_words(waiting)}"
    if waiting > capacity * _LONG_QUEUE:
        return Finding("warning", WORKERS[queue], found, "more comes in than is answered: start another worker")
    return Finding("ok", WORKERS[queue], found)
