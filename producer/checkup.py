"""What Redis and the workers say of themselves in, what is wrong and what to do about it out, as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from producer.names import ANSWER_QUEUE, INGEST_QUEUE

_QUEUES: Final = {ANSWER_QUEUE: "answer", INGEST_QUEUE: "ingest"}
_NEARLY_FULL: Final = 0.8
_FULL: Final = 0.95
# So many questions for each that is worked on, and the last of them waits for minutes.
_LONG_QUEUE: Final = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    state: Literal["ok", "warning", "fault"]
    subject: str
    words: str
    """What was found and, where it is not fine, what to do."""


def examine(survey: Mapping[str, Any]) -> list[Finding]:
    """Judge what `RagClient.survey` returns; without a fault and a warning, questions are answered."""
    return [*_memory(survey["memory"]), *_disk(survey["persistence"]), *_queues(survey)]


def unreachable(reason: str) -> list[Finding]:
    """Judge a Redis that could not be surveyed at all."""
    words = f"{reason}; start Redis, or correct the address in RAG_BROKER_URL"
    return [Finding("fault", "Redis", words)]


def is_well(findings: Sequence[Finding]) -> bool:
    """Say whether nothing is a fault."""
    return all(finding.state != "fault" for finding in findings)


def _memory(memory: Mapping[str, Any]) -> Iterator[Finding]:
    if not memory:
        yield Finding("warning", "Redis", "reachable; its user may not ask how full it is (the command INFO)")
        return
    used, limit = int(memory["used_memory"]), int(memory["maxmemory"] or memory.get("total_system_memory", 0))
    share = used / limit if limit else 0.0
    words = f"reachable; {used / 1e6:.0f} MB of {limit / 1e6:.0f} MB are used"
    if share < _NEARLY_FULL:
        yield Finding("ok", "Redis", words)
    else:
        state: Literal["warning", "fault"] = "fault" if share >= _FULL else "warning"
        yield Finding(state, "Redis", f"{words}: raise maxmemory, or drop a collection, before it takes nothing more")
    policy = memory.get("maxmemory_policy", "noeviction")
    if policy != "noeviction":
        words = f"throws data away when it is full ({policy}): run `CONFIG SET maxmemory-policy noeviction` on it"
        yield Finding("fault", "Redis", words)


def _disk(persistence: Mapping[str, Any]) -> Iterator[Finding]:
    failed = [name for name in ("aof_last_write_status", "rdb_last_bgsave_status") if persistence.get(name) == "err"]
    if failed:
        yield Finding("fault", "Redis", f"cannot write to its disk ({', '.join(failed)}): is the disk full?")
    if persistence and not persistence.get("aof_enabled"):
        words = "keeps no append-only file: what waits or was ingested is lost when it restarts; set appendonly yes"
        yield Finding("warning", "Redis", words)


def _queues(survey: Mapping[str, Any]) -> Iterator[Finding]:
    for queue, kind in _QUEUES.items():
        waiting, workers = survey["waiting"][queue], survey["workers"][queue]
        yield _queue(queue, kind, waiting, workers)
        for worker in workers:
            yield from (Finding("fault", worker["node"], fault) for fault in worker["faults"])


def _queue(queue: str, kind: str, waiting: int, workers: Sequence[Mapping[str, Any]]) -> Finding:
    subject, wait = f"{kind} worker", f"{waiting} waiting" if waiting else "nothing waits"
    if not workers:
        words = f"nobody listens on {queue} ({wait}): start the {kind} worker, or look into its log why it ended"
        return Finding("fault", subject, words)
    capacity = sum(worker["concurrency"] for worker in workers)
    words = f"{len(workers)} listening on {queue}, {capacity} at once, {wait}"
    if waiting > capacity * _LONG_QUEUE:
        return Finding("warning", subject, f"{words}: more comes in than is answered; start another worker")
    return Finding("ok", subject, words)
