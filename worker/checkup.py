"""Facts about a running system in, findings in plain words out: what an operator asks at three in the morning."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from producer.names import ANSWER_QUEUE, INGEST_QUEUE
from worker.vitals import CollectionState, Vitals

Level = Literal["ok", "warning", "broken"]

_GIGABYTE: Final = 1 << 30
_NEARLY_FULL: Final = 0.8
_LEAST_FREE_BYTES: Final = 2 * _GIGABYTE
# A night and some hours: later, one night brought nothing.
_STALE_SECONDS: Final = 26 * 3600.0
_WORKERS: Final = {ANSWER_QUEUE: "answer", INGEST_QUEUE: "ingest"}


@dataclass(frozen=True, slots=True)
class Node:
    """One worker that answered."""

    queues: frozenset[str]
    active: int
    """Tasks that it works on."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What could be found out; `vitals` is None where Redis is away, and nothing behind it is known then."""

    redis: str
    """Why Redis cannot be asked; "" where it can."""
    vitals: Vitals | None
    nodes: Mapping[str, Node] = field(default_factory=dict)
    """Workers by name: `answer@spark`."""
    beat: bool = False
    models: Mapping[str, str] = field(default_factory=dict)
    """Why each connector's model cannot be asked; "" where it can."""
    embedder: str = ""
    """The fingerprint of the embedder that the settings name."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Documents without a chunk, a collection."""
    folders: Mapping[str, Path] = field(default_factory=dict)
    """What the nightly job ingests."""
    data_dir: Path = Path()
    free_bytes: int = 0
    """On the disk of `data_dir`."""
    now: float = field(default_factory=time.time)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    level: Level
    found: str
    remedy: str = ""
    """What to do; "" where nothing is to be done."""


def examine(facts: Facts) -> list[Finding]:
    """Return one finding a thing looked at, those that hold up everything else first."""
    if facts.vitals is None:
        return [
            Finding("Redis", "broken", facts.redis, "start Redis, and look at RAG_BROKER_URL; all else needs it"),
            _disk(facts),
        ]
    return [
        *_redis(facts.vitals),
        *(_queue(queue, facts.vitals, facts.nodes) for queue in _WORKERS),
        _beat(facts),
        *(_model(name, problem) for name, problem in facts.models.items()),
        *(finding for name, state in facts.vitals.collections.items() for finding in _collection(name, state, facts)),
        *_folders(facts),
        _disk(facts),
    ]


def _redis(vitals: Vitals) -> Iterator[Finding]:
    yield Finding("Redis", "ok", f"answers, version {vitals.version}, {vitals.in_flight} tasks in work")
    if not vitals.append_only:
        yield Finding(
            "Redis on disk",
            "broken",
            "the append-only file is off: a restart loses questions and documents",
            "run CONFIG SET appendonly yes, and write it into Redis' configuration",
        )
    elif not vitals.persistent:
        yield Finding(
            "Redis on disk", "broken", "its last write to disk failed", "make room on Redis' disk; see its log"
        )
    else:
        yield Finding("Redis on disk", "ok", "the append-only file is on and written")
    if vitals.eviction != "noeviction":
        yield Finding(
            "Redis' eviction",
            "broken",
            f"the policy {vitals.eviction} throws away questions and documents when memory is short",
            "run CONFIG SET maxmemory-policy noeviction, and write it into Redis' configuration",
        )
    yield _memory(vitals)


def _memory(vitals: Vitals) -> Finding:
    used = f"{vitals.used_bytes / _GIGABYTE:.2f} GB used"
    if not vitals.limit_bytes:
        return Finding("Redis' memory", "ok", f"{used}, no limit set")
    share = vitals.used_bytes / vitals.limit_bytes
    found = f"{used} of {vitals.limit_bytes / _GIGABYTE:.2f} GB ({share:.0%})"
    if share < _NEARLY_FULL:
        return Finding("Redis' memory", "ok", found)
    return Finding("Redis' memory", "warning", found, "raise maxmemory, or drop a collection that nobody asks")


def _queue(queue: str, vitals: Vitals, nodes: Mapping[str, Node]) -> Finding:
    """A queue without a worker waits for ever; one that waits beside an idle worker is wedged."""
    worker, waiting = _WORKERS[queue], vitals.waiting[queue]
    here = {name: node for name, node in nodes.items() if queue in node.queues}
    active = sum(node.active for node in here.values())
    subject = f"{worker.capitalize()} worker"
    if not here:
        return Finding(
            subject,
            "broken",
            f"none answers; {waiting} tasks wait in {queue}",
            f"start it (docker compose up -d {worker}); if it runs, look into its log",
        )
    found = f"{', '.join(sorted(here))}; {active} in work, {waiting} waiting in {queue}"
    if waiting and not active:
        return Finding(subject, "warning", found, f"look again in a minute; if they still wait, restart {worker}")
    return Finding(subject, "ok", found)


def _beat(facts: Facts) -> Finding:
    if facts.beat or not facts.folders:
        return Finding("Nightly job", "ok", "beat answers" if facts.beat else "RAG_FOLDERS is empty: none is wanted")
    return Finding(
        "Nightly job", "broken", "beat does not answer", "start it (docker compose up -d beat), or look into its log"
    )


def _model(name: str, problem: str) -> Finding:
    if problem:
        return Finding(f"Model {name}", "broken", problem, "start the model server; see RAG_LOCAL_URL and its log")
    return Finding(f"Model {name}", "ok", "can be asked")


def _collection(name: str, state: CollectionState, facts: Facts) -> Iterator[Finding]:
    subject, refused = f"Collection {name}", facts.refused.get(name, 0)
    if facts.embedder and state.fingerprint != facts.embedder:
        yield Finding(
            subject,
            "broken",
            "another embedder wrote it: no question about it is answered",
            f"set RAG_EMBED_MODEL back, or run python -m worker rebuild {name}",
        )
    if state.warning:
        yield Finding(subject, "warning", state.warning, "do what it says, and ingest again")
    age = None if state.last_ingest is None else facts.now - state.last_ingest
    found = f"{state.rows} chunks, {refused} documents not indexed, last ingest {_ago(age)}"
    if name in facts.folders and (age is None or age > _STALE_SECONDS):
        yield Finding(subject, "broken", found, "look for the nightly job's error in the ingest worker's log")
    elif refused:
        yield Finding(subject, "warning", found, "ingest it again to read the reason of each")
    else:
        yield Finding(subject, "ok", found)


def _ago(seconds: float | None) -> str:
    if seconds is None:
        return "never"
    return f"{seconds / 60:.0f} minutes ago" if seconds < 2 * 3600 else f"{seconds / 3600:.0f} hours ago"


def _folders(facts: Facts) -> Iterator[Finding]:
    """The ingest worker may see other folders than this machine does; then nothing is said."""
    for name, folder in facts.folders.items():
        if folder.is_dir() and not any(folder.iterdir()):
            yield Finding(f"Folder {folder}", "warning", f"is empty; {name} keeps what it has", "check its mount")


def _disk(facts: Facts) -> Finding:
    found = f"{facts.free_bytes / _GIGABYTE:.1f} GB free at {facts.data_dir}"
    if facts.free_bytes < _LEAST_FREE_BYTES:
        return Finding("Disk", "warning", found, "make room: Redis' file and the logs grow")
    return Finding("Disk", "ok", found)
